/* SPDX-License-Identifier: MIT */
// build: -g0 -pthread
/*
 * top_family [GENERATION]
 *
 * Does what the lines on standard input say, and answers each with "done": "keep N" allocates N
 * blocks of 1,000 bytes; "fork" makes a child that keeps 3,000 and stays; "exec" becomes this program
 * again; "grow" keeps a block a millisecond from then on, in a function with a long name.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

enum { BLOCK = 1000, CHILD_BLOCKS = 3000 };

static void *last;

/* The test writes over this name in the file's table of symbols. */
__attribute__((noinline)) void a_name_that_shells_and_terminals_have_to_cope_with(void)
{
	void **block = malloc(BLOCK);

	*block = last;
	last = block;
}

__attribute__((noinline)) static void keep(long count)
{
	for (long i = 0; i < count; i++) {
		void **block = malloc(BLOCK);

		*block = last;
		last = block;
	}
}

static void *grow(void *unused)
{
	for (;;) {
		a_name_that_shells_and_terminals_have_to_cope_with();
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
	return unused;
}

static void answer(const char *text)
{
	(void)!write(1, text, strlen(text));
}

int main(int argc, char **argv)
{
	char line[64];
	pthread_t thread;

	answer("done\n");
	while (fgets(line, sizeof(line), stdin)) {
		if (strncmp(line, "keep ", 5) == 0)
			keep(atol(line + 5));
		if (strcmp(line, "grow\n") == 0)
			pthread_create(&thread, NULL, grow, NULL);
		if (strcmp(line, "exec\n") == 0)
			execl("/proc/self/exe", argv[0], "again", NULL);
		if (strcmp(line, "fork\n") == 0 && fork() == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			keep(CHILD_BLOCKS);
			answer("done\n");
			for (;;)
				pause();
		}
		if (strcmp(line, "fork\n") != 0)
			answer("done\n");
	}
	return 3;
}
