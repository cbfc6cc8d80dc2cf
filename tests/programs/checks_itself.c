/* SPDX-License-Identifier: MIT */
// build: -pthread
/*
 * checks_itself [MODE]: looks for its own leaks, and says whether it could notice who did it.
 * "threads": in four threads at once; "closed": without a standard error; "unread": nobody reads
 * it; "ends": __lsan_do_leak_check(); "moved": it has changed its working directory; "left": after
 * a check that a handler left by siglongjmp(); "apart": its next child is to be the first process
 * of a PID namespace; "forked": in a forked child, small as it is; "often": once more, after many.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

void __lsan_do_leak_check(void) __attribute__((weak));
int __lsan_do_recoverable_leak_check(void) __attribute__((weak));

enum { THREADS = 4, OFTEN = 40 };

static volatile sig_atomic_t signals;
static pthread_barrier_t all_have_lost;

static void count(int number)
{
	(void)number;
	signals++;
}

static __attribute__((noinline)) void lose(size_t bytes)
{
	memset(malloc(bytes), 0x11, bytes);
	__asm__ volatile("" ::: "memory");
}

/* What the functions before have left on the stack would lead to it. */
static __attribute__((noinline)) void clear_stack(void)
{
	char old[4096];

	memset(old, 0, sizeof(old));
	__asm__ volatile("" ::"r"(old) : "memory");
}

static void check(void)
{
	sigset_t before = { 0 }, after = { 0 };
	int found;

	clear_stack();
	(void)pthread_sigmask(SIG_SETMASK, NULL, &before);
	errno = 77;
	found = __lsan_do_recoverable_leak_check();
	printf("found %d, errno %d, ", found, errno);
	(void)pthread_sigmask(SIG_SETMASK, NULL, &after);
	printf("signals %s\n", memcmp(&before, &after, sizeof(before)) ? "changed" : "as before");
}

static sigjmp_buf left;

static void leave(int number)
{
	(void)number;
	siglongjmp(left, 1);
}

static void be_left(void)
{
	const struct itimerval soon = { .it_value = { .tv_usec = 3000 } };

	(void)signal(SIGALRM, leave);
	if (sigsetjmp(left, 1) == 0) {
		(void)setitimer(ITIMER_REAL, &soon, NULL);
		for (;;)
			(void)__lsan_do_recoverable_leak_check();
	}
	/* The one that was left may have reported the other. */
	lose(1339);
}

static void be_unread(void)
{
	int ends[2];

	if (pipe(ends) != 0 || dup2(ends[1], 2) != 2)
		exit(5);
	(void)close(ends[0]);
	(void)close(ends[1]);
}

static void *run(void *unused)
{
	lose(1338);
	(void)pthread_barrier_wait(&all_have_lost);
	check();
	return unused;
}

static void in_threads(void)
{
	pthread_t threads[THREADS];

	(void)pthread_barrier_init(&all_have_lost, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		(void)pthread_create(&threads[i], NULL, run, NULL);
	for (int i = 0; i < THREADS; i++)
		(void)pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	int status = 0;

	setvbuf(stdout, NULL, _IONBF, 0);
	if (strcmp(mode, "forked") == 0 && fork() > 0)
		return wait(&status) > 0 ? status != 0 : 3;
	(void)signal(SIGCHLD, count);
	/* Orphans among our descendants would become our children. */
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	lose(1337);
	if (strcmp(mode, "closed") == 0)
		(void)close(2);
	if (strcmp(mode, "unread") == 0)
		be_unread();
	if (strcmp(mode, "left") == 0)
		be_left();
	for (int i = 0; strcmp(mode, "often") == 0 && i < OFTEN; i++)
		(void)__lsan_do_recoverable_leak_check();
	if (strcmp(mode, "moved") == 0 && chdir("/") != 0)
		return 4;
	if (strcmp(mode, "apart") == 0 && unshare(CLONE_NEWPID) != 0)
		return 3;
	if (strcmp(mode, "ends") == 0)
		__lsan_do_leak_check();
	else if (strcmp(mode, "threads") == 0)
		in_threads();
	else
		check();
	if (strcmp(mode, "apart") == 0) {
		pid_t child = fork();

		if (child == 0)
			_exit(getpid());
		(void)waitpid(child, &status, 0);
		return WEXITSTATUS(status);
	}
	errno = 0;
	printf("SIGCHLD %d, wait %d", (int)signals, wait(NULL));
	printf(" %s\n", errno == ECHILD ? "no child" : "child");
	return 0;
}
