/* SPDX-License-Identifier: MIT */
// build: -std=c++17
/*
 * Allocations where programs rarely look: constructors before main, thread_local objects, the
 * four rounds of thread-specific data, atexit handlers, static destructors. The truth is printed
 * by the last destructor of the program.
 */
#include <pthread.h>

#include "truth.h"

enum { THREADS = 100, ROUNDS = 4 };

TRUTH_TAGGING_MAKER(before_main, malloc(bytes));
TRUTH_TAGGING_MAKER(static_constructor, malloc(bytes));
TRUTH_TAGGING_MAKER(static_destructor, malloc(bytes));
TRUTH_TAGGING_MAKER(thread_constructor, malloc(bytes));
TRUTH_TAGGING_MAKER(thread_destructor, malloc(bytes));
TRUTH_TAGGING_MAKER(tsd_first, malloc(bytes));
TRUTH_TAGGING_MAKER(tsd_round, malloc(bytes));
TRUTH_TAGGING_MAKER(at_exit, malloc(bytes));
TRUTH_TAGGING_MAKER(last_destructor, malloc(bytes));

static void release(void *block)
{
	truth_untag_block(block);
	free(block);
}

static void *leaked[16 * THREADS];
static int leaked_count;

static void leak(void *block)
{
	leaked[__atomic_fetch_add(&leaked_count, 1, __ATOMIC_RELAXED)] = block;
}

__attribute__((constructor(101))) static void first_constructor()
{
	leak(before_main(333));
	release(before_main(334));
}

struct static_object {
	void *block;

	static_object() : block(static_constructor(501))
	{
	}
	~static_object()
	{
		release(block);
		leak(static_destructor(502));
		release(static_destructor(503));
	}
};

static static_object global_object;

struct thread_object {
	void *block;

	thread_object() : block(thread_constructor(101))
	{
	}
	~thread_object()
	{
		release(block);
		release(thread_destructor(102));
		leak(thread_destructor(103));
	}
};

static thread_local thread_object per_thread;

struct rounds {
	truth_tag tag;
	int left;
};

static pthread_key_t key;
static int rounds_seen;

/* Sets its own key again until the C library gives up; the last value is what stays. */
static void tsd_destructor(void *value)
{
	rounds *old = static_cast<rounds *>(value), *next;
	int left = old->left - 1;

	__atomic_fetch_add(&rounds_seen, 1, __ATOMIC_RELAXED);
	next = static_cast<rounds *>(tsd_round(sizeof(rounds)));
	release(old);
	next->left = left;
	if (left > 0) {
		EXPECT(pthread_setspecific(key, next) == 0);
		return;
	}
	leak(next);
}

static void *thread_main(void *)
{
	rounds *value = static_cast<rounds *>(tsd_first(sizeof(rounds)));

	EXPECT(per_thread.block != nullptr);
	value->left = ROUNDS;
	EXPECT(pthread_setspecific(key, value) == 0);
	return nullptr;
}

static void exit_handler()
{
	leak(at_exit(601));
	release(at_exit(602));
}

static void *before_exit;

static void exit_handler_that_frees()
{
	release(before_exit);
}

/* Lowest priority: after every other destructor of the program. */
__attribute__((destructor(101))) static void print_at_the_very_end()
{
	leak(last_destructor(701));
	release(last_destructor(702));
	truth_print();
	if (truth_failures)
		_exit(1);
}

int main()
{
	pthread_t threads[THREADS];
	int i;

	EXPECT(pthread_key_create(&key, tsd_destructor) == 0);
	EXPECT(atexit(exit_handler) == 0);
	before_exit = at_exit(603);
	EXPECT(atexit(exit_handler_that_frees) == 0);
	EXPECT(per_thread.block != nullptr);
	EXPECT(global_object.block != nullptr);
	for (i = 0; i < THREADS; i++)
		EXPECT(pthread_create(&threads[i], nullptr, thread_main, nullptr) == 0);
	for (i = 0; i < THREADS; i++)
		EXPECT(pthread_join(threads[i], nullptr) == 0);
	EXPECT(rounds_seen == THREADS * ROUNDS);
	return 0;
}
