/* SPDX-License-Identifier: MIT */
/* What can be said of a process that is over, wholly or in part, when it is looked at. */
#include "target/bindings.h"

#include "base/error.h"
#include "unit.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int look(pid_t pid)
{
	struct seep_bindings bindings = { 0 };
	int rc = seep_bindings_read((uint32_t)pid, &bindings);

	seep_bindings_done(&bindings);
	return rc;
}

TEST(a_process_that_has_ended_is_not_one_that_refuses)
{
	siginfo_t info;
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(look(pid), -SEEP_ENOTFOUND); /* a zombie */
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(look(pid), -SEEP_ENOTFOUND);
}

/* The first thread is a zombie as soon as it can be joined. */
static void *outlive(void *argument)
{
	const pthread_t *first = argument;

	if (pthread_join(*first, NULL) == 0)
		(void)write(STDOUT_FILENO, "", 1);
	for (;;)
		(void)pause();
	return NULL;
}

TEST(a_process_is_looked_at_after_its_first_thread_ended)
{
	static pthread_t first, other;
	int pair[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(pair), 0);
	pid = fork();
	if (pid == 0) {
		(void)dup2(pair[1], STDOUT_FILENO);
		first = pthread_self();
		if (pthread_create(&other, NULL, outlive, &first) != 0)
			_exit(1);
		pthread_exit(NULL);
	}
	(void)close(pair[1]);
	assert_int_equal(read(pair[0], &byte, 1), 1);
	assert_int_equal(look(pid), 0);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	(void)close(pair[0]);
}

int main(void)
{
	return unit_run_as_nobody_too();
}
