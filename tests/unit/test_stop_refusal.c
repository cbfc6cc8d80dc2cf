/* SPDX-License-Identifier: MIT */
/* What is said of a process that cannot be traced, really and on machines that are invented. */
#include "../programs/seccomp_filter.h"
#include "stop_target.h"
#include "unit.h"

#include "target/stop_refusal.h"

#include <errno.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

enum { NOBODY = 65534 };

static void run_on(void)
{
	shared->ready = 1;
	for (;;)
		(void)pause();
}

static void run_guarded(void)
{
	if (setgid(NOBODY) < 0 || setuid(NOBODY) < 0)
		shared->result = -1;
	(void)prctl(PR_SET_DUMPABLE, 0);
	run_on();
}

static void run_traced(void)
{
	(void)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	run_on();
}

/* What a process that runs @prepare is told when it wants to stop @pid. */
static void check_told(pid_t pid, int (*prepare)(void), int code, const char *said)
{
	char *text = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status;
	pid_t asker = fork();

	if (asker == 0) {
		struct seep_stopped *stopped;
		struct seep_error err = { 0 };

		if (prepare() < 0)
			_exit(99);
		int rc = seep_stop(pid, &stopped, &err);

		(void)strcpy(text, err.text);
		_exit(-rc);
	}
	assert_int_equal(waitpid(asker, &status, 0), asker);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != code || !strstr(text, said))
		fail_msg("status %x, \"%s\", wanted %d, \"%s\"", status, text, code, said);
	assert_int_equal(munmap(text, 4096), 0);
}

static int as_we_are(void)
{
	return 0;
}

static int as_nobody(void)
{
	return setgid(NOBODY) < 0 || setuid(NOBODY) < 0 ? -1 : 0;
}

static int under_filter(void)
{
	const int call = SYS_ptrace;

	return set_filter(&call, 1, SECCOMP_RET_ERRNO | EPERM, SECCOMP_RET_ALLOW);
}

TEST(what_is_not_there_is_not_found)
{
	pid_t pid = start_target(run_on);
	siginfo_t info;

	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	check_told(pid, as_we_are, SEEP_ENOTFOUND, "has ended");
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	check_told(pid, as_we_are, SEEP_ENOTFOUND, "no process");
}

TARGET_TEST(another_tracer_is_named, run_traced)
{
	char said[64];

	(void)snprintf(said, sizeof(said), "test_stop_refus (pid %d) traces it already", getpid());
	check_told(target, as_we_are, SEEP_EREFUSED, said);
}

TARGET_TEST(a_filter_on_ptrace_is_told, run_on)
{
	check_told(target, under_filter, SEEP_EREFUSED, "seccomp");
}

TARGET_TEST(another_user_is_told, run_on)
{
	if (getuid() != 0)
		skip();
	check_told(target, as_nobody, SEEP_EREFUSED, "another user");
}

TARGET_TEST(one_that_is_not_dumpable_is_told, run_guarded)
{
	if (getuid() != 0 || shared->result < 0)
		skip();
	check_told(target, as_nobody, SEEP_EREFUSED, "not dumpable");
	/* With the right to trace anything it is no hindrance. */
	seep_stop_release(stop_target(target));
}

TEST(a_thread_of_the_kernel_is_told)
{
	struct seep_refusal refusal;

	seep_refusal_look(2, &refusal);
	if (strcmp(refusal.name, "kthreadd") != 0)
		skip(); /* in a PID namespace there is none */
	check_told(2, as_we_are, SEEP_EREFUSED, "kernel");
}

TEST(we_do_not_stop_ourselves)
{
	struct seep_stopped *stopped;
	struct seep_error err = { 0 };

	assert_int_equal(seep_stop(getpid(), &stopped, &err), -SEEP_EREFUSED);
	assert_non_null(strstr(err.text, "itself"));
}

/* Machines that are not this one. */
TEST(each_hindrance_has_its_sentence)
{
	static const struct {
		struct seep_refusal refusal;
		const char *said;
	} cases[] = {
		{ { .has_proc = true, .yama = 1 }, "ptrace_scope is 1" },
		{ { .has_proc = true, .yama = 1, .descends = true }, "security module" },
		{ { .has_proc = true, .yama = 1, .may_trace_any = true }, "security module" },
		{ { .has_proc = true, .yama = 2, .descends = true }, "ptrace_scope is 2" },
		{ { .has_proc = true, .yama = 2, .may_trace_any = true }, "security module" },
		{ { .has_proc = true, .yama = 3, .may_trace_any = true }, "ptrace_scope is 3" },
		{ { .has_proc = true, .yama = 1, .other_user = true }, "another user" },
		{ { .has_proc = true, .yama = 1, .is_guarded = true }, "not dumpable" },
		{ { .has_proc = true, .more_capable = true }, "capabilities" },
		{ { .has_proc = true, .may_trace_any = true, .is_beyond = true }, "namespace" },
		{ { .has_proc = true, .is_kernels = true }, "kernel" },
		{ { .has_proc = false }, "/proc does not show it" },
		{ { .has_proc = true, .is_filtered = true, .tracer = 7 }, "seccomp" },
		{ { .has_proc = true, .tracer = 7, .tracer_name = "gdb" }, "gdb (pid 7)" },
		{ { .has_proc = true }, "Operation not permitted" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct seep_error err = { 0 };

		assert_int_equal(seep_refusal_say(&cases[i].refusal, EPERM, &err), -SEEP_EREFUSED);
		if (!strstr(err.text, cases[i].said))
			fail_msg("case %zu: \"%s\", wanted \"%s\"", i, err.text, cases[i].said);
	}
}
