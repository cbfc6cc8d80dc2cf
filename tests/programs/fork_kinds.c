/* SPDX-License-Identifier: MIT */
// build: -pthread
/*
 * fork_kinds WHAT N: N forked children, one after the other, each with its truth in
 * $TRUTH_FILE.<pid>.
 *   none      ends at once           exec      runs true at once
 *   few       allocates 10 blocks, frees 5 of them and 2 that it inherited
 *   many      5,000 blocks           killed    500 blocks, then SIGKILL
 *   thread    3 blocks, and 40 in a thread of its own
 *   race      two threads of 3,000 blocks each, half of which are freed, that begin at once
 *   vfork     a vfork child, which runs true
 *   nested    3 blocks, and a child of its own with 7
 *   daemon    forks twice, and ends in between; the last one has 20 blocks
 *   late      the same, but the last one allocates when the program itself has ended
 *   large     2 blocks of half a megabyte
 *   handler   forked in a signal handler
 *   threads   forked by a thread while others allocate
 */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>

#include "truth.h"

enum { BYTES = 100, LARGE_BYTES = 512 << 10, INHERITED = 2, OTHERS = 3 };

TRUTH_SITE(allocate);
TRUTH_SITE(churn);
TRUTH_SITE(large);

static const char *what;
static void *inherited[INHERITED];
static int until_end[2]; /* a pipe into which only the program itself could write */
static int stop;

static SITE void *allocate(unsigned count)
{
	void *block = NULL;

	for (unsigned i = 0; i < count; i++) {
		block = truth_hide_ptr(malloc(BYTES));
		truth_alloced(&site_allocate, BYTES);
	}
	return block;
}

static void release(void *block)
{
	truth_freed(&site_allocate, BYTES);
	free(block);
}

static bool is(const char *name)
{
	return strcmp(what, name) == 0;
}

static void *in_thread(void *unused)
{
	(void)allocate(40);
	return unused;
}

static void *in_race(void *unused)
{
	for (int i = 0; i < 1500; i++)
		release(allocate(2));
	return unused;
}

static void few(void)
{
	for (int i = 0; i < 5; i++)
		release(allocate(2));
	for (int i = 0; i < INHERITED; i++)
		free(inherited[i]);
}

static SITE void large(void)
{
	for (int i = 0; i < 2; i++) {
		EXPECT(truth_hide_ptr(malloc(LARGE_BYTES)) != NULL);
		truth_alloced(&site_large, LARGE_BYTES);
	}
}

static pid_t fork_again(unsigned count)
{
	pid_t pid = fork();
	char byte;

	if (pid == 0) {
		truth_reset();
		/* By then its recording could be written. */
		if (is("late"))
			EXPECT(read(until_end[0], &byte, 1) == 0 && usleep(50000) == 0);
		(void)allocate(count);
		truth_print_child();
		_exit(0);
	}
	return pid;
}

static void be_child(void)
{
	pthread_t thread;

	truth_reset();
	(void)close(until_end[1]);
	if (is("none"))
		_exit(0);
	if (is("exec"))
		(void)execl("/bin/true", "true", (char *)NULL);
	if (is("few") || is("handler") || is("threads"))
		few();
	if (is("large"))
		large();
	if (is("many"))
		(void)allocate(5000);
	if (is("killed") || is("thread") || is("nested"))
		(void)allocate(is("killed") ? 500 : 3);
	if (is("thread")) {
		EXPECT(pthread_create(&thread, NULL, in_thread, NULL) == 0);
		EXPECT(pthread_join(thread, NULL) == 0);
	}
	if (is("race")) {
		EXPECT(pthread_create(&thread, NULL, in_race, NULL) == 0);
		(void)in_race(NULL);
		EXPECT(pthread_join(thread, NULL) == 0);
	}
	if (is("nested"))
		EXPECT(waitpid(fork_again(7), NULL, 0) > 0);
	if (is("daemon") || is("late"))
		EXPECT(setsid() > 0 && fork_again(20) > 0);
	else
		truth_print_child();
	if (is("killed"))
		(void)raise(SIGKILL);
	_exit(truth_failures != 0);
}

static void fork_one(void)
{
	pid_t pid = is("vfork") ? vfork() : fork();

	if (pid == 0 && is("vfork")) {
		(void)execl("/bin/true", "true", (char *)NULL);
		_exit(127);
	}
	if (pid == 0)
		be_child();
	EXPECT(waitpid(pid, NULL, 0) == pid);
}

static void on_signal(int number)
{
	(void)number;
	fork_one();
}

static SITE void *churn(void *unused)
{
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		TRUTH_TEMPORARY(churn, BYTES);
	}
	return unused;
}

static void *fork_them(void *count)
{
	for (int i = 0; i < *(int *)count; i++)
		if (is("handler"))
			(void)raise(SIGUSR1);
		else
			fork_one();
	return NULL;
}

int main(int argc, char **argv)
{
	int count = argc > 2 ? atoi(argv[2]) : 1;
	pthread_t others[OTHERS];

	what = argc > 1 ? argv[1] : "";
	EXPECT(pipe(until_end) == 0);
	for (int i = 0; i < INHERITED; i++)
		inherited[i] = allocate(1);
	(void)signal(SIGUSR1, on_signal);
	for (int i = 0; is("threads") && i < OTHERS; i++)
		EXPECT(pthread_create(&others[i], NULL, i ? churn : fork_them, &count) == 0);
	if (is("threads"))
		EXPECT(pthread_join(others[0], NULL) == 0);
	else
		(void)fork_them(&count);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (int i = 1; is("threads") && i < OTHERS; i++)
		EXPECT(pthread_join(others[i], NULL) == 0);
	truth_print();
	return truth_failures != 0;
}
