/* SPDX-License-Identifier: MIT */
/* A copy of a process has what the process had, and the process never has a child by it. */
#include "../programs/seccomp_filter.h"
#include "stop_target.h"
#include "unit.h"

#include "target/remote_memory.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>

enum { CYCLES = 200, CHILD_STATUS = 42, NOBODY = 65534 };

static bool may_copy(struct seep_stopped *stopped, const char *why)
{
	struct seep_error err = { 0 };
	const bool may = seep_stop_may_copy(stopped, &err);

	if (!may && !strstr(err.text, why))
		fail_msg("another reason than \"%s\": %s", why, err.text);
	return may;
}

static pid_t parent_of(pid_t pid)
{
	char text[4096];
	int parent = 0;

	read_proc(pid, "stat", text);
	if (*text)
		(void)sscanf(strrchr(text, ')') + 1, " %*c %d", &parent);
	return parent;
}

/* A child of @pid, living or not, as /proc knows them; 0 none. */
static pid_t child_of(pid_t pid)
{
	DIR *folder = opendir("/proc");
	const struct dirent *entry;
	pid_t child = 0;

	while ((entry = readdir(folder)))
		if (atoi(entry->d_name) > 0 && parent_of(atoi(entry->d_name)) == pid)
			child = atoi(entry->d_name);
	(void)closedir(folder);
	return child;
}

static uint64_t *numbers; /* private: parent, target and copy have their own */

enum { NUMBERS = 1 << 20 };

static void run_writer(void)
{
	for (uint64_t round = 1;; round++) {
		for (int i = 0; i < NUMBERS; i++)
			numbers[i] = round;
		shared->ready = 1;
		shared->count[0] = round;
	}
}

/* They are written in order: there is one place at most where the numbers fall, by one. */
static void check_numbers(pid_t copy, uint64_t ret_edges[2])
{
	static uint64_t read[NUMBERS];
	struct seep_memory *memory;
	int falls = 0;

	assert_int_equal(seep_memory_open(copy, 0, &memory, NULL), 0);
	assert_true(seep_memory_read(memory, (uint64_t)numbers, read, sizeof(read)));
	seep_memory_close(memory);
	for (int i = 1; i < NUMBERS; i++)
		if (read[i] != read[i - 1]) {
			assert_int_equal(read[i] + 1, read[i - 1]);
			falls++;
		}
	assert_in_range(falls, 0, 1);
	ret_edges[0] = read[0];
	ret_edges[1] = read[NUMBERS - 1];
}

TARGET_TEST(a_copy_stands_still_while_the_process_goes_on, run_writer)
{
	for (int turn = 0; turn < 5; turn++) {
		struct seep_stopped *stopped = stop_target(target);
		uint64_t round = shared->count[0], edges[2], again[2];
		pid_t copy;

		/* Once the copy is init's, which buries it in its own time, then ours. */
		assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, turn > 0), 0);
		copy = copy_and_release(stopped);
		assert_int_equal(parent_of(copy) == getpid(), turn > 0);
		check_numbers(copy, edges);
		assert_in_range(edges[1], round, round + 1);
		WAIT_FOR(shared->count[0] > round + 3);
		check_numbers(copy, again);
		assert_memory_equal(edges, again, sizeof(edges));
		assert_int_equal(state_of(copy), 't');
		assert_true(parent_of(copy) != target);
		seep_copy_end(copy);
		WAIT_FOR(state_of(copy) == 0);
		assert_int_equal(child_of(target), 0);
	}
}

enum { FORKED, REAPED, WRONG, HANDLED };

static void note_child(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)context;
	shared->count[HANDLED]++;
	if (info->si_code != CLD_EXITED || info->si_status != CHILD_STATUS)
		shared->count[WRONG]++;
}

static void *fork_on(void *argument)
{
	(void)argument;
	while (!shared->stop) {
		pid_t child = fork();

		if (child == 0)
			_exit(CHILD_STATUS);
		if (child > 0)
			shared->count[FORKED]++;
		shared->ready = 1;
	}
	shared->count[10] = 1;
	return NULL;
}

/* Of all kinds of children, with or without an exit signal; @options says how patiently. */
static void *reap_on(void *argument)
{
	const int options = *(int *)argument;
	int status;

	for (;;) {
		pid_t child = waitpid(-1, &status, options | __WALL);

		if (child > 0) {
			shared->count[REAPED]++;
			if (!WIFEXITED(status) || WEXITSTATUS(status) != CHILD_STATUS)
				shared->count[WRONG]++;
		} else if (child < 0 && errno != ECHILD) {
			shared->count[WRONG]++;
		} else if (child < 0 && shared->count[10]) {
			break;
		} else {
			(void)sched_yield();
		}
	}
	return NULL;
}

static void run_family(void)
{
	const struct sigaction action = { .sa_sigaction = note_child,
					  .sa_flags = SA_SIGINFO | SA_RESTART };
	static int patient = 0, hasty = WNOHANG;
	pthread_t threads[3];

	(void)sigaction(SIGCHLD, &action, NULL);
	(void)pthread_create(&threads[0], NULL, fork_on, NULL);
	(void)pthread_create(&threads[1], NULL, reap_on, &patient);
	(void)pthread_create(&threads[2], NULL, reap_on, &hasty);
	for (int i = 0; i < 3; i++)
		(void)pthread_join(threads[i], NULL);
	shared->done = 1;
	for (;;)
		(void)pause();
}

TARGET_TEST(a_parent_counts_its_own_children_only, run_family)
{
	for (int i = 0; i < CYCLES; i++)
		copy_target(target);
	assert_true(shared->count[FORKED] > CYCLES);
	shared->stop = 1;
	WAIT_FOR(shared->done);
	assert_int_equal(shared->count[WRONG], 0);
	assert_int_equal(shared->count[REAPED], shared->count[FORKED]);
	assert_in_range(shared->count[HANDLED], 1, shared->count[FORKED]);
	assert_int_equal(child_of(target), 0);
}

/* Without children every wait() fails, and SIGCHLD never comes. */
static void run_childless(void)
{
	const struct sigaction action = { .sa_sigaction = note_child, .sa_flags = SA_SIGINFO };
	int status;

	(void)sigaction(SIGCHLD, &action, NULL);
	shared->ready = 1;
	while (!shared->stop) {
		if (waitpid(-1, &status, __WALL | shared->count[0] % 2) != -1 || errno != ECHILD)
			shared->count[WRONG]++;
		shared->count[0]++;
	}
	shared->done = 1;
	for (;;)
		(void)pause();
}

/* cminflt and cmajflt of proc(5). */
static void read_child_faults(pid_t pid, unsigned long faults[2])
{
	char text[4096];

	read_proc(pid, "stat", text);
	assert_int_equal(sscanf(strrchr(text, ')') + 1,
				" %*c %*d %*d %*d %*d %*d %*u %*u %lu %*u %lu", &faults[0],
				&faults[1]),
			 2);
}

TARGET_TEST(a_process_without_children_sees_none, run_childless)
{
	unsigned long faults[2];

	for (int i = 0; i < CYCLES; i++)
		copy_target(target);
	shared->stop = 1;
	WAIT_FOR(shared->done);
	assert_int_equal(shared->count[WRONG], 0);
	assert_int_equal(shared->count[HANDLED], 0);
	read_child_faults(target, faults);
	assert_int_equal(faults[0], 0);
	assert_int_equal(faults[1], 0);
}

static void note_number(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)context;
	if (info->si_value.sival_int != ++shared->signals)
		shared->count[WRONG]++;
}

static void note_time(int number)
{
	(void)number;
	shared->count[HANDLED]++;
}

static void run_in_storm(void)
{
	const struct sigaction numbered = { .sa_sigaction = note_number, .sa_flags = SA_SIGINFO };
	const struct sigaction timed = { .sa_handler = note_time };
	const struct itimerval timer = { { 0, 1000 }, { 0, 1000 } };

	(void)sigaction(SIGRTMIN, &numbered, NULL);
	(void)sigaction(SIGPROF, &timed, NULL);
	(void)setitimer(ITIMER_PROF, &timer, NULL);
	shared->ready = 1;
	for (;;)
		free(malloc(shared->count[0]++ % 5000));
}

TARGET_TEST(signals_come_in_order_and_once, run_in_storm)
{
	int sent = 0;

	for (int i = 0; i < CYCLES; i++) {
		const union sigval first = { .sival_int = ++sent };
		struct seep_stopped *stopped;
		pid_t copy;

		assert_int_equal(sigqueue(target, SIGRTMIN, first), 0);
		stopped = stop_target(target);
		for (int j = 0; j < 3; j++) {
			const union sigval next = { .sival_int = ++sent };

			assert_int_equal(sigqueue(target, SIGRTMIN, next), 0);
		}
		copy = copy_and_release(stopped);
		seep_copy_end(copy);
	}
	WAIT_FOR(shared->signals >= sent);
	assert_int_equal(shared->signals, sent);
	assert_int_equal(shared->count[WRONG], 0);
	assert_true(shared->count[HANDLED] > 0);
}

TARGET_TEST(a_stop_signal_amid_a_copy_stops, run_in_storm)
{
	struct seep_stopped *stopped = stop_target(target);
	uint64_t before;
	pid_t copy;

	/* It is taken by the thread that makes the calls, and cannot be blocked. */
	assert_int_equal(kill(target, SIGSTOP), 0);
	copy = copy_and_release(stopped);
	WAIT_FOR(state_of(target) == 'T');
	before = shared->count[0];
	copy_target(target); /* and one that stood still before */
	WAIT_FOR(state_of(target) == 'T');
	assert_int_equal(shared->count[0], before);
	assert_int_equal(kill(target, SIGCONT), 0);
	WAIT_FOR(shared->count[0] > before);
	seep_copy_end(copy);
}

static _Atomic bool waits;
static _Atomic int waited;

/* All that any child of ours has to say, to a thread that did not stop it. */
static void *wait_for_all(void *argument)
{
	siginfo_t info;

	(void)argument;
	while (waits) {
		info.si_pid = 0;
		if (waitid(P_ALL, 0, &info, WSTOPPED | WEXITED | WNOHANG | __WALL) == 0 &&
		    info.si_pid)
			waited++;
	}
	return NULL;
}

TARGET_TEST(another_thread_that_waits_does_not_disturb, run_in_storm)
{
	pthread_t thread;

	waits = true;
	assert_int_equal(pthread_create(&thread, NULL, wait_for_all, NULL), 0);
	for (int i = 0; i < CYCLES || !waited; i++)
		copy_target(target);
	waits = false;
	assert_int_equal(pthread_join(thread, NULL), 0);
}

#if __has_include(<sys/rseq.h>)
#include <sys/rseq.h>

/* Forever in a sequence that only the kernel's abort leaves; as often as that is done it counts. */
static void run_in_sequence(void)
{
	struct rseq *area = (void *)((char *)__builtin_thread_pointer() + __rseq_offset);

	if (!__rseq_size) {
		shared->result = -1;
		shared->ready = 1;
		return;
	}
	for (;;) {
		__asm__ volatile(".pushsection .data.sequence, \"aw\"\n"
				 ".balign 32\n"
				 "3:\n"
				 ".long 0, 0\n"
				 ".quad 1f, 2f - 1f, 4f\n"
				 ".popsection\n"
				 "leaq 3b(%%rip), %%rax\n"
				 "movq %%rax, %0\n"
				 "1: jmp 1b\n"
				 "2:\n"
				 ".byte 0x0f, 0xb9, 0x3d\n"
				 ".long 0x53053053\n"
				 "4:\n"
				 : "=m"(area->rseq_cs)
				 :
				 : "rax", "memory");
		shared->count[0]++;
		shared->ready = 1;
	}
}

/* It must not go on in the middle of a sequence, after another processor may have been its. */
TEST(a_restartable_sequence_is_begun_anew)
{
	pid_t pid = fork_target(run_in_sequence);

	/* Until it is interrupted by something it says nothing. */
	for (int i = 0; i < CYCLES; i++) {
		uint64_t before = shared->count[0];

		copy_target(pid);
		WAIT_FOR(shared->result < 0 || shared->count[0] > before);
	}
	end_target(pid);
	if (shared->result < 0)
		skip();
}
#endif

static int ends[2];

static void close_end(void)
{
	(void)close(ends[0]);
	shared->ready = 1;
	while (!shared->stop)
		nap();
	(void)close(ends[1]);
	shared->done = 1;
	for (;;)
		(void)pause();
}

TEST(a_file_that_is_closed_is_not_held_open_by_a_copy)
{
	struct seep_stopped *stopped;
	pid_t pid, copy;
	char byte;

	assert_int_equal(pipe(ends), 0);
	pid = start_target(close_end);
	(void)close(ends[1]);
	stopped = stop_target(pid);
	copy = copy_and_release(stopped);
	shared->stop = 1;
	WAIT_FOR(shared->done);
	assert_int_equal(read(ends[0], &byte, 1), 0); /* would wait for ever */
	seep_copy_end(copy);
	(void)close(ends[0]);
	end_target(pid);
}

static void count_on(void)
{
	shared->ready = 1;
	for (;;)
		shared->count[0]++;
}

static void run_filtered(void)
{
	const int call = SYS_clone;

	(void)set_filter(&call, 1, SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_ALLOW);
	count_on();
}

static void run_subreaper(void)
{
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	count_on();
}

/* Without rights only little can be. */
static void run_locked(void)
{
	shared->result = mlockall(MCL_CURRENT);
	count_on();
}

/* In a namespace of its own, where it is process 1; we are the parent's parent. */
static void run_first(void)
{
	if (unshare(CLONE_NEWPID) < 0) {
		shared->result = -1;
		shared->ready = 1;
		return;
	}
	pid_t pid = fork();

	if (pid == 0)
		count_on();
	shared->result = pid;
	(void)waitpid(pid, NULL, 0);
}

static void check_not_copied(pid_t pid, const char *why)
{
	struct seep_stopped *stopped = stop_target(pid);
	uint64_t before;

	assert_false(may_copy(stopped, why));
	seep_stop_release(stopped);
	before = shared->count[0];
	WAIT_FOR(shared->count[0] > before);
}

TEST(who_would_notice_is_not_copied)
{
	static const struct {
		void (*run)(void);
		const char *why;
	} cases[] = {
		{ run_filtered, "seccomp" },
		{ run_subreaper, "subreaper" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		pid_t pid = start_target(cases[i].run);

		check_not_copied(pid, cases[i].why);
		end_target(pid);
	}
}

TARGET_TEST(who_has_locked_its_memory_is_not_copied, run_locked)
{
	if (shared->result < 0)
		skip();
	check_not_copied(target, "locked");
}

TARGET_TEST(the_first_of_a_namespace_is_not_copied, run_first)
{
	if (shared->result < 0)
		skip();
	WAIT_FOR(shared->result > 0);
	check_not_copied((pid_t)shared->result, "PID namespace");
	(void)kill((pid_t)shared->result, SIGKILL);
}

/* As a user without rights, who has as many processes as allowed. */
static void run_limited(void)
{
	const struct rlimit one = { 1, 1 };

	if (setrlimit(RLIMIT_NPROC, &one) < 0 || setgid(NOBODY) < 0 || setuid(NOBODY) < 0)
		shared->result = -1;
	count_on();
}

TARGET_TEST(a_refused_fork_changes_nothing, run_limited)
{
	pid_t copy = 0;
	struct seep_error err = { 0 };
	struct seep_stopped *stopped;
	struct user_regs_struct before, after;

	if (shared->result < 0)
		skip();
	stopped = stop_target(target);
	before = stopped->threads[0].registers;
	assert_true(seep_stop_may_copy(stopped, &err));
	assert_int_equal(seep_stop_copy(stopped, &copy, &err), -SEEP_ESYS);
	assert_non_null(strstr(err.text, strerror(EAGAIN)));
	assert_int_equal(copy, 0);
	assert_int_equal(ptrace(PTRACE_GETREGS, target, NULL, &after), 0);
	assert_memory_equal(&before, &after, sizeof(before));
	seep_stop_release(stopped);
	uint64_t count = shared->count[0];

	WAIT_FOR(shared->count[0] > count);
	assert_int_equal(child_of(target), 0);
}

TEST(a_process_that_is_killed_amid_a_copy_leaves_nothing)
{
	for (int turn = 0; turn < 20; turn++) {
		pid_t pid = start_target(run_family), copy = 0;
		struct seep_stopped *stopped;
		int status;

		stopped = stop_target(pid);
		(void)seep_stop_may_copy(stopped, NULL);
		if (turn % 2)
			(void)kill(pid, SIGKILL);
		if (seep_stop_copy(stopped, &copy, NULL) != 0)
			assert_true(turn % 2);
		(void)kill(pid, SIGKILL);
		seep_stop_release(stopped);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(WTERMSIG(status), SIGKILL);
		seep_copy_end(copy);
		if (copy)
			WAIT_FOR(state_of(copy) == 0);
	}
}

/* The copy's tracer is a process of its own here. */
TARGET_TEST(a_tracer_that_is_killed_takes_its_copy_along, count_on)
{
	pid_t tracer = fork();
	uint64_t before;
	pid_t copy;

	if (tracer == 0) {
		shared->result = copy_and_release(stop_target(target));
		for (;;)
			(void)pause();
	}
	WAIT_FOR(shared->result);
	copy = (pid_t)shared->result;
	WAIT_FOR(state_of(copy) == 't' && state_of(target) == 'R');
	end_target(tracer);
	assert_int_equal(waitpid(copy, NULL, 0), copy); /* we are the subreaper */
	before = shared->count[0];
	WAIT_FOR(shared->count[0] > before);
}

static void run_second(void)
{
	pid_t worker;

	if (unshare(CLONE_NEWPID) < 0) {
		shared->result = -1;
		shared->ready = 1;
		return;
	}
	if (fork() != 0) {
		(void)wait(NULL);
		return;
	}
	worker = fork();
	if (worker == 0)
		count_on();
	for (;;)
		if (wait(NULL) != worker && errno != ECHILD)
			shared->count[1]++;
}

/* It has other pids there, and init of its own. */
TARGET_TEST(a_process_in_another_namespace_is_copied, run_second)
{
	pid_t first, second;

	if (shared->result < 0)
		skip();
	WAIT_FOR((first = child_of(target)) && (second = child_of(first)));
	for (uint64_t i = 1; i <= 10; i++) {
		copy_target(second);
		WAIT_FOR(shared->count[1] == i); /* its init has buried the copy */
		assert_int_equal(child_of(second), 0);
	}
	(void)kill(first, SIGKILL);
}

int main(void)
{
	numbers = mmap(NULL, NUMBERS * sizeof(*numbers), PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return unit_run(NULL, NULL);
}
