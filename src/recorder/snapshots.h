/* SPDX-License-Identifier: MIT */
/*
 * Recordings of processes that go on running: when the next ones are due, what they are called, and
 * which are removed again. They are written by the finisher, in turn with all other recordings, so
 * that one cache of symbols serves all; a process is left out while its last one is under way.
 */
#ifndef SEEP_RECORDER_SNAPSHOTS_H
#define SEEP_RECORDER_SNAPSHOTS_H

#include "recorder/finish.h"
#include "recorder/recorder.h"

struct seep_snapshots;

/* @plan: borrowed; with snapshot_every_ns = 0 none is ever due. */
struct seep_snapshots *seep_snapshots_new(const struct seep_recorder_plan *plan)
	__attribute__((returns_nonnull));

/* After the finisher. NULL is a no-op. */
void seep_snapshots_free(struct seep_snapshots *snapshots);

/* When the next ones are due; UINT64_MAX: never. */
uint64_t seep_snapshots_next_ns(const struct seep_snapshots *snapshots);

/* Whether some are due now; if so, the time of the next ones is set. */
bool seep_snapshots_due(struct seep_snapshots *snapshots);

/**
 * seep_snapshots_begin - a job for the finisher
 * @like:     as for the process's end; its owner is alive and followed, and must outlive the job
 * @due:      false: nothing is written, only a profile is made
 *
 * Returns: a job with snapshot set, to be handed back to seep_snapshots_end(); NULL: it is left
 * out, because the finisher has no room, the last one of this name is still being written, or
 * twice its size is not free.
 */
struct seep_finish_job *seep_snapshots_begin(struct seep_snapshots *snapshots,
					     const struct seep_finish_job *like, bool due);

/* Note what was written, remove the oldest beyond the limit, release @job. */
void seep_snapshots_end(struct seep_snapshots *snapshots, struct seep_finish_job *job);

/*
 * What was written, and what went wrong: one line for each kind of failure, however often it
 * happened, before the other problems.
 */
void seep_snapshots_result(const struct seep_snapshots *snapshots,
			   struct seep_recorder_result *result);

#endif
