/* SPDX-License-Identifier: MIT */
/*
 * Forks from a process whose threads allocate all the time. Each child frees blocks it inherited,
 * allocates its own and ends by exit, _exit or exec. Arguments: number of children (50) and of
 * allocations in each (1,500, enough for a recording of its own).
 * A child's truth is in $TRUTH_FILE.<pid>, the exec'd image's in $TRUTH_FILE.<pid>.exec.
 */
#include <pthread.h>
#include <sys/wait.h>

#include "truth.h"

enum { THREADS = 4, INHERITED = 200, FREED_BY_CHILD = 120, AT_ONCE = 4 };

TRUTH_MAKER(parent_churn, malloc(bytes));
TRUTH_MAKER(parent_kept, malloc(bytes));
TRUTH_MAKER(child_work, malloc(bytes));
TRUTH_MAKER(child_thread_work, malloc(bytes));
TRUTH_MAKER(after_exec, malloc(bytes));

static void *inherited[INHERITED];
static int stop;
static unsigned child_allocs = 1500;

static void *churn(void *arg)
{
	uint64_t state = (uintptr_t)arg;

	while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
		size_t bytes = truth_random(&state) % 2000 + 1;

		free(truth_hide_ptr(parent_churn(bytes)));
		truth_freed(&site_parent_churn, bytes);
	}
	return NULL;
}

/* What was allocated before the fork is the parent's: its freeing is a class of its own. */
static void free_inherited(void)
{
	size_t bytes = 0;
	int i;

	for (i = 0; i < FREED_BY_CHILD; i++) {
		free(inherited[i]);
		bytes += (size_t)(i + 1) * 10;
	}
	truth_line("inherited frees=%d bytes=%zu\n", FREED_BY_CHILD, bytes);
}

static void *child_thread(void *arg)
{
	static void *kept;

	kept = child_thread_work(1234);
	free(truth_hide_ptr(child_thread_work(77)));
	truth_freed(&site_child_thread_work, 77);
	return arg ? kept : NULL;
}

static void work_in_child(void)
{
	static void *kept[100000];
	pthread_t thread;
	unsigned i;

	for (i = 0; i < child_allocs; i++) {
		size_t bytes = i % 100 + 1;
		void *block = child_work(bytes);

		if (i % 4 == 0) {
			kept[i % 100000] = block;
			continue;
		}
		free(block);
		truth_freed(&site_child_work, bytes);
	}
	EXPECT(pthread_create(&thread, NULL, child_thread, NULL) == 0);
	EXPECT(pthread_join(thread, NULL) == 0);
	EXPECT(truth_hide_ptr(kept) != NULL);
}

static void child(int number, char **argv)
{
	char *again[] = { argv[0], (char *)(uintptr_t) "execd", NULL };

	truth_reset();
	free_inherited();
	work_in_child();
	truth_print_child();
	if (truth_failures)
		_exit(1);
	switch (number % 3) {
	case 0:
		exit(0);
	case 1:
		_exit(0);
	default:
		(void)execv("/proc/self/exe", again);
		_exit(1);
	}
}

static int main_after_exec(void)
{
	char suffix[64];
	int i;

	for (i = 0; i < 2000; i++) {
		free(truth_hide_ptr(after_exec(99)));
		truth_freed(&site_after_exec, 99);
	}
	(void)snprintf(suffix, sizeof(suffix), ".%d.exec", (int)getpid());
	truth_print_as(suffix);
	return 0;
}

static void reap_one(void)
{
	int status;

	EXPECT(wait(&status) > 0);
	EXPECT(status == 0);
}

static void storm(int children, char **argv)
{
	int i, running = 0;

	for (i = 0; i < children; i++) {
		pid_t pid = fork();

		if (pid == 0)
			child(i, argv);
		EXPECT(pid > 0);
		if (++running == AT_ONCE) {
			reap_one();
			running--;
		}
	}
	while (running-- > 0)
		reap_one();
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	uintptr_t i;

	if (argc > 1 && strcmp(argv[1], "execd") == 0)
		return main_after_exec();
	if (argc > 2)
		child_allocs = (unsigned)strtoul(argv[2], NULL, 10);
	for (i = 0; i < INHERITED; i++)
		inherited[i] = parent_kept((size_t)(i + 1) * 10);
	for (i = 0; i < THREADS; i++)
		EXPECT(pthread_create(&threads[i], NULL, churn, (void *)(i + 1)) == 0);
	storm(argc > 1 ? atoi(argv[1]) : 50, argv);
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	for (i = 0; i < THREADS; i++)
		EXPECT(pthread_join(threads[i], NULL) == 0);
	truth_print();
	return truth_failures != 0;
}
