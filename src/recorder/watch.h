/* SPDX-License-Identifier: MIT */
/*
 * Following one ledger: a thread that sleeps on the ledger's attention futex, takes samples in
 * between, advances the automatic epochs, and answers the process at its end.
 *
 * One thread per followed process, because a process that ends waits for its answer: it must not
 * queue behind another one whose recording is being written, and a futex cannot be polled together
 * with descriptors.
 */
#ifndef SEEP_RECORDER_WATCH_H
#define SEEP_RECORDER_WATCH_H

#include "analysis/growth.h"
#include "base/error.h"
#include "recorder/leak_check.h"
#include "recorder/outside.h"
#include "profile/ledger_file.h"
#include "recorder/successor.h"
#include "recorder/timeline.h"

struct seep_watch;

/*
 * A watch that does not follow yet. @ledger: writable; moved into the watch. @reachable: in our PID
 * namespace. @leak_check: what to look for at the process's end; NULL: nothing. Borrowed.
 * @growth_after_ns: as for seep_growth_new(); 0: growth is not looked for. End with
 * seep_watch_stop().
 */
struct seep_watch *seep_watch_new(struct seep_ledger *ledger, bool reachable,
				  const struct seep_leak_check_plan *leak_check,
				  uint64_t growth_after_ns) __attribute__((returns_nonnull));

/**
 * seep_watch_follow - register as the recorder of a watch's ledger and follow it from now on
 *
 * How long the process waits for its answer at most is its own affair (exit_wait_ms).
 *
 * Returns: 0, or -SEEP_ESYS (no thread to be had).
 */
SEEP_NODISCARD int seep_watch_follow(struct seep_watch *watch, struct seep_error *err);

/* Borrowed; fields that do not change (name, header) may be read at any time. */
const struct seep_ledger *seep_watch_ledger(const struct seep_watch *watch);

/* What a watch has gathered. Release with seep_watch_result_done(). */
struct seep_watch_result {
	struct seep_timeline timeline;
	struct seep_growth_list growth;
	uint64_t peak_rss_bytes; /* 0 unknown */
	int perf_map_fd;	 /* of the process's perf map; -1 none */
	struct seep_outside
		outside; /* of seep_watch_result_now(): without bindings, children_why */
	/* Of a process that ended by exec, and lived on; of seep_watch_result_now(): empty. */
	struct seep_successor successor;
	/*
	 * Of its end; NULL: there was none, and no_leak_scan says why (code 0: it was not asked
	 * for).
	 */
	struct seep_leak_scan *leak_scan;
	struct seep_error no_leak_scan;
	int death; /* of who was traced, and killed by a signal: its status as of wait(); else 0 */
};

void seep_watch_result_done(struct seep_watch_result *result);

/* Is something GROWING that no result said? */
bool seep_watch_has_grown(const struct seep_watch *watch);

/* What has been gathered so far, a copy; the watch goes on. */
void seep_watch_result_now(struct seep_watch *watch, struct seep_watch_result *ret_result);

/**
 * seep_watch_stop - end the thread, if there is one, and give back what it gathered
 * @dead: the process is gone: one last sample of the ledger is taken. Otherwise it goes on without
 *        a recorder: it is let go at once should it be waiting, and will not wait at its end
 * @ret_result: all is set; to successor is added what was seen in life
 */
void seep_watch_stop(struct seep_watch *watch, bool dead, struct seep_watch_result *ret_result);

#endif
