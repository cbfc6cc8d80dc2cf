/* SPDX-License-Identifier: MIT */
/*
 * Making the recording: load the ledger of a process that is gone, add what was seen from outside,
 * symbolise, write the recording, remove the ledger. In a thread of its own, one job at a time,
 * because reading symbols takes longer than a process at its end should wait.
 */
#ifndef SEEP_RECORDER_FINISH_H
#define SEEP_RECORDER_FINISH_H

#include "recorder/image.h"
#include "recorder/recorder.h"

#include <stdbool.h>
#include <stdint.h>

struct seep_finisher;

struct seep_finish_job {
	/*
	 * What to do. The finisher owns none of this; the plans of its jobs have the same symbols.
	 */
	const struct seep_recorder_plan *plan;
	struct seep_image image; /* a copy: its ledger, and what was seen of it */
	const char *output;	 /* its recording; NULL: none, only its profile is asked for */
	int output_fd;		 /* the folder of the run's recording, or AT_FDCWD */
	const char *folder;	 /* in that, for this one, made if it is not there; NULL: none */
	bool snapshot;		 /* the ledger is left as it is: its process may go on */
	/*
	 * The snapshots that it is one of: nothing is written of a process that has ended; or NULL.
	 */
	struct seep_snapshot_ring *ring;
	bool keep_small;   /* a recording, however few allocations there were */
	bool keep_profile; /* give the profile back */
	const struct seep_recorder_result *run; /* what to sum up of the others; NULL: nothing */
	struct seep_image *owner;		/* the caller's */

	/* What came of it. */
	bool recorded;
	uint32_t leak_verdicts; /* bits of enum seep_verdict */
	bool has_findings;	/* that are not suppressed */
	uint64_t stop_allocs;	/* by the plan's stop_hash */
	bool unscanned;		/* a leak check was asked for, and could not be made */
	bool became_unrecorded; /* by exec it became a program that was not recorded */
	struct seep_profile_other share;
	struct seep_profile_forked forked; /* children without a ledger, which its own counts */
	bool is_summed; /* small, and counted in its parent's ledger: nothing more is to be done */
	struct seep_profile *profile; /* the caller's */
	struct seep_error err;	      /* code 0 = all went well */
};

/* Returns: 0, or -SEEP_ESYS. */
SEEP_NODISCARD int seep_finisher_new(struct seep_finisher **ret_finisher, struct seep_error *err);

/* Readable when a job is done. */
int seep_finisher_fd(const struct seep_finisher *finisher);

/*
 * Is there room for another job? Otherwise put it when one has been taken. One thread asks and
 * puts.
 */
bool seep_finisher_has_room(void);

/* @job stays the caller's and must not be touched until _take gives it back. */
void seep_finisher_put(struct seep_finisher *finisher, struct seep_finish_job *job);

/* A job that is done, in the order given; NULL when none is. */
struct seep_finish_job *seep_finisher_take(struct seep_finisher *finisher);

/* Has every job been taken? Threads: any. */
bool seep_finisher_is_idle(void);

/*
 * From here on every ledger that is there stays, whatever becomes of its recording: this process is
 * about to end and does not wait for the jobs. Neither the finisher nor what its jobs borrow may be
 * released any more.
 */
void seep_finisher_give_up(void);

/* Waits for all jobs, which are lost. NULL is a no-op. */
void seep_finisher_free(struct seep_finisher *finisher);

/* One job, now, in this thread. */
void seep_finish(struct seep_finish_job *job);

#endif
