/* SPDX-License-Identifier: MIT */
/* The progress line: on a terminal after a second, otherwise never. */
#include <fcntl.h>
#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/progress.h"
#include "unit.h"

/* Everything that a descriptor holds now. */
static size_t drain(int fd, char *text, size_t bytes)
{
	size_t length = 0;
	ssize_t got;

	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	while ((got = read(fd, text + length, bytes - 1 - length)) > 0)
		length += (size_t)got;
	text[length] = '\0';
	return length;
}

/* Run @work with stderr on @fd. */
static void with_stderr_on(int fd, void (*work)(void))
{
	int saved = dup(STDERR_FILENO);

	assert_true(saved >= 0);
	(void)fflush(stderr);
	assert_true(dup2(fd, STDERR_FILENO) >= 0);
	work();
	(void)fflush(stderr);
	assert_true(dup2(saved, STDERR_FILENO) >= 0);
	(void)close(saved);
}

static void short_work(void)
{
	struct seep_progress progress;

	seep_progress_start(&progress, "counting");
	for (unsigned i = 0; i < 100; i++)
		seep_progress_step(&progress, i);
	seep_progress_done(&progress);
}

/* As if two seconds had passed: the clock is not waited for. */
static void long_work(void)
{
	struct seep_progress progress;

	seep_progress_start(&progress, "counting");
	progress.total = 200;
	progress.next_ns = 0;
	seep_progress_step(&progress, 50);
	seep_progress_step(&progress, 51);
	seep_progress_done(&progress);
	seep_progress_done(&progress);
}

TEST(pipes_get_nothing)
{
	char text[100];
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	with_stderr_on(ends[1], long_work);
	assert_int_equal(drain(ends[0], text, sizeof(text)), 0);
	(void)close(ends[0]);
	(void)close(ends[1]);
}

TEST(terminals_get_one_line_that_is_cleared)
{
	char text[400];
	int master;
	int slave;

	if (openpty(&master, &slave, NULL, NULL, NULL) != 0)
		skip();
	with_stderr_on(slave, short_work);
	assert_int_equal(drain(master, text, sizeof(text)), 0);
	with_stderr_on(slave, long_work);
	(void)drain(master, text, sizeof(text));
	assert_string_equal(text, "\r\033[Kcounting: 50 of 200 (25.0%)\r\033[K");
	seep_progress_silence(true);
	with_stderr_on(slave, long_work);
	assert_int_equal(drain(master, text, sizeof(text)), 0);
	(void)close(master);
	(void)close(slave);
}
