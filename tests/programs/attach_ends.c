// SPDX-License-Identifier: MIT
// build: -pthread
/*
 * attach_ends MODE: processes that a tool may attach to just when they become something else.
 * "fork" makes children all the time, "exec" executes itself, "die WAY US" waits for the line "go"
 * and ends by WAY after US microseconds of work; "child" answers the line "fork" with the number of one that
 * works until its parent ends. Talks as attach_talk.h says.
 */
#include <sys/wait.h>
#include <time.h>

#include "attach_talk.h"

static void work_for(unsigned long us)
{
	struct timespec began, now;
	void *volatile block;

	(void)clock_gettime(CLOCK_MONOTONIC, &began);
	do {
		block = malloc(100);
		EXPECT(block != NULL);
		memset(block, 1, 100);
		free(block);
		(void)clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec - began.tv_sec) * 1000000 + (now.tv_nsec - began.tv_nsec) / 1000 <
		 (long)us);
}

/* ---- fork ------------------------------------------------------------------------------------ */

enum { CHILD_STATUS = 7 };

static void child_of(unsigned long number)
{
	void *blocks[50];
	unsigned i;

	for (i = 0; i < 50; i++) {
		blocks[i] = malloc(100 + i);
		EXPECT(blocks[i] != NULL);
		memset(blocks[i], (int)i, 100 + i);
	}
	for (i = 0; i < 50; i++) {
		EXPECT(((char *)blocks[i])[99] == (char)i);
		free(blocks[i]);
	}
	if (number % 4 == 1)
		(void)execl("/bin/sh", "sh", "-c", "exit 7", (char *)NULL);
	_exit(truth_failures ? 1 : CHILD_STATUS);
}

static int run_forks(void)
{
	unsigned long children = 0;
	const char *line;
	int status;

	talk_ready();
	while ((line = talk_line(0))) {
		pid_t pid = children % 4 == 3 ? vfork() : fork();

		EXPECT(pid >= 0);
		if (pid == 0 && children % 4 == 3)
			_exit(CHILD_STATUS);
		if (pid == 0)
			child_of(children);
		work_for(300);
		EXPECT(waitpid(pid, &status, 0) == pid);
		EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == CHILD_STATUS);
		children++;
		if (*line)
			talk_answer();
	}
	truth_line("note children=%lu\n", children);
	return talk_end();
}

/* ---- exec ------------------------------------------------------------------------------------ */

static int run_execs(char **argv)
{
	unsigned long number = argv[2] ? strtoul(argv[2], NULL, 10) : 0;
	const char *line;
	uint64_t state = number * 77;
	char next[32];

	if (number == 0)
		talk_ready();
	/* Another process image would begin without the handler, and die of the signal. */
	(void)signal(SIGTERM, SIG_IGN);
	work_for(truth_random(&state) % 40000);
	line = talk_line(0);
	if (line && *line)
		talk_answer();
	if (truth_failures == 0 && line) {
		(void)snprintf(next, sizeof(next), "%lu", number + 1);
		(void)execl("/proc/self/exe", argv[0], argv[1], next, (char *)NULL);
		EXPECT(!"execl returns");
	}
	truth_line("note execs=%lu\n", number);
	return talk_end();
}

/* ---- die ------------------------------------------------------------------------------------- */

static void die(const char *way)
{
	if (strcmp(way, "exit") == 0)
		exit(7);
	if (strcmp(way, "_exit") == 0)
		_exit(8);
	if (strcmp(way, "kill") == 0)
		(void)kill(getpid(), SIGKILL);
	if (strcmp(way, "abort") == 0)
		abort();
	if (strcmp(way, "exec") == 0)
		(void)execl("/bin/sh", "sh", "-c", "echo executed; exit 9", (char *)NULL);
	/* The process that was attached to is gone, and its child goes on. */
	if (strcmp(way, "fork") == 0) {
		if (fork() != 0)
			_exit(10);
		work_for(20000);
		truth_line("the child went on\n");
		truth_flush(STDOUT_FILENO);
		_exit(11);
	}
}

static int run_death(char **argv)
{
	const char *line;

	talk_ready();
	do
		line = talk_line(1000);
	while (line && strcmp(line, "go") != 0);
	work_for(strtoul(argv[3], NULL, 10));
	die(argv[2]);
	return 2;
}

/* ---- child ----------------------------------------------------------------------------------- */

static int run_child(void)
{
	const char *line;

	talk_ready();
	while ((line = talk_line(1000))) {
		const pid_t child = strcmp(line, "fork") == 0 ? fork() : 0;

		if (strcmp(line, "fork") == 0 && child == 0)
			for (const pid_t parent = getppid(); getppid() == parent;)
				work_for(1000);
		if (*line) {
			work_for(100);
			truth_line("%lu\n", (unsigned long)child);
			talk_answer();
		}
	}
	return talk_end();
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "child") == 0)
		return run_child();
	if (argc == 2 && strcmp(argv[1], "fork") == 0)
		return run_forks();
	if (argc >= 2 && strcmp(argv[1], "exec") == 0)
		return run_execs(argv);
	if (argc == 4 && strcmp(argv[1], "die") == 0)
		return run_death(argv);
	(void)fprintf(stderr, "attach_ends: which mode?\n");
	return 2;
}
