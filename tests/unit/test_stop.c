/* SPDX-License-Identifier: MIT */
/* Stopping a process: all of it, whatever it does, and it goes on as if nothing had been. */
#include "stop_target.h"
#include "unit.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>

enum { THREADS = TARGET_COUNTS };

/* ---- threads ------------------------------------------------------------------------------ */

static void *spin(void *argument)
{
	_Atomic uint64_t *count = argument;

	shared->ready++;
	while (!shared->stop) {
		free(malloc(*count % 1000));
		(*count)++;
	}
	return NULL;
}

static void run_spinners(void)
{
	pthread_t threads[THREADS];

	shared->ready = 1 - THREADS;
	for (int i = 0; i < THREADS; i++)
		(void)pthread_create(&threads[i], NULL, spin, &shared->count[i]);
	for (int i = 0; i < THREADS; i++)
		(void)pthread_join(threads[i], NULL);
}

static uint64_t sum(void)
{
	uint64_t all = 0;

	for (int i = 0; i < THREADS; i++)
		all += shared->count[i];
	return all;
}

/* Threads that are there and not stopped. */
static size_t unanswered(const struct seep_stopped *stopped)
{
	size_t count = 0;

	for (size_t i = 0; i < stopped->thread_count; i++)
		count += !stopped->threads[i].stopped && !stopped->threads[i].gone;
	return count;
}

TARGET_TEST(all_threads_stop_and_go_on, run_spinners)
{
	for (int turn = 0; turn < 10; turn++) {
		struct seep_stopped *stopped = stop_target(target);
		uint64_t before = sum();

		assert_int_equal(stopped->thread_count, THREADS + 1);
		assert_int_equal(unanswered(stopped), 0);
		assert_int_equal(stopped->threads[0].tid, target);
		for (size_t i = 0; i < stopped->thread_count; i++) {
			assert_true(stopped->threads[i].stopped);
			assert_true(stopped->threads[i].registers.rsp != 0);
			/* One that waits has none that count. */
			if ((long long)stopped->threads[i].registers.orig_rax < 0)
				assert_true(stopped->threads[i].vector_count >= 64);
			else
				assert_null(stopped->threads[i].vectors);
		}
		nap();
		assert_int_equal(sum(), before);
		seep_stop_release(stopped);
		WAIT_FOR(sum() > before);
	}
}

/* Each thread starts its successor and ends. */
static void *relay(void *argument)
{
	pthread_attr_t attributes;
	pthread_t next;

	shared->count[(intptr_t)argument]++;
	(void)pthread_attr_init(&attributes);
	(void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	while (pthread_create(&next, &attributes, relay, argument) != 0)
		(void)sched_yield();
	return NULL;
}

static void run_relays(void)
{
	for (intptr_t i = 0; i < 8; i++)
		(void)relay((void *)i);
	shared->ready = 1;
	for (;;)
		(void)pause();
}

TARGET_TEST(threads_that_come_and_go_are_all_met, run_relays)
{
	for (int turn = 0; turn < 100; turn++) {
		struct seep_stopped *stopped = stop_target(target);
		uint64_t before = sum();

		assert_int_equal(unanswered(stopped), 0);
		for (int i = 0; i < 100; i++)
			(void)sched_yield();
		assert_int_equal(sum(), before);
		seep_stop_release(stopped);
		WAIT_FOR(sum() > before + 100);
	}
}

static void *wait_for_ever(void *argument)
{
	const pthread_t *first = argument;

	if (pthread_join(*first, NULL) == 0)
		shared->ready = 1;
	return spin(&shared->count[0]);
}

static void run_without_first_thread(void)
{
	static pthread_t first, other;

	first = pthread_self();
	(void)pthread_create(&other, NULL, wait_for_ever, &first);
	pthread_exit(NULL);
}

TARGET_TEST(a_process_whose_first_thread_ended_is_stopped, run_without_first_thread)
{
	struct seep_stopped *stopped;

	WAIT_FOR(state_of(target) == 'Z');
	stopped = stop_target(target);
	assert_int_equal(stopped->thread_count, 1);
	assert_true(stopped->threads[0].tid != target);
	assert_true(stopped->threads[0].stopped);
	seep_stop_release(stopped);
	WAIT_FOR(shared->count[0] > 1000);
}

static void run_vfork(void)
{
	shared->ready = 1;
	if (vfork() == 0) {
		while (!shared->stop)
			nap();
		_exit(0);
	}
	shared->count[1] = 1;
	for (;;)
		(void)pause();
}

static void *stop_a_vfork(void *argument)
{
	pid_t pid = *(pid_t *)argument;
	struct seep_stopped *stopped = stop_target(pid);

	assert_int_equal(stopped->thread_count, 1);
	assert_int_equal(unanswered(stopped), 1);
	assert_false(stopped->threads[0].stopped);
	seep_stop_release(stopped);
	return NULL;
}

/* In a thread of its own, at whose end the kernel lets go. */
TARGET_TEST(a_thread_that_cannot_stop_is_left_and_goes_on_later, run_vfork)
{
	pthread_t tracer;

	WAIT_FOR(state_of(target) == 'D' || state_of(target) == 'S');
	assert_int_equal(pthread_create(&tracer, NULL, stop_a_vfork, &target), 0);
	assert_int_equal(pthread_join(tracer, NULL), 0);
	assert_int_equal(shared->count[1], 0);
	shared->stop = 1;
	WAIT_FOR(shared->count[1]);
}

/* ---- stop signals ------------------------------------------------------------------------- */

static void run_one_spinner(void)
{
	(void)spin(&shared->count[0]);
}

TARGET_TEST(a_process_that_was_stopped_stays_so, run_one_spinner)
{
	struct seep_stopped *stopped;
	uint64_t before;
	int status;

	assert_int_equal(kill(target, SIGSTOP), 0);
	assert_int_equal(waitpid(target, &status, WUNTRACED), target);
	stopped = stop_target(target);
	assert_int_equal(unanswered(stopped), 0);
	seep_stop_release(stopped);
	WAIT_FOR(state_of(target) == 'T');
	before = shared->count[0];
	nap();
	assert_int_equal(shared->count[0], before);
	assert_int_equal(state_of(target), 'T');
	assert_int_equal(kill(target, SIGCONT), 0);
	WAIT_FOR(shared->count[0] > before);
}

TARGET_TEST(a_stop_signal_that_comes_meanwhile_has_its_effect, run_one_spinner)
{
	struct seep_stopped *stopped = stop_target(target);

	assert_int_equal(kill(target, SIGSTOP), 0);
	seep_stop_release(stopped);
	WAIT_FOR(state_of(target) == 'T');
	stopped = stop_target(target);
	assert_int_equal(kill(target, SIGCONT), 0);
	seep_stop_release(stopped);
	WAIT_FOR(state_of(target) == 'R');
}

/* ---- signals ------------------------------------------------------------------------------ */

static void count_signal(int number)
{
	(void)number;
	shared->signals++;
}

static void run_counter(void)
{
	const struct sigaction action = { .sa_handler = count_signal };

	(void)sigaction(SIGRTMIN, &action, NULL);
	shared->ready = 1;
	for (;;)
		shared->count[0]++;
}

TARGET_TEST(every_signal_arrives_once, run_counter)
{
	int sent = 0;

	for (int turn = 0; turn < 300; turn++) {
		struct seep_stopped *stopped;

		/* In time before the stop, within, and after: of these none may be merged. */
		for (int i = turn % 3; i > 0; i--, sent++)
			assert_int_equal(sigqueue(target, SIGRTMIN, (union sigval){ 0 }), 0);
		stopped = stop_target(target);
		assert_int_equal(sigqueue(target, SIGRTMIN, (union sigval){ 0 }), 0);
		sent++;
		if (turn % 5 == 0)
			seep_stop_let(stopped, &stopped->threads[0], 100000);
		assert_int_equal(sigqueue(target, SIGRTMIN, (union sigval){ 0 }), 0);
		sent++;
		seep_stop_release(stopped);
	}
	WAIT_FOR(shared->signals >= sent);
	assert_int_equal(shared->signals, sent);
}

TEST(a_process_that_is_killed_meanwhile_ends)
{
	for (int turn = 0; turn < 20; turn++) {
		pid_t pid = start_target(run_spinners);
		struct seep_stopped *stopped;
		int status;

		if (turn % 2)
			assert_int_equal(kill(pid, SIGKILL), 0);
		if (seep_stop(pid, &stopped, NULL) == 0) {
			(void)kill(pid, SIGKILL);
			seep_stop_release(stopped);
		}
		/* Its status is for us as its parent, and was not taken. */
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status));
		assert_int_equal(WTERMSIG(status), SIGKILL);
	}
}

/* ---- one thread alone --------------------------------------------------------------------- */

TARGET_TEST(one_thread_is_let_run_alone, run_spinners)
{
	struct seep_stopped *stopped = stop_target(target);
	uint64_t before[THREADS];
	int moved = 0;

	assert_int_equal(stopped->thread_count, THREADS + 1);
	for (int i = 0; i < THREADS; i++)
		before[i] = shared->count[i];
	for (int i = 0; i < 100 && !moved; i++) {
		seep_stop_let(stopped, &stopped->threads[5], 1000000);
		assert_true(stopped->threads[5].stopped);
		for (int j = 0; j < THREADS; j++)
			moved += shared->count[j] != before[j];
	}
	assert_int_equal(moved, 1);
	assert_int_equal(unanswered(stopped), 0);
	seep_stop_release(stopped);
}
