/* SPDX-License-Identifier: MIT */
/*
 * Closing an account: load the ledger of a process that is gone, add what was seen from outside,
 * symbolise, write the recording, remove the ledger. In a thread of its own, one job at a time,
 * because reading symbols takes longer than a process at its end should wait.
 */
#ifndef SEEP_RECORDER_FINISH_H
#define SEEP_RECORDER_FINISH_H

#include "base/error.h"
#include "profile/profile.h"
#include "symbol/symbol.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Forks without exec that have fewer allocations get no file of their own. */
enum { SEEP_FINISH_SMALL_ALLOCS = 1000 };

struct seep_finisher;
struct seep_outside;

struct seep_finish_job {
	struct seep_finish_job *next;

	/* What to do. The finisher owns none of this. */
	bool snapshot;	   /* the ledger is left as it is: its process may go on */
	bool only_running; /* nothing is written of a process that has ended */
	const char *ledger_dir;
	int ledger_dir_fd;
	const char *ledger_name;
	const char *output;
	const char *folder;	   /* that output lies in, made if it is not there; NULL: it is */
	bool replace;		   /* an output that is there already */
	bool keep_small;	   /* a recording, however few allocations there were */
	bool keep_ledger;	   /* others name it */
	bool keep_profile;	   /* give the profile back... */
	uint64_t keep_above_bytes; /* ...or do so if its peak is larger; UINT64_MAX: not */
	bool no_argv;
	const struct seep_symbols_options
		*symbols; /* the same for all jobs of a finisher; or NULL */
	bool replaced;	  /* ended by exec */
	bool has_status;
	int wait_status;
	uint64_t peak_rss_bytes;
	int perf_map_fd;			/* -1 none */
	const struct seep_outside *outside;	/* NULL: nobody looked */
	const struct seep_successor *successor; /* should it have ended by exec */
	const struct seep_profile_sample *timeline;
	uint32_t sample_count;
	const struct seep_profile_forked *forked;
	const uint32_t *children;
	uint32_t child_count;
	bool sum_run; /* it is the main program's: add up all processes of the run, which are: */
	const struct seep_profile_other *others;
	uint32_t other_count;
	const struct seep_profile_forked *small_forks; /* of all of them */
	void *owner;				       /* the caller's */

	/* What came of it. */
	bool recorded;
	struct seep_profile_other share;
	struct seep_profile *profile; /* the caller's */
	struct seep_error err;	      /* code 0 = all went well */
};

/* Returns: 0, or -SEEP_ESYS. */
SEEP_NODISCARD int seep_finisher_new(struct seep_finisher **ret_finisher, struct seep_error *err);

/* Readable when a job is done. */
int seep_finisher_fd(const struct seep_finisher *finisher);

/* @job stays the caller's and must not be touched until _take gives it back. */
void seep_finisher_put(struct seep_finisher *finisher, struct seep_finish_job *job);

/* A job that is done, in the order given; NULL when none is. */
struct seep_finish_job *seep_finisher_take(struct seep_finisher *finisher);

/* The same, but wait for one; NULL when none is under way. */
struct seep_finish_job *seep_finisher_wait(struct seep_finisher *finisher);

/* Waits for the job under way, leaves the others undone. NULL is a no-op. */
void seep_finisher_free(struct seep_finisher *finisher);

/* One job, now, in this thread. */
void seep_finish(struct seep_finish_job *job);

#endif
