/* SPDX-License-Identifier: MIT */
/* Whether a process was looked at before its end, by anybody who may. */
#include "recorder/outside.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { NOBODY = 65534 };

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

static void who_ended_before_was_missed(void **state)
{
	struct seep_outside outside = { 0 };
	pid_t pid = start();

	(void)state;
	end(pid);
	seep_outside_look(&outside, (uint32_t)pid);
	assert_true(outside.missed);
	assert_int_equal(outside.refused, 0);
	seep_outside_done(&outside);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void who_was_looked_at_before_was_not_missed(void **state)
{
	struct seep_outside outside = { 0 };
	pid_t pid = start();

	(void)state;
	seep_outside_look(&outside, (uint32_t)pid);
	end(pid);
	seep_outside_look(&outside, (uint32_t)pid);
	assert_false(outside.missed);
	assert_int_equal(outside.refused, 0);
	seep_outside_done(&outside);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void what_is_refused_stays_so_when_it_has_ended(void **state)
{
	struct seep_outside outside = { 0 };
	pid_t pid = start();

	(void)state;
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
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_ended_before_was_missed),
		cmocka_unit_test(who_was_looked_at_before_was_not_missed),
		cmocka_unit_test(what_is_refused_stays_so_when_it_has_ended),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	/* Root is refused nothing. */
	if (geteuid() == 0 && setgid(NOBODY) == 0 && setuid(NOBODY) == 0 &&
	    prctl(PR_SET_DUMPABLE, 1) == 0)
		failed += cmocka_run_group_tests_name("without rights", tests, NULL, NULL);
	return failed;
}
