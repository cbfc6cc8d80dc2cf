/* SPDX-License-Identifier: MIT */
/*
 * How a program that is attached to talks with its test: it prints "ready", does what lines on
 * stdin say, answers each with lines of which the last is ".", and ends at "end", at the end of
 * stdin or by SIGTERM: then it prints its truth, and "ok" unless it found anything wrong with
 * itself. Nothing here allocates.
 */
#ifndef TESTS_PROGRAMS_ATTACH_TALK_H
#define TESTS_PROGRAMS_ATTACH_TALK_H

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "truth.h"

/* Read by all threads: the program is to end. */
static volatile sig_atomic_t talk_ended;

static void talk_terminated(int number)
{
	(void)number;
	talk_ended = 1;
}

static inline void talk_ready(void)
{
	(void)signal(SIGTERM, talk_terminated);
	truth_line("ready\n");
	truth_flush(STDOUT_FILENO);
}

static inline void talk_answer(void)
{
	truth_line(".\n");
	truth_flush(STDOUT_FILENO);
}

/*
 * The next line without its end, or "" if none comes within @ms; NULL, and talk_ended set, when
 * there is to be no more. By single bytes: who execs must not have read ahead.
 */
static inline const char *talk_line(int ms)
{
	static char line[256];
	static size_t used;
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };

	while (!talk_ended) {
		const int ready = poll(&input, 1, ms);
		ssize_t n;

		/* No other handler of this program runs: whoever is led away comes back into the same call. */
		if (ready < 0 && !talk_ended)
			abort();
		if (ready <= 0)
			break;
		n = read(STDIN_FILENO, line + used, 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0 || used == sizeof(line) - 1) {
			talk_ended = 1;
		} else if (line[used] != '\n') {
			used++;
		} else {
			line[used] = '\0';
			used = 0;
			if (strcmp(line, "end") != 0)
				return line;
			talk_ended = 1;
		}
	}
	return talk_ended ? NULL : "";
}

/* The last words; the exit status. */
static inline int talk_end(void)
{
	int wrong = __atomic_load_n(&truth_failures, __ATOMIC_RELAXED);

	if (wrong)
		truth_line("wrong %d\n", wrong);
	else
		truth_line("ok\n");
	truth_flush(STDOUT_FILENO);
	return wrong != 0;
}

#endif
