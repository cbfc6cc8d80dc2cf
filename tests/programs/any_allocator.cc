/* SPDX-License-Identifier: MIT */
// build: -std=c++17 -pthread -faligned-new -fsized-deallocation -Wno-mismatched-new-delete
/*
 * What every allocator must do the same: each function and operator through its own counted
 * function, small and large sizes, blocks that one thread allocates and another frees, and a
 * forked child. Nothing here depends on glibc's answers, so it runs under any malloc.
 */
#include <new>

#include <malloc.h>
#include <pthread.h>
#include <sys/wait.h>

#include "truth.h"

static const std::align_val_t aligned64{ 64 };

TRUTH_MAKER(any_malloc, malloc(bytes));
TRUTH_MAKER(any_calloc, calloc(1, bytes));
TRUTH_SITE(any_realloc);
TRUTH_MAKER(any_memalign, memalign(256, bytes));
TRUTH_SITE(any_aligned_alloc);
TRUTH_SITE(any_posix_memalign);
TRUTH_MAKER(any_new, ::operator new(bytes));
TRUTH_MAKER(any_new_nothrow, ::operator new(bytes, std::nothrow));
TRUTH_MAKER(any_new_array, ::operator new[](bytes));
TRUTH_MAKER(any_new_array_nothrow, ::operator new[](bytes, std::nothrow));
TRUTH_MAKER(any_new_aligned, ::operator new(bytes, aligned64));
TRUTH_MAKER(any_new_aligned_nothrow, ::operator new(bytes, aligned64, std::nothrow));
TRUTH_MAKER(any_new_array_aligned, ::operator new[](bytes, aligned64));
TRUTH_SITE(any_early);

enum { ROUNDS = 600, THREADS = 3, SLOTS = 4096 };

struct slot {
	void *block;
	size_t bytes;
	struct truth_site *site;
	int form;
};

static struct slot slots[SLOTS];
static unsigned used;

/* From 0 bytes up, often less than the 16 that make a block a granule of its own. */
static size_t size_of(unsigned i)
{
	return i % 3 ? i % 41 : (i * 37u) % 70001u;
}

extern "C" SITE void *any_realloc(size_t bytes)
{
	void *block = realloc(nullptr, bytes / 2 + 1);

	truth_alloced(&site_any_realloc, bytes / 2 + 1);
	truth_freed(&site_any_realloc, bytes / 2 + 1);
	truth_alloced(&site_any_realloc, bytes + 1);
	return realloc(block, bytes + 1);
}

extern "C" SITE void *any_aligned_alloc(size_t bytes)
{
	truth_alloced(&site_any_aligned_alloc, bytes * 32);
	return aligned_alloc(32, bytes * 32);
}

extern "C" SITE void *any_posix_memalign(size_t bytes)
{
	void *block = nullptr;

	EXPECT(posix_memalign(&block, 4096, bytes) == 0);
	truth_alloced(&site_any_posix_memalign, bytes);
	return block;
}

/* Before main, and before other objects' constructors had a chance. */
extern "C" SITE __attribute__((constructor(101))) void any_early(void)
{
	TRUTH_TEMPORARY(any_early, 123);
	truth_alloced(&site_any_early, 77);
	slots[used++] = { malloc(77), 77, nullptr, 0 };
}

static void *make(unsigned form, size_t bytes, struct slot *slot)
{
	static void *(*const makers[])(size_t) = {
		any_malloc,
		any_calloc,
		any_realloc,
		any_memalign,
		any_aligned_alloc,
		any_posix_memalign,
		any_new,
		any_new_nothrow,
		any_new_array,
		any_new_array_nothrow,
		any_new_aligned,
		any_new_aligned_nothrow,
		any_new_array_aligned,
	};
	static struct truth_site *const sites[] = {
		&site_any_malloc,
		&site_any_calloc,
		&site_any_realloc,
		&site_any_memalign,
		&site_any_aligned_alloc,
		&site_any_posix_memalign,
		&site_any_new,
		&site_any_new_nothrow,
		&site_any_new_array,
		&site_any_new_array_nothrow,
		&site_any_new_aligned,
		&site_any_new_aligned_nothrow,
		&site_any_new_array_aligned,
	};

	slot->form = (int)form;
	slot->site = sites[form];
	slot->bytes = form == 2 ? bytes + 1 : form == 4 ? bytes * 32 : bytes;
	slot->block = makers[form](bytes);
	EXPECT(slot->block != nullptr);
	EXPECT(malloc_usable_size(slot->block) >= slot->bytes);
	memset(slot->block, 0x5a, slot->bytes);
	return slot->block;
}

static void unmake(const struct slot *slot)
{
	if (slot->form < 6)
		free(slot->block);
	else if (slot->form == 6)
		::operator delete(slot->block, slot->bytes);
	else if (slot->form == 7)
		::operator delete(slot->block, std::nothrow);
	else if (slot->form < 9)
		::operator delete[](slot->block, slot->bytes);
	else if (slot->form == 9)
		::operator delete[](slot->block);
	else if (slot->form == 10)
		::operator delete(slot->block, slot->bytes, aligned64);
	else if (slot->form == 11)
		::operator delete(slot->block, aligned64, std::nothrow);
	else
		::operator delete[](slot->block, slot->bytes, aligned64);
	truth_freed(slot->site, slot->bytes);
}

/* Every third block goes at once, every third later in another thread, the rest stays. */
static void *work(void *argument)
{
	unsigned seed = (unsigned)(uintptr_t)argument;

	for (unsigned i = 0; i < ROUNDS; i++) {
		struct slot slot;

		make((i + seed) % 13, size_of(i * 7 + seed), &slot);
		if (i % 3 == 0)
			unmake(&slot);
		else
			slots[__atomic_fetch_add(&used, 1, __ATOMIC_RELAXED)] = slot;
	}
	return nullptr;
}

static void in_child(void)
{
	struct slot slot;

	truth_reset();
	/* The parent's: freed here, and in no count of allocations. */
	free(slots[0].block);
	for (unsigned i = 0; i < 50; i++) {
		make(i % 13, size_of(i), &slot);
		if (i % 2)
			unmake(&slot);
	}
	truth_print_child();
	_exit(truth_failures != 0);
}

int main(void)
{
	pthread_t threads[THREADS];
	int status = 0;
	pid_t child;

	for (unsigned i = 0; i < THREADS; i++)
		EXPECT(pthread_create(&threads[i], nullptr, work, (void *)(uintptr_t)i) == 0);
	for (unsigned i = 0; i < THREADS; i++)
		EXPECT(pthread_join(threads[i], nullptr) == 0);
	for (unsigned i = 1; i < used; i += 2)
		unmake(&slots[i]);
	child = fork();
	if (child == 0)
		in_child();
	EXPECT(waitpid(child, &status, 0) == child && status == 0);
	truth_print();
	return truth_failures != 0;
}
