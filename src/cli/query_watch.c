/* SPDX-License-Identifier: MIT */
#include "cli/query_watch.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/xalloc.h"

enum { GRACE_NS = 500 * 1000 * 1000, LOOK_NS_MIN = 50 * 1000 * 1000 };

struct seep_query_watch {
	uint64_t limit_ns;
	uint64_t began_ns; /* on @clock */
	clockid_t clock;
	void (*end)(void *context);
	void *context;
	pthread_t thread;
	bool has_thread;
	pthread_mutex_t mutex; /* of stop */
	pthread_cond_t changed;
	bool stop;
};

static uint64_t used_ns(const struct seep_query_watch *watch)
{
	return seep_clock_ns(watch->clock) - watch->began_ns;
}

/* Until a moment of the monotonic clock, or until the watch is stopped. */
static void wait_ns(struct seep_query_watch *watch, uint64_t ns)
{
	uint64_t until = seep_clock_ns(CLOCK_MONOTONIC) + ns;
	const struct timespec moment = { .tv_sec = (time_t)(until / SEEP_NS_PER_S),
					 .tv_nsec = (long)(until % SEEP_NS_PER_S) };

	(void)pthread_cond_timedwait(&watch->changed, &watch->mutex, &moment);
}

/* Processor time never runs faster than real time, so what is left can be slept. */
static void *watch_on(void *opaque)
{
	struct seep_query_watch *watch = opaque;
	const uint64_t limit_ns = watch->limit_ns + GRACE_NS;

	(void)pthread_mutex_lock(&watch->mutex);
	while (!watch->stop) {
		uint64_t used = used_ns(watch);

		if (used >= limit_ns)
			watch->end(watch->context);
		else
			wait_ns(watch,
				limit_ns - used > LOOK_NS_MIN ? limit_ns - used : LOOK_NS_MIN);
	}
	(void)pthread_mutex_unlock(&watch->mutex);
	return NULL;
}

/* Signals are for the thread that works. */
static void start_thread(struct seep_query_watch *watch)
{
	sigset_t all;
	sigset_t old;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &old);
	watch->has_thread = pthread_create(&watch->thread, NULL, watch_on, watch) == 0;
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
}

struct seep_query_watch *seep_query_watch_start(uint64_t limit_ns, void (*end)(void *context),
						void *context)
{
	struct seep_query_watch *watch = seep_xcalloc(1, sizeof(*watch));
	pthread_condattr_t monotonic;

	/* So that sums with it do not overflow; 2^62 ns are 146 years. */
	watch->limit_ns = limit_ns < UINT64_C(1) << 62 ? limit_ns : UINT64_C(1) << 62;
	watch->end = end;
	watch->context = context;
	if (pthread_getcpuclockid(pthread_self(), &watch->clock) != 0)
		watch->clock = CLOCK_MONOTONIC;
	watch->began_ns = seep_clock_ns(watch->clock);
	(void)pthread_mutex_init(&watch->mutex, NULL);
	(void)pthread_condattr_init(&monotonic);
	(void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&watch->changed, &monotonic);
	(void)pthread_condattr_destroy(&monotonic);
	if (limit_ns > 0)
		start_thread(watch);
	return watch;
}

bool seep_query_watch_expired(const struct seep_query_watch *watch)
{
	return watch->limit_ns > 0 && used_ns(watch) >= watch->limit_ns;
}

void seep_query_watch_stop(struct seep_query_watch *watch)
{
	if (!watch)
		return;
	if (watch->has_thread) {
		(void)pthread_mutex_lock(&watch->mutex);
		watch->stop = true;
		(void)pthread_cond_signal(&watch->changed);
		(void)pthread_mutex_unlock(&watch->mutex);
		(void)pthread_join(watch->thread, NULL);
	}
	(void)pthread_cond_destroy(&watch->changed);
	(void)pthread_mutex_destroy(&watch->mutex);
	free(watch);
}
