/* SPDX-License-Identifier: MIT */
/*
 * What programs ask Android's C library for, in its words: get_malloc_leak_info(), and its "Native Heap
 * Dump" (bionic, libc/malloc_debug: README_api.md, README.md, PointerData.cpp). One entry for each call
 * stack and size.
 */
#include "seep/seep.h"

#include "runtime/hook/exported.h"
#include "runtime/life/start.h"
#include "runtime/sys/sys.h"
#include "runtime/track/live_contexts.h"
#include "runtime/unwind/stack.h"

#include <errno.h>
#include <fcntl.h>

#define ZYGOTE_CHILD (UINT64_C(1) << 31) /* of a size */

/* Allocated by a forked process, and not by its ancestors. */
static bool is_childs(const struct rt_live *live)
{
	return rt_header.origin == LEDGER_ORIGIN_FORK && live->context != RT_LIVE_INHERITED;
}

static bool comes_first(const struct rt_live *a, const struct rt_live *b)
{
	if (is_childs(a) != is_childs(b))
		return is_childs(b);
	if (a->size != b->size)
		return a->size > b->size;
	return a->depth != b->depth ? a->depth > b->depth : a->context < b->context;
}

static void take(struct rt_lives *ret_lives)
{
	*ret_lives = (struct rt_lives){ 0 };
	if (rt_control())
		rt_lives_take(ret_lives, true, comes_first);
}

/* What is given to the program, mapped apart: it is to be known again, whatever else comes to be freed. */
struct info {
	_Atomic uint64_t tag;
	uint64_t bytes; /* with this */
	uint64_t entries[];
};

static uint64_t tag_of(const struct info *info, uint64_t bytes)
{
	return core_hash_step(core_hash_step(rt_global.seed, (uintptr_t)info), bytes) | 1;
}

RT_EXPORT void get_malloc_leak_info(uint8_t **info, size_t *overall_size, size_t *info_size,
				    size_t *total_memory, size_t *backtrace_size)
{
	struct rt_lives lives;
	struct info *made = NULL;
	uint64_t words, bytes;

	if (!info || !overall_size || !info_size || !total_memory || !backtrace_size)
		return;
	*info = NULL;
	*overall_size = *info_size = *total_memory = *backtrace_size = 0;
	take(&lives);
	words = 2 + lives.depth;
	bytes = sizeof(*made) + lives.count * words * sizeof(uint64_t);
	if (lives.items && lives.count)
		made = rt_map_alone(bytes);
	for (uint64_t i = 0; made && i < lives.count; i++) {
		uint64_t *entry = made->entries + i * words;

		entry[0] = lives.items[i].size | (is_childs(&lives.items[i]) ? ZYGOTE_CHILD : 0);
		entry[1] = lives.items[i].blocks;
		(void)rt_live_frames(&lives.items[i], entry + 2, lives.depth);
	}
	if (made) {
		made->bytes = bytes;
		rt_store(&made->tag, tag_of(made, bytes));
		*info = (uint8_t *)made->entries;
		*overall_size = bytes - sizeof(*made);
		*info_size = words * sizeof(uint64_t);
		*total_memory = lives.bytes;
		*backtrace_size = lives.depth;
	}
	rt_lives_give(&lives);
}

RT_EXPORT void free_malloc_leak_info(uint8_t *info)
{
	struct info *made = (struct info *)((uintptr_t)info - sizeof(*made));
	uint64_t said[2];

	/* Read by the kernel's word: it may be anything that is given to us. */
	if ((uintptr_t)made % LEDGER_PAGE_BYTES ||
	    !rt_read_memory((uintptr_t)made, said, sizeof(said)) ||
	    said[0] != tag_of(made, said[1]))
		return;
	/* One of several that free it at once. */
	if (atomic_compare_exchange_strong_explicit(&made->tag, &said[0], 0, memory_order_relaxed,
						    memory_order_relaxed))
		rt_unmap_alone(made, said[1]);
}

/* A text on its way to a descriptor. */
struct text {
	int fd;
	bool failed;
	size_t used;
	uintptr_t frames[RT_LIVE_FRAMES_MAX];
	char buffer[8192];
};

static void flush(struct text *text)
{
	for (size_t done = 0; !text->failed && done < text->used;) {
		const long wrote = rt_syscall3(SYS_write, text->fd, (long)(text->buffer + done),
					       (long)(text->used - done));

		text->failed = wrote <= 0 && wrote != -EINTR;
		done += wrote > 0 ? (size_t)wrote : 0;
	}
	text->used = 0;
}

static void put(struct text *text, const char *what)
{
	for (; *what; what++) {
		if (text->used == sizeof(text->buffer))
			flush(text);
		text->buffer[text->used++] = *what;
	}
}

/* In @width places at least. */
static void put_number(struct text *text, uint64_t number, unsigned base, unsigned width)
{
	char buffer[RT_DIGITS_BYTES];
	const char *digits = rt_digits(number, base, buffer);

	for (size_t i = (size_t)(buffer + sizeof(buffer) - 1 - digits); i < width; i++)
		put(text, " ");
	put(text, digits);
}

static void put_live(struct text *text, const struct rt_live *live)
{
	const uint32_t depth = rt_live_frames(live, text->frames, RT_LIVE_FRAMES_MAX);

	put(text, is_childs(live) ? "z 1  sz " : "z 0  sz ");
	put_number(text, live->size, 10, 8);
	put(text, "  num    ");
	put_number(text, live->blocks, 10, 0);
	put(text, "  bt");
	for (uint32_t i = 0; i < depth; i++) {
		put(text, " ");
		put_number(text, text->frames[i], 16, 0);
	}
	put(text, "\n");
}

static void put_maps(struct text *text)
{
	const long fd = rt_syscall6(SYS_openat, AT_FDCWD, (long)"/proc/self/maps",
				    O_RDONLY | O_CLOEXEC, 0, 0, 0);
	long got = 1;

	put(text, "MAPS\n");
	if (fd < 0)
		put(text, "Could not open /proc/self/maps\n");
	for (flush(text); fd >= 0 && got > 0; flush(text)) {
		got = rt_syscall3(SYS_read, fd, (long)text->buffer, sizeof(text->buffer));
		text->used = got > 0 ? (size_t)got : 0;
	}
	if (fd >= 0)
		(void)rt_syscall3(SYS_close, fd, 0, 0);
	put(text, "END\n");
	flush(text);
}

RT_EXPORT int seep_rt_dump_text(int fd)
{
	struct text *text = rt_scratch_take(sizeof(*text));
	struct rt_lives lives;
	bool done = false;

	take(&lives);
	if (text && lives.items) {
		text->fd = fd;
		text->failed = false;
		text->used = 0;
		put(text, "Android Native Heap Dump v1.2\n\nBuild fingerprint: 'unknown'\n\n"
			  "Total memory: ");
		put_number(text, lives.bytes, 10, 0);
		put(text, "\nAllocation records: ");
		put_number(text, lives.count, 10, 0);
		put(text, "\nBacktrace size: ");
		put_number(text, lives.depth, 10, 0);
		put(text, "\n\n");
		for (uint64_t i = 0; i < lives.count && !text->failed; i++)
			put_live(text, &lives.items[i]);
		put_maps(text);
		done = !text->failed;
	}
	rt_lives_give(&lives);
	rt_scratch_give(text);
	return done ? 0 : -1;
}
