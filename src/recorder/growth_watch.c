/* SPDX-License-Identifier: MIT */
#include "recorder/growth_watch.h"

#include "base/clock.h"
#include "base/procfs.h"
#include "base/xalloc.h"
#include "core/bits.h"
#include "profile/ledger_live.h"

#include <pthread.h>
#include <stdlib.h>

enum {
	LOOKS = 60,	  /* in the time that a verdict needs, */
	LOOKS_LEAST = 24, /* if the processor's time allows, but no fewer than these */
	COST_SHARE = 100, /* a look may take 1/100 of the time */
	YOUNG_SHARE = 10, /* of the time that a verdict needs: nothing is read before */
	INTERVAL_LEAST_MS = 5,
};

struct seep_growth_watch {
	const struct seep_ledger *ledger;
	struct seep_ledger_live *live; /* NULL: not yet, or no more */
	pthread_mutex_t lock;	       /* leaf; for growth, of which others want the list */
	struct seep_growth *growth;
	uint64_t after_ns;
	uint64_t next_ns; /* UINT64_MAX: never */
	_Atomic bool *news;
};

struct seep_growth_watch *seep_growth_watch_new(const struct seep_ledger *ledger, uint64_t after_ns,
						_Atomic bool *news)
{
	struct seep_growth_watch *watch = seep_xcalloc(1, sizeof(*watch));

	watch->ledger = ledger;
	watch->news = news;
	(void)pthread_mutex_init(&watch->lock, NULL);
	watch->growth = seep_growth_new(after_ns);
	watch->after_ns = after_ns;
	/* By our clock: a time namespace may have another. */
	watch->next_ns = seep_monotonic_ns() + after_ns / YOUNG_SHARE;
	return watch;
}

void seep_growth_watch_free(struct seep_growth_watch *watch)
{
	if (!watch)
		return;
	seep_ledger_live_close(watch->live);
	seep_growth_free(watch->growth);
	(void)pthread_mutex_destroy(&watch->lock);
	free(watch);
}

/* By its descriptor: the file may have been moved or removed meanwhile. */
static int refresh(struct seep_growth_watch *watch)
{
	if (watch->live)
		return seep_ledger_live_refresh(watch->live, NULL);
	return seep_ledger_live_open(seep_procfs_fd(watch->ledger->fd).text, &watch->live, NULL);
}

/* For who lists processes, and who watches one. */
static void publish(struct seep_growth_watch *watch, uint64_t now_ns)
{
	struct seep_growth_list list = seep_growth_list(watch->growth);
	struct ledger_control *control = watch->ledger->control;

	atomic_store_explicit(&control->growing_bytes_per_hour, list.sum.bytes_per_hour,
			      memory_order_relaxed);
	atomic_store_explicit(&control->growing_contexts, list.sum.contexts, memory_order_relaxed);
	atomic_store_explicit(&control->growth_known, list.after_ns != 0, memory_order_relaxed);
	seep_ledger_growth_write(control, &list, now_ns);
	atomic_store_explicit(watch->news, list.news, memory_order_relaxed);
	seep_growth_list_done(&list);
}

static void look(struct seep_growth_watch *watch, uint64_t now_ns)
{
	const uint64_t began_ns = seep_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	uint64_t interval_ns, cost_ns;

	if (refresh(watch) < 0) {
		watch->next_ns = UINT64_MAX;
		return;
	}
	(void)pthread_mutex_lock(&watch->lock);
	seep_growth_observe(watch->growth, seep_ledger_live_profile(watch->live), now_ns);
	publish(watch, now_ns);
	(void)pthread_mutex_unlock(&watch->lock);
	cost_ns = seep_clock_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns;
	interval_ns =
		core_larger(watch->after_ns / LOOKS,
			    core_smaller(cost_ns * COST_SHARE, watch->after_ns / LOOKS_LEAST));
	watch->next_ns = seep_monotonic_ns() +
			 core_larger(interval_ns, INTERVAL_LEAST_MS * SEEP_NS_PER_MS);
}

uint64_t seep_growth_watch_look(struct seep_growth_watch *watch, uint64_t now_ns)
{
	if (now_ns >= watch->next_ns)
		look(watch, now_ns);
	return watch->next_ns;
}

void seep_growth_watch_look_last(struct seep_growth_watch *watch, uint64_t now_ns)
{
	if (watch->live && watch->next_ns != UINT64_MAX)
		look(watch, now_ns);
}

struct seep_growth_list seep_growth_watch_list(struct seep_growth_watch *watch)
{
	struct seep_growth_list list;

	(void)pthread_mutex_lock(&watch->lock);
	list = seep_growth_list(watch->growth);
	seep_growth_tell(watch->growth, &list);
	atomic_store_explicit(watch->news, false, memory_order_relaxed);
	(void)pthread_mutex_unlock(&watch->lock);
	return list;
}
