/* SPDX-License-Identifier: MIT */
// build: -lpthread
/*
 * In a forked child another thread allocates before the thread that forked does: the child's
 * ledger is then begun by a thread whose own state is new, while the forking thread still holds
 * what it had in the parent. A thread that the parent had leaves its stack to the child, so that
 * pthread_create() itself allocates nothing there.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAIN_BLOCKS = 1000, THREAD_BLOCKS = 300 };

static int hold[2];
static __thread void *volatile block;

__attribute__((noipa)) static void in_main(void)
{
	block = malloc(100);
	free(block);
}

__attribute__((noipa)) static void in_thread(void)
{
	block = malloc(50);
	free(block);
}

static void *wait_for_ever(void *arg)
{
	char byte;

	(void)read(hold[0], &byte, 1);
	return arg;
}

static void *thread_main(void *arg)
{
	for (int i = 0; i < THREAD_BLOCKS; i++)
		in_thread();
	return arg;
}

static int child(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, thread_main, NULL))
		return 3;
	pthread_join(thread, NULL);
	for (int i = 0; i < MAIN_BLOCKS; i++)
		in_main();
	return 0;
}

int main(void)
{
	static char buffer[256];
	pthread_t thread;
	int status = 0;
	pid_t pid;

	setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
	if (pipe(hold) || pthread_create(&thread, NULL, wait_for_ever, NULL))
		return 3;
	in_main();
	pid = fork();
	if (pid == 0)
		_exit(child());
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		return 4;
	printf("child %d\n", (int)pid);
	printf("truth in_main allocs=%d bytes=%d\n", MAIN_BLOCKS, 100 * MAIN_BLOCKS);
	printf("truth in_thread allocs=%d bytes=%d\n", THREAD_BLOCKS, 50 * THREAD_BLOCKS);
	return 0;
}
