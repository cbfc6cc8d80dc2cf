/* SPDX-License-Identifier: MIT */
/* What a recorded run came to: recordings, what still runs, and what there is to say about it. */
#ifndef SEEP_RECORDER_RECORDER_RESULT_H
#define SEEP_RECORDER_RECORDER_RESULT_H

#include "base/texts.h"
#include "profile/profile.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct seep_finish_job;

struct seep_recorder_result {
	int wait_status;	      /* the main program's */
	struct seep_profile *profile; /* the main program's; NULL when there is none */
	bool recorded;		      /* FILE is written */
	uint32_t leak_verdicts; /* of all processes with a recording: bits of enum seep_verdict */
	bool has_findings;	/* of those: some that are not suppressed */
	uint64_t stop_allocs;	/* of that process which has the most by the plan's stop_hash */
	uint64_t growing_count; /* of all processes: contexts that are or were GROWING */
	bool gave_up; /* interrupted while recordings were written; the writer still runs */
	char *folder; /* of the others' recordings */
	struct seep_profile_other *others;
	size_t other_count;
	struct seep_profile *lead; /* of the one with the largest peak; NULL: FILE's is */
	char *lead_path;	   /* its recording */
	struct seep_profile_forked small_forks; /* of all processes, those without a recording */
	/* What processes without a recording became: "PROGRAM was not recorded: why"; how often. */
	struct seep_texts unrecorded;
	size_t unrecorded_count;
	size_t unwritten_count;	    /* other processes whose recording could not be made */
	struct seep_texts leaky;    /* recordings of other processes that have leaks */
	struct seep_texts misused;  /* and findings that are not suppressed */
	size_t unscanned_count;	    /* of other processes that have a recording */
	struct seep_texts left;	    /* processes that go on: "PID   # EXE" */
	struct seep_texts problems; /* sentences */
	struct seep_texts notes;    /* sentences about what went well */
};

/* Release all that it holds; zeroed again. */
void seep_recorder_result_done(struct seep_recorder_result *result);

/* A recording of another process was written. */
void seep_recorder_add_other(struct seep_recorder_result *result,
			     const struct seep_finish_job *job);

/* When all recordings are written: read the one with the largest peak, unless that is FILE. */
void seep_recorder_find_lead(struct seep_recorder_result *result);

/**
 * seep_run_sum - fill run and others of @profile, the main program's
 * @others: copied
 * @forked: forks of all processes that have no recording
 */
void seep_run_sum(struct seep_profile *profile, const struct seep_profile_other *others,
		  uint32_t count, const struct seep_profile_forked *forked);

/* Say in @profile, the main program's, what was not recorded of others, and is in no sum. */
void seep_run_explain(struct seep_profile *profile, const struct seep_recorder_result *run);

/* "2 processes without a recording called exec: ..."; NULL: none did. Release with free(). */
char *seep_run_unrecorded(const struct seep_recorder_result *run);

#endif
