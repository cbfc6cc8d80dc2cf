/* SPDX-License-Identifier: MIT */
/* Whether the process of a ledger still lives. */
#include "ledger/ledger.h"
#include "profile/ledger_load.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static uint64_t own_start_ticks(pid_t pid)
{
	char name[64];
	char text[1024];
	char *field;
	FILE *file;
	size_t got;

	(void)snprintf(name, sizeof(name), "/proc/%d/stat", (int)pid);
	file = fopen(name, "r");
	assert_non_null(file);
	got = fread(text, 1, sizeof(text) - 1, file);
	(void)fclose(file);
	text[got] = '\0';
	field = strrchr(text, ')') + 2;
	for (int i = 3; i < 22; i++)
		field = strchr(field, ' ') + 1;
	return strtoull(field, NULL, 10);
}

static void a_process_is_alive_by_pid_start_and_state(void **state)
{
	struct ledger_header header = { 0 };
	uint32_t found = 0;
	pid_t pid = fork();
	siginfo_t info;

	(void)state;
	if (pid == 0) {
		(void)pause();
		_exit(0);
	}
	header.pid = (uint32_t)pid;
	header.start_ticks = own_start_ticks(pid);
	assert_int_equal(seep_profile_process_life(&header, &found), SEEP_PROCESS_RUNNING);
	assert_int_equal(found, pid);
	header.start_ticks++;
	assert_int_equal(seep_profile_process_life(&header, NULL), SEEP_PROCESS_DEAD);
	header.start_ticks = 0; /* it could not find out */
	assert_int_equal(seep_profile_process_life(&header, NULL), SEEP_PROCESS_RUNNING);
	header.start_ticks = own_start_ticks(pid);
	header.boot_id[3] = 1;
	assert_int_equal(seep_profile_process_life(&header, NULL), SEEP_PROCESS_DEAD);
	header.boot_id[3] = 0;
	/* Of a namespace that nobody here is in: whether it runs cannot be told. */
	header.pid_namespace = 1;
	assert_int_equal(seep_profile_process_life(&header, NULL), SEEP_PROCESS_UNKNOWN);
	header.pid_namespace = 0;
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(seep_profile_process_life(&header, NULL),
			 SEEP_PROCESS_DEAD); /* a zombie */
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(seep_profile_process_life(&header, NULL), SEEP_PROCESS_DEAD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_is_alive_by_pid_start_and_state),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
