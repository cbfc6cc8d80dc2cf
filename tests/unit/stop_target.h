/* SPDX-License-Identifier: MIT */
/* Processes to be stopped: children of the test that share some memory with it. */
#ifndef SEEP_TESTS_STOP_TARGET_H
#define SEEP_TESTS_STOP_TARGET_H

#include "target/stop.h"
#include "unit.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TARGET_COUNTS = 64, TARGET_WAIT_MS = 20000 };

/* What target and test share. */
struct target_shared {
	_Atomic uint64_t count[TARGET_COUNTS];
	_Atomic int ready;
	_Atomic int stop;
	_Atomic int signals;
	_Atomic int done;
	_Atomic int error; /* errno */
	_Atomic long result;
};

static struct target_shared *shared;

static inline void nap(void)
{
	const struct timespec ms = { .tv_nsec = 1000000 };

	(void)nanosleep(&ms, NULL);
}

#define WAIT_FOR(condition)                                      \
	do {                                                     \
		int left_ = TARGET_WAIT_MS;                      \
		while (!(condition) && left_-- > 0)              \
			nap();                                   \
		if (left_ <= 0)                                  \
			fail_msg("not in time: %s", #condition); \
	} while (0)

/* A file of /proc/PID; "" when it cannot be read. */
static inline void read_proc(pid_t pid, const char *name, char text[4096])
{
	char path[64];
	FILE *file;
	size_t got = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	file = fopen(path, "r");
	if (file) {
		got = fread(text, 1, 4095, file);
		(void)fclose(file);
	}
	text[got] = '\0';
}

static inline char state_of(pid_t tid)
{
	char text[4096];

	read_proc(tid, "stat", text);
	return *text ? strrchr(text, ')')[2] : 0;
}

__attribute__((constructor)) static inline void share(void)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
}

/* A child of ours that runs @body. */
static inline pid_t fork_target(void (*body)(void))
{
	pid_t pid;

	memset((void *)shared, 0, sizeof(*shared));
	pid = fork();
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		body();
		_exit(0);
	}
	assert_true(pid > 0);
	return pid;
}

/* The same, once it says that it is ready. */
static inline pid_t start_target(void (*body)(void))
{
	pid_t pid = fork_target(body);

	WAIT_FOR(shared->ready > 0);
	return pid;
}

static inline void end_target(pid_t pid)
{
	(void)kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static pid_t target; /* of a TARGET_TEST */

static inline int end_own_target(void **state)
{
	(void)state;
	end_target(target);
	return 0;
}

/* With a target that runs @body and is ended by the test's end. */
#define TARGET_TEST(name, body)                   \
	static int start_for_##name(void **state) \
	{                                         \
		(void)state;                      \
		target = start_target(body);      \
		return 0;                         \
	}                                         \
	TEST_WITH(start_for_##name, name, end_own_target)

static inline struct seep_stopped *stop_target(pid_t pid)
{
	struct seep_stopped *stopped;
	struct seep_error err = { 0 };

	if (seep_stop(pid, &stopped, &err) != 0)
		fail_msg("not stopped: %s", err.text);
	return stopped;
}

/* A copy of what is stopped, which goes on. */
static inline pid_t copy_and_release(struct seep_stopped *stopped)
{
	struct seep_error err = { 0 };
	pid_t copy = 0;

	if (!seep_stop_may_copy(stopped, &err) || seep_stop_copy(stopped, &copy, &err) != 0)
		fail_msg("not copied: %s", err.text);
	seep_stop_release(stopped);
	return copy;
}

static inline void copy_target(pid_t pid)
{
	seep_copy_end(copy_and_release(stop_target(pid)));
}

#endif
