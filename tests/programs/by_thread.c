/* SPDX-License-Identifier: MIT */
// build: -pthread
/*
 * Threads that get their names in every way, and change them between two allocations from one
 * place. Prints "thread NAME allocs=N bytes=N" of what kept() allocated under each name.
 */
#include "truth.h"

#include <pthread.h>
#include <sys/prctl.h>
#include <sys/wait.h>

enum { NAMES_MAX = 16, ROUNDS = 50, STORM_THREADS = 8, STORM_ROUNDS = 5000 };

TRUTH_SITE(kept);

static struct {
	char name[17];
	unsigned long long allocs, bytes;
} expected[NAMES_MAX];
static void *volatile blocks[1 << 16];
static unsigned block_count;
static pthread_barrier_t step;
static int storms_over;

SITE static void kept(size_t bytes)
{
	blocks[__atomic_fetch_add(&block_count, 1, __ATOMIC_RELAXED)] = malloc(bytes);
	truth_alloced(&site_kept, bytes);
}

/* Not counted: other places in between, so that the thread does not come from the last one. */
static __attribute__((noinline)) void fleeting(void)
{
	void *volatile block = malloc(9);

	free(block);
	block = malloc(10);
	free(block);
}

/* One place for all, so that only the name tells the contexts apart. */
SITE static void keep_some(const char *name, size_t bytes)
{
	unsigned i = 0;

	for (int round = 0; round < ROUNDS; round++) {
		kept(bytes);
		fleeting();
	}
	while (expected[i].name[0] && strcmp(expected[i].name, name) != 0)
		i++;
	strcpy(expected[i].name, name);
	expected[i].allocs += ROUNDS;
	expected[i].bytes += ROUNDS * bytes;
}

static void print_expected(void)
{
	for (unsigned i = 0; expected[i].name[0]; i++)
		truth_line("thread %s allocs=%llu bytes=%llu\n", expected[i].name,
			   expected[i].allocs, expected[i].bytes);
}

/* From one call, so that nothing but the name has changed. */
static void *self_named(void *unused)
{
	static const char *const names[] = { "main name", "first", "second", "first" };

	for (unsigned i = 0; i < 4; i++) {
		if (i % 2)
			(void)pthread_setname_np(pthread_self(), names[i]);
		else if (i)
			(void)prctl(PR_SET_NAME, names[i], 0, 0, 0);
		keep_some(names[i], 16 + 8 * i);
	}
	return unused;
}

/* Named by main() while it stands at the barrier. */
static void *other_named(void *unused)
{
	keep_some("main name", 48);
	(void)pthread_barrier_wait(&step);
	(void)pthread_barrier_wait(&step);
	keep_some("by another", 56);
	(void)pthread_barrier_wait(&step);
	(void)pthread_barrier_wait(&step);
	keep_some("by \x1b[31m", 64);
	return unused;
}

static void name_another(void)
{
	pthread_t thread;

	(void)pthread_barrier_init(&step, NULL, 2);
	(void)pthread_create(&thread, NULL, other_named, NULL);
	(void)pthread_barrier_wait(&step);
	(void)pthread_setname_np(thread, "by another");
	(void)pthread_barrier_wait(&step);
	(void)pthread_barrier_wait(&step);
	(void)pthread_setname_np(thread, "by \x1b[31m");
	(void)pthread_barrier_wait(&step);
	(void)pthread_join(thread, NULL);
}

static void fork_named(void)
{
	pid_t child = fork();

	if (child == 0) {
		truth_reset();
		memset(expected, 0, sizeof(expected));
		for (int i = 0; i < 20; i++)
			keep_some("main name", 8);
		(void)prctl(PR_SET_NAME, "the child", 0, 0, 0);
		for (int i = 0; i < 20; i++)
			keep_some("the child", 8);
		_exit(0);
	}
	(void)waitpid(child, NULL, 0);
}

/* More names than are told apart. */
static void *many(void *argument)
{
	char name[16];

	(void)snprintf(name, sizeof(name), "worker %zu", (size_t)argument);
	(void)prctl(PR_SET_NAME, name, 0, 0, 0);
	kept(100);
	return NULL;
}

/*
 * Eight threads allocate while all their names change, by themselves and by main(). The names
 * differ in their second halves only: the kernel changes and reads one in two pieces.
 */
static void *storm(void *argument)
{
	for (int i = 0; i < STORM_ROUNDS; i++) {
		kept(100);
		if (i % 64 == 0)
			(void)prctl(PR_SET_NAME, i % 128 ? "stormby own a" : "stormby own b", 0, 0,
				    0);
	}
	__atomic_fetch_add(&storms_over, 1, __ATOMIC_RELEASE);
	return argument;
}

static void name_in_a_storm(void)
{
	pthread_t threads[STORM_THREADS];

	for (int i = 0; i < STORM_THREADS; i++)
		(void)pthread_create(&threads[i], NULL, storm, NULL);
	for (int i = 0; __atomic_load_n(&storms_over, __ATOMIC_ACQUIRE) < STORM_THREADS; i++)
		(void)pthread_setname_np(threads[i % STORM_THREADS],
					 i % 2 ? "stormby other a" : "stormby other b");
	for (int i = 0; i < STORM_THREADS; i++)
		(void)pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc > 1 && strcmp(argv[1], "storm") == 0) {
		EXPECT(prctl(PR_SET_NAME, "stormby main", 0, 0, 0) == 0);
		name_in_a_storm();
		truth_print();
		return truth_failures;
	}
	if (argc > 1) {
		for (size_t i = 0; i < (size_t)atoi(argv[1]); i++) {
			(void)pthread_create(&thread, NULL, many, (void *)i);
			(void)pthread_join(thread, NULL);
		}
		truth_print();
		return 0;
	}
	EXPECT(prctl(PR_SET_NAME, "main name", 0, 0, 0) == 0);
	EXPECT(prctl(-1, 0, 0, 0, 0) == -1 && errno == EINVAL);
	EXPECT(pthread_setname_np(pthread_self(), "longer than a name can be") == ERANGE);
	(void)pthread_create(&thread, NULL, self_named, NULL);
	(void)pthread_join(thread, NULL);
	name_another();
	fork_named();
	print_expected();
	truth_print();
	return truth_failures;
}
