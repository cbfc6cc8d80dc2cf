/* SPDX-License-Identifier: MIT */
#include "runtime/sys/sys.h"

#include "runtime/sys/rt_facts.h"
#include "runtime/sys/tables.h"

#include <errno.h>
#include <signal.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

/*
 * What is mapped is put side by side in regions, far enough below the library that what the program
 * maps does not come between. The kernel copies less at a fork where it is one mapping, and few
 * tables of pages. A region is reserved without access: what is not in use of it keeps what the
 * program writes beyond its own blocks out of our memory, at both ends.
 */
#define REGION_BELOW (UINT64_C(64) << 30)
enum {
	GUARD_BYTES = RT_GUARD_BYTES,
	REGION_BYTES = 64 << 20, /* begins at a multiple of that */
	REGION_PART_MAX = REGION_BYTES / 2,
	/*
	 * Of the page map's upper level, which is the first part of all, the last 128 KB are used
	 * most. So they lie in the same 2 MB, a table of pages, as what comes behind it.
	 */
	REGION_FRONT_BYTES = 256 << 10,
};
_Static_assert((int)REGION_FRONT_BYTES >= (int)GUARD_BYTES, "a guard before each region");

/* Where the next part of a region begins; at the end of one there is no room left. */
struct regions {
	_Atomic uintptr_t next;
	unsigned below; /* the library, in REGION_BELOW */
};

/* Leaves of the page map have no huge pages, so they are mappings apart. */
static struct regions tables = { .below = 1 }, leaves = { .below = 2 };

struct place {
	uintptr_t begin; /* 0: none */
	uintptr_t end;
};

static uintptr_t align_up(uintptr_t address, size_t align)
{
	return (address + align - 1) & ~(uintptr_t)(align - 1);
}

/* @flags: MAP_FIXED, where all of it is ours. 0: failed. */
static uintptr_t map(uintptr_t at, size_t bytes, int protection, int flags)
{
	long ret = rt_syscall6(SYS_mmap, (long)at, (long)bytes, protection,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);

	/* A sandbox's handler may have let the call's number stand for the answer. */
	return (ret < 0 && ret > -4096) || ret & 4095 ? 0 : (uintptr_t)ret;
}

static void unmap(uintptr_t at, size_t bytes)
{
	if (bytes)
		(void)rt_syscall3(SYS_munmap, (long)at, (long)bytes, 0);
}

uint64_t rt_limit_of(int resource)
{
	struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };

	(void)rt_syscall6(SYS_prlimit64, 0, resource, 0, (long)&limit, 0, 0);
	return limit.rlim_cur;
}

/* Then nothing is reserved that may not be needed. Asked once: a filter may kill for it later. */
static bool is_room_scarce(void)
{
	enum { UNKNOWN, SCARCE, AMPLE };
	static _Atomic uint32_t known;
	uint32_t answer = rt_load(&known);

	if (answer == UNKNOWN) {
		answer = rt_limit_of(RLIMIT_AS) == RLIM_INFINITY ? AMPLE : SCARCE;
		rt_store(&known, answer);
	}
	return answer == SCARCE;
}

static uintptr_t first_region(unsigned below)
{
	uintptr_t library = align_up((uintptr_t)&rt_global, REGION_BYTES);

	/* Else it lies elsewhere than usual. */
	return library > 2 * below * REGION_BELOW ? library - below * REGION_BELOW : 0;
}

/* Another, behind the one before if that is free. 0: none. */
static uintptr_t region_new(uintptr_t wanted)
{
	uintptr_t begin, at;

	if (is_room_scarce())
		return 0;
	begin = map(wanted, REGION_BYTES, PROT_NONE, 0);
	if (begin % REGION_BYTES) {
		unmap(begin, REGION_BYTES);
		at = map(0, (size_t)2 * REGION_BYTES, PROT_NONE, 0);
		begin = align_up(at, REGION_BYTES);
		if (at)
			unmap(at, begin - at);
		if (at)
			unmap(begin + REGION_BYTES, at + REGION_BYTES - begin);
	}
	if (begin)
		rt_facts_own((void *)begin, REGION_BYTES);
	return begin;
}

/* @bytes of a region, without access yet. */
static struct place region_part(struct regions *regions, size_t bytes)
{
	const struct place none = { 0, 0 };
	uintptr_t before = rt_load(&regions->next);
	struct place place;

	if (bytes > REGION_PART_MAX)
		return none;
	for (;;) {
		uintptr_t region = 0;

		place.begin = before;
		place.end = before + rt_page_up(bytes);
		if (place.end + GUARD_BYTES > align_up(before, REGION_BYTES)) {
			region = region_new(before ? align_up(before, REGION_BYTES)
						   : first_region(regions->below));
			if (!region)
				return none;
			place.begin = region + REGION_FRONT_BYTES;
			place.end = place.begin + rt_page_up(bytes);
		}
		if (atomic_compare_exchange_strong_explicit(&regions->next, &before, place.end,
							    memory_order_relaxed,
							    memory_order_relaxed))
			return place;
		if (region) {
			rt_facts_disown((void *)region, REGION_BYTES);
			unmap(region, REGION_BYTES);
		}
	}
}

static bool open_place(struct place where)
{
	const size_t bytes = where.end - where.begin;

	if (!map(where.begin, bytes, PROT_READ | PROT_WRITE, MAP_FIXED))
		return false;
	(void)rt_syscall3(SYS_madvise, (long)where.begin, (long)bytes, MADV_DONTDUMP);
	return true;
}

static bool open_part(struct regions *regions, struct place part)
{
	if (open_place(part))
		return true;
	/* Or who has no memory and asks for some all the time uses up addresses. */
	(void)atomic_compare_exchange_strong_explicit(&regions->next, &part.end, part.begin,
						      memory_order_relaxed, memory_order_relaxed);
	return false;
}

/* Anywhere, between guards of its own, without access yet. 0: failed. */
static uintptr_t alone(size_t bytes)
{
	const size_t whole = rt_page_up(bytes) + (size_t)2 * GUARD_BYTES;
	uintptr_t begin = map(0, whole, PROT_NONE, 0);

	if (!begin)
		return 0;
	rt_facts_own((void *)begin, whole);
	return begin + GUARD_BYTES;
}

void rt_unmap_alone(void *start, size_t bytes)
{
	const uintptr_t begin = (uintptr_t)start - GUARD_BYTES;
	const size_t whole = rt_page_up(bytes) + (size_t)2 * GUARD_BYTES;

	/* First: another thread may get the addresses at once. */
	rt_facts_disown((void *)begin, whole);
	unmap(begin, whole);
}

void *rt_map_alone(size_t bytes)
{
	uintptr_t begin = alone(bytes);

	if (!begin || open_place((struct place){ begin, begin + rt_page_up(bytes) }))
		return (void *)begin;
	rt_unmap_alone((void *)begin, bytes);
	return NULL;
}

static void *map_part(struct regions *regions, size_t bytes)
{
	struct place part = region_part(regions, bytes);

	if (!part.begin)
		return rt_map_alone(bytes);
	return open_part(regions, part) ? (void *)part.begin : NULL;
}

void *rt_map_file(int fd, size_t bytes)
{
	uintptr_t begin = alone(bytes);
	long ret;

	if (!begin)
		return NULL;
	ret = rt_syscall6(SYS_mmap, (long)begin, (long)bytes, PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_FIXED, fd, 0);
	if (ret == (long)begin)
		return (void *)begin;
	rt_unmap_alone((void *)begin, bytes);
	return NULL;
}

void *rt_mmap_leaf(size_t bytes)
{
	void *leaf = map_part(&leaves, bytes);

	/* A huge page would cost 2 MB for the cell of a single block in a sparse area. */
	if (leaf)
		(void)rt_syscall3(SYS_madvise, (long)leaf, (long)bytes, MADV_NOHUGEPAGE);
	return leaf;
}

void *rt_mmap_sparse(size_t bytes)
{
	return map_part(&tables, bytes);
}

/*
 * The pool: what is small is taken from chunks, so that a thread that starts makes no system call
 * for its memory and a forked child maps none. Nothing that was given back is used again.
 */
enum { CHUNK_BYTES = 256 << 10, PIECE_BYTES_MAX = 32 << 10, PIECE_ALIGN = 64 };
_Static_assert(CHUNK_BYTES / PIECE_ALIGN <= LEDGER_PAGE_BYTES, "what is taken fits below a page");

/*
 * The present chunk, and in the bits that the address of a page leaves free how much of it is taken,
 * in PIECE_ALIGN. A word in the chunk would be one more page that a forked child writes to.
 */
static _Atomic uintptr_t pool;

static void *piece_new(size_t bytes)
{
	/* Whole pages are not shared with others. */
	const size_t align = bytes < LEDGER_PAGE_BYTES ? PIECE_ALIGN : LEDGER_PAGE_BYTES;
	uintptr_t before = rt_load(&pool);

	bytes = align_up(bytes, align);
	for (;;) {
		uintptr_t chunk = before & ~(uintptr_t)(LEDGER_PAGE_BYTES - 1);
		uintptr_t at = align_up((before - chunk) * PIECE_ALIGN, align);
		void *added = NULL;

		/* One that is taken to its end would be the next page's address. */
		if (!chunk || at + bytes >= CHUNK_BYTES) {
			added = map_part(&tables, CHUNK_BYTES);
			if (!added)
				return NULL;
			chunk = (uintptr_t)added;
			at = 0;
		}
		if (atomic_compare_exchange_strong_explicit(
			    &pool, &before, chunk + (at + bytes) / PIECE_ALIGN,
			    memory_order_relaxed, memory_order_relaxed))
			return (void *)(chunk + at);
		if (added)
			rt_munmap_sparse(added, CHUNK_BYTES);
	}
}

void rt_count_private(int64_t bytes)
{
	static _Atomic uint64_t private_bytes; /* the ledger's may be anything */

	rt_add(&private_bytes, (uint64_t)bytes);
	if (rt_global.state)
		rt_store(&rt_global.state->private_bytes, rt_load(&private_bytes));
}

void *rt_mmap(size_t bytes)
{
	void *start = bytes <= PIECE_BYTES_MAX ? piece_new(bytes) : NULL;

	if (start && bytes <= LEDGER_PAGE_BYTES)
		/* A table is read first, which would cost another page fault. */
		*(volatile char *)start = 0;
	if (!start) {
		start = map_part(&tables, bytes);
		if (!start)
			return NULL;
	}
	rt_count_private((int64_t)bytes);
	return start;
}

void rt_munmap_sparse(void *start, size_t bytes)
{
	/* The place stays ours, as a guard of what lies beside it. */
	(void)map((uintptr_t)start, rt_page_up(bytes), PROT_NONE, MAP_FIXED);
}

void rt_munmap(void *start, size_t bytes)
{
	if (!start)
		return;
	/* The place of a piece in its chunk is lost: few are given back. */
	if (bytes > PIECE_BYTES_MAX)
		rt_munmap_sparse(start, bytes);
	else if (bytes >= LEDGER_PAGE_BYTES)
		(void)rt_syscall3(SYS_madvise, (long)start, (long)rt_page_up(bytes), MADV_DONTNEED);
	rt_count_private(-(int64_t)bytes);
}

enum { SCRATCH_PLACES = 8, SCRATCH_LEAST_BYTES = 16 << 10 };

struct scratch {
	_Alignas(16) size_t bytes; /* with this */
	_Alignas(16) char memory[];
};

static _Atomic(struct scratch *) scratch_places[SCRATCH_PLACES];

void *rt_scratch_take(size_t bytes)
{
	size_t needed = SCRATCH_LEAST_BYTES;
	struct scratch *piece;

	while (needed - sizeof(*piece) < bytes)
		needed *= 2;
	for (unsigned i = 0; i < SCRATCH_PLACES; i++) {
		piece = rt_load(&scratch_places[i])
				? atomic_exchange_explicit(&scratch_places[i], NULL,
							   memory_order_acquire)
				: NULL;
		if (piece && piece->bytes >= needed)
			return piece->memory;
		if (piece)
			rt_munmap(piece, piece->bytes);
	}
	piece = rt_mmap(needed);
	if (!piece)
		return NULL;
	piece->bytes = needed;
	return piece->memory;
}

void rt_scratch_give(void *scratch)
{
	struct scratch *piece = scratch ? (struct scratch *)scratch - 1 : NULL;

	for (unsigned i = 0; piece && i < SCRATCH_PLACES; i++) {
		struct scratch *none = NULL;

		if (atomic_compare_exchange_strong_explicit(&scratch_places[i], &none, piece,
							    memory_order_release,
							    memory_order_relaxed))
			return;
	}
	if (piece)
		rt_munmap(piece, piece->bytes);
}

void rt_empty_table(void *table, size_t keep, size_t bytes)
{
	uintptr_t from = (uintptr_t)table + keep;
	uintptr_t end = (uintptr_t)table + bytes;
	/* What is smaller shares its pages. */
	uintptr_t pages = bytes < LEDGER_PAGE_BYTES ? end : rt_page_up(from);

	for (; from < pages && from < end; from += sizeof(uint64_t))
		rt_store((_Atomic uint64_t *)from, 0);
	if (pages >= end ||
	    rt_syscall3(SYS_madvise, (long)pages, (long)(end - pages), MADV_DONTNEED) == 0)
		return;
	/* Refused, by a filter of the program's: nothing goes back, but nothing stays in it. */
	for (from = pages; from < end; from += sizeof(uint64_t))
		rt_store((_Atomic uint64_t *)from, 0);
}

long rt_read_file(const char *path, char *buffer, size_t max)
{
	long fd = rt_syscall6(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0, 0, 0);
	size_t used = 0;
	long got = 0;

	if (fd < 0)
		return fd;
	while (used < max - 1) {
		got = rt_syscall3(SYS_read, fd, (long)(buffer + used), (long)(max - 1 - used));
		if (got <= 0)
			break;
		used += (size_t)got;
	}
	(void)rt_syscall3(SYS_close, fd, 0, 0);
	buffer[used] = '\0';
	return got < 0 && used == 0 ? got : (long)used;
}

const char *rt_absolute_path(const char *path, char *buffer, size_t max)
{
	size_t before;

	if (*path == '/')
		return path;
	if (rt_syscall3(SYS_getcwd, (long)buffer, (long)max, 0) <= 0 || *buffer != '/')
		return NULL;
	before = strlen(buffer);
	return rt_text(buffer + before, max - before, "/", path) ? buffer : NULL;
}

uint32_t rt_getpid(void)
{
	return (uint32_t)rt_syscall3(SYS_getpid, 0, 0, 0);
}

uint32_t rt_gettid(void)
{
	return (uint32_t)rt_syscall3(SYS_gettid, 0, 0, 0);
}

uint32_t rt_getpid_or_tid(void)
{
	const uint32_t pid = rt_getpid();

	return (int32_t)pid > 0 ? pid : rt_gettid();
}

bool rt_is_gone(uint32_t pid, uint32_t tid)
{
	return rt_syscall3(SYS_tgkill, pid, tid, 0) == -ESRCH;
}

rt_clock *rt_vdso_clock;

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now = { 0, 0 };

	if (RT_LIKELY(rt_vdso_clock != NULL))
		(void)rt_vdso_clock(clock, &now);
	else
		(void)rt_syscall3(SYS_clock_gettime, clock, (long)&now, 0);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

_Atomic bool rt_clock_is_coarse;
_Atomic bool rt_is_strict;
_Atomic bool rt_is_confined;

uint64_t rt_now_ns(void)
{
	return clock_ns(rt_load(&rt_clock_is_coarse) ? CLOCK_MONOTONIC_COARSE : CLOCK_MONOTONIC);
}

uint64_t rt_cpu_ns(void)
{
	/* No vDSO has this clock. */
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t rt_realtime_ns(void)
{
	return clock_ns(rt_load(&rt_clock_is_coarse) ? CLOCK_REALTIME_COARSE : CLOCK_REALTIME);
}

long rt_futex_wait(void *word, uint32_t expected, uint32_t timeout_us)
{
	struct timespec timeout = { .tv_sec = timeout_us / 1000000,
				    .tv_nsec = (long)(timeout_us % 1000000) * 1000 };

	return rt_syscall6(SYS_futex, (long)word, FUTEX_WAIT, expected, (long)&timeout, 0, 0);
}

void rt_futex_wake(void *word)
{
	(void)rt_syscall3(SYS_futex, (long)word, FUTEX_WAKE, INT32_MAX);
}

bool rt_text_parts(char *into, size_t max, const char *const *parts)
{
	size_t used = 0;
	bool fits = true;

	for (; *parts && fits; parts++)
		for (const char *p = *parts; *p && fits; p++) {
			fits = used < max - 1;
			if (fits)
				into[used++] = *p;
		}
	into[used] = '\0';
	return fits;
}

const char *rt_digits(uint64_t value, unsigned base, char buffer[RT_DIGITS_BYTES])
{
	char *digits = buffer + RT_DIGITS_BYTES - 1;

	*digits = '\0';
	do
		*--digits = "0123456789abcdef"[value % base];
	while (value /= base);
	return digits;
}

char *rt_make_printable(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			*text = '?';
	return text;
}

/* To standard error. It may be a pipe that nobody reads any more: no SIGPIPE shall come of it. */
static void write_line(const char *line, size_t bytes)
{
	const uint64_t pipe_signal = UINT64_C(1) << (SIGPIPE - 1);
	const struct timespec at_once = { 0 };
	uint64_t before = 0, pending = 0;

	(void)rt_syscall6(SYS_rt_sigprocmask, SIG_BLOCK, (long)&pipe_signal, (long)&before,
			  sizeof(before), 0, 0);
	/* One that the program has blocked and not heard yet is its own. */
	if (before & pipe_signal)
		(void)rt_syscall3(SYS_rt_sigpending, (long)&pending, sizeof(pending), 0);
	if (rt_syscall3(SYS_write, 2, (long)line, (long)bytes) == -EPIPE &&
	    !(pending & pipe_signal))
		(void)rt_syscall6(SYS_rt_sigtimedwait, (long)&pipe_signal, 0, (long)&at_once,
				  sizeof(pipe_signal), 0, 0);
	(void)rt_syscall6(SYS_rt_sigprocmask, SIG_SETMASK, (long)&before, 0, sizeof(before), 0, 0);
}

void rt_say_parts(const char *const *parts)
{
	char line[1024];
	char *end;

	(void)rt_text_parts(line, sizeof(line), parts);
	end = rt_make_printable(line);
	*end++ = '\n';
	write_line(line, (size_t)(end - line));
}
