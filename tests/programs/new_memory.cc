// SPDX-License-Identifier: MIT
/*
 * Memory that is handed out again, and not written.
 *
 * `PROGRAM WAY`: 64 blocks of a pointer each to a block of 1,234 bytes are freed; as much is allocated
 * in the way named, and kept. The 64 are lost, and "stale N" says that N of the words are still there.
 * `PROGRAM --inside WAY`: the same, but the words lead into the middle of the blocks.
 * `PROGRAM --bytes WAY`: the first and the last byte that such memory has.
 * `PROGRAM --dangling malloc`: the program keeps pointers to what it has freed, and loses 64 such blocks.
 * `PROGRAM --twice malloc`: frees a block twice; `--freed WAY` in other ways:
 *   resized  realloc of what was freed; emptied  free after a realloc to 0 bytes; moved  after one that moved it
 * `PROGRAM --threads malloc`: how many threads free one block each before its address is given out again.
 * `PROGRAM --refused WAY`: a block that is to become larger than memory is as it was.
 * `PROGRAM --wrong malloc`: frees what is no block: it is not aligned.
 * `PROGRAM --tight WAY`: how many of 5,000 blocks it gets that it has freed, without a byte more for the process.
 * `PROGRAM --untouched WAY`: by how many KB a block of 1 GB makes the process larger.
 */
#include "leak.h"

#include <malloc.h>
#include <new>
#include <pthread.h>
#include <sys/resource.h>

namespace
{

enum { COUNT = 64, LOST_BYTES = 1234, SHORT_BYTES = 100 };

size_t size = 400;
size_t inside; /* where in the block that it leads to a word does */
void *volatile keep[COUNT];
void *volatile between[2 * COUNT]; /* so that nothing that is freed grows together */
unsigned char *holders[COUNT];

/* The pointer's place: the allocator has words of its own at the ends of what is free. */
size_t place()
{
	return size / 2 & ~size_t(7);
}

void *posix(int)
{
	void *made = nullptr;

	EXPECT(posix_memalign(&made, 64, size) == 0);
	return made;
}

/* All that is usable may be used, and is kept. */
void *grow_by(void *(*function)(void *), int i)
{
	size_t usable = malloc_usable_size(keep[i]);
	memset(keep[i], 0x11, usable);
	unsigned char *made = static_cast<unsigned char *>(function(keep[i]));

	for (size_t at = 0; at < usable && at < size; at++)
		EXPECT(made[at] == 0x11);
	return made;
}

void *grow(int i)
{
	return grow_by([](void *old) { return realloc(old, size); }, i);
}

void *grow_array(int i)
{
	return grow_by([](void *old) { return reallocarray(old, size / 8, 8); }, i);
}

const struct way {
	const char *name;
	void *(*take)(int);
	size_t size;
} ways[] = {
	{ "malloc", [](int) { return malloc(size); }, 400 },
	{ "large", [](int) { return malloc(size); }, 100000 },
	{ "calloc", [](int) { return calloc(1, size); }, 400 },
	{ "realloc", [](int) { return realloc(nullptr, size); }, 400 },
	{ "reallocarray", [](int) { return reallocarray(nullptr, size / 8, 8); }, 400 },
	{ "grow", grow, 400 },
	{ "grow_array", grow_array, 400 },
	{ "grow_in_place", grow, 3000 },
	{ "memalign", [](int) { return memalign(64, size); }, 400 },
	{ "posix_memalign", posix, 400 },
	{ "aligned_alloc", [](int) { return aligned_alloc(64, size); }, 448 },
	{ "valloc", [](int) { return valloc(size); }, 8000 },
	{ "pvalloc", [](int) { return pvalloc(size); }, 8000 },
	{ "new", [](int) { return ::operator new(size); }, 400 },
	{ "new_array", [](int) { return ::operator new[](size); }, 400 },
	{ "new_nothrow", [](int) { return ::operator new(size, std::nothrow); }, 400 },
	{ "new_aligned", [](int) { return ::operator new(size, std::align_val_t(64)); }, 400 },
};

const way &way_of(const char *name)
{
	for (const way &one : ways)
		if (strcmp(one.name, name) == 0)
			return one;
	_exit(99);
}

APART void lose_block(unsigned char *holder)
{
	set_word(holder + place(), 0, static_cast<char *>(block(LOST_BYTES)) + inside);
}

/* Each beside a block that grows, if they do; where another is to take the place, not beside it. */
APART void fill_and_free(const way &way)
{
	bool in_place = strcmp(way.name, "grow_in_place") == 0;

	for (int i = 0; i < COUNT; i++) {
		if (strncmp(way.name, "grow", 4) == 0)
			keep[i] = block(SHORT_BYTES);
		if (!in_place)
			between[COUNT + i] = block(SHORT_BYTES);
		holders[i] = static_cast<unsigned char *>(keep[i] ? malloc(size) : way.take(i));
		between[i] = block(SHORT_BYTES);
		memset(holders[i], 0, size);
	}
	for (unsigned char *holder : holders)
		lose_block(holder);
	for (unsigned char *&holder : holders) {
		free(holder);
		holder = nullptr;
	}
}

/* As many of these words are pointers to blocks, or of what was in a block before. */
APART int take_again(const way &way)
{
	int stale = 0;

	for (int i = 0; i < COUNT; i++)
		keep[i] = way.take(i);
	for (void *volatile &one : keep) {
		const uintptr_t *words = static_cast<const uintptr_t *>(one);

		for (size_t at = SHORT_BYTES / 8 + 1; at < size / 8; at++)
			stale += words[at] > 4096 && words[at] >> 47 == 0;
	}
	return stale;
}

APART void lose_behind_freed()
{
	for (unsigned char *&holder : holders)
		holder = static_cast<unsigned char *>(malloc(size));
	for (unsigned char *holder : holders)
		free(holder);
	for (int i = 0; i < COUNT; i++)
		keep[0] = malloc(size);
	keep[0] = nullptr;
}

void free_twice()
{
	keep[0] = malloc(size);
	free(keep[0]);
	free(malloc(LOST_BYTES));
	free(keep[0]);
}

void free_otherwise(const char *how)
{
	void *held = malloc(size);

	keep[0] = malloc(size);
	keep[1] = malloc(size);
	if (*how == 'r')
		free(keep[0]);
	keep[2] = realloc(keep[0], *how == 'e' ? 0 : 16 * size);
	free(keep[0]);
	free(held);
}

void *free_one(void *block)
{
	free(block);
	return nullptr;
}

/* Sizes that no thread of ours or of the C library's allocates otherwise. */
int threads_until_reuse()
{
	enum { MOST = 3000 };
	void *first = malloc(size), *block = first;

	for (int i = 0; i < MOST; i++) {
		pthread_t thread;

		EXPECT(pthread_create(&thread, nullptr, free_one, block) == 0);
		EXPECT(pthread_join(thread, nullptr) == 0);
		block = malloc(size);
		if (block == first)
			return i;
	}
	return MOST;
}

void take_back(const way &way)
{
	enum { TIMES = 5000 };
	static void *blocks[TIMES];
	const struct rlimit none = { 0, 0 };
	int made = 0;

	size = SHORT_BYTES;
	for (void *&one : blocks)
		one = way.take(0);
	EXPECT(setrlimit(RLIMIT_AS, &none) == 0);
	for (void *one : blocks)
		free(one);
	for (int i = 0; i < TIMES; i++)
		made += way.take(0) != nullptr;
	printf("tight %d\n", made);
}

long resident_kb()
{
	long pages = 0, all = 0;
	FILE *file = fopen("/proc/self/statm", "r");

	EXPECT(file && fscanf(file, "%ld %ld", &all, &pages) == 2 && fclose(file) == 0);
	return pages * 4;
}

void say_untouched(const way &way)
{
	long before = resident_kb();

	size = size_t(1) << 30;
	keep[0] = way.take(0);
	EXPECT(keep[0] != nullptr);
	printf("grew_kb %ld\n", resident_kb() - before);
}

} // namespace

int main(int argc, char **argv)
{
	EXPECT(argc > 1);
	const way &way = way_of(argv[argc - 1]);
	size = way.size;
	if (argc > 2 && strcmp(argv[1], "--untouched") == 0) {
		say_untouched(way);
		return 0;
	}
	if (strcmp(argv[1], "--dangling") == 0) {
		size = LOST_BYTES / 3;
		lose_behind_freed();
		clobber_stack();
		return 0;
	}
	if (strcmp(argv[1], "--refused") == 0) {
		char *text = strdup("kept");

		EXPECT(realloc(text, size_t(1) << 62) == nullptr && strcmp(text, "kept") == 0);
		return 0;
	}
	if (strcmp(argv[1], "--tight") == 0) {
		take_back(way);
		return 0;
	}
	if (strcmp(argv[1], "--wrong") == 0) {
		keep[0] = calloc(1, size);
		set_word(keep[0], 0, reinterpret_cast<void *>(uintptr_t(0x40)));
		free(static_cast<char *>(keep[0]) + 8);
	}
	if (strcmp(argv[1], "--twice") == 0)
		free_twice();
	if (strcmp(argv[1], "--freed") == 0)
		free_otherwise(argv[2]);
	if (strcmp(argv[1], "--threads") == 0) {
		printf("threads %d\n", threads_until_reuse());
		return 0;
	}
	if (strcmp(argv[1], "--inside") == 0)
		inside = 160;
	fill_and_free(way);
	clobber_stack();
	int stale = take_again(way);
	clobber_stack();
	if (strcmp(argv[1], "--bytes") == 0) {
		const unsigned char *bytes = static_cast<unsigned char *>(keep[COUNT / 2]);

		printf("bytes %d %d\n", bytes[0], bytes[size - 1]);
	} else {
		printf("stale %d\n", stale);
	}
	return 0;
}
