/* SPDX-License-Identifier: MIT */
/* Whether a process was looked at before its end, by anybody who may. */
#include "recorder/outside.h"
#include "unit.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t start(void)
{
	pid_t pid = fork();

	while (pid == 0)
		(void)pause();
	assert_true(pid > 0);
	return pid;
}

/* It stays a zombie. */
static void end(pid_t pid)
{
	siginfo_t info;

	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
}

TEST(who_ended_before_was_missed)
{
	struct seep_outside outside = { 0 };
	pid_t pid = start();

	end(pid);
	seep_outside_look(&outside, (uint32_t)pid);
	assert_true(outside.missed);
	assert_int_equal(outside.refused, 0);
	seep_outside_done(&outside);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

TEST(who_was_looked_at_before_was_not_missed)
{
	struct seep_outside outside = { 0 };
	pid_t pid = start();

	seep_outside_look(&outside, (uint32_t)pid);
	end(pid);
	seep_outside_look(&outside, (uint32_t)pid);
	assert_false(outside.missed);
	assert_int_equal(outside.refused, 0);
	seep_outside_done(&outside);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

TEST(what_is_refused_stays_so_when_it_has_ended)
{
	struct seep_outside outside = { 0 };
	pid_t pid = start();

	seep_outside_look(&outside, 0);
	assert_int_equal(outside.refused, -SEEP_ESYS);
	end(pid);
	seep_outside_look(&outside, (uint32_t)pid);
	assert_int_equal(outside.refused, -SEEP_ESYS);
	assert_false(outside.missed);
	seep_outside_done(&outside);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

int main(void)
{
	return unit_run_as_nobody_too();
}
