/* SPDX-License-Identifier: MIT */
/* What a recorded run came to: recordings, what still runs, and what there is to say about it. */
#ifndef SEEP_RECORDER_RECORDER_RESULT_H
#define SEEP_RECORDER_RECORDER_RESULT_H

#include "base/error.h"
#include "profile/profile.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct seep_recorder_file {
	char *path;
	char *exe;
	uint32_t pid;
	uint64_t allocs; /* of a recording; else 0 */
	uint64_t peak_bytes;
};

struct seep_recorder_list {
	struct seep_recorder_file *items;
	size_t count;
	size_t capacity;
};

struct seep_recorder_result {
	int wait_status;		    /* the main program's */
	struct seep_profile *profile;	    /* the main program's; NULL when there is no account */
	bool recorded;			    /* FILE is written */
	struct seep_recorder_list children; /* recordings of other processes */
	struct seep_recorder_list left;	    /* processes that go on; path is their ledger */
	char **problems;		    /* sentences */
	size_t problem_count;
	size_t problem_capacity;
	char **notes; /* sentences about what went well */
	size_t note_count;
	size_t note_capacity;
};

/* Release all that it holds; zeroed again. */
void seep_recorder_result_done(struct seep_recorder_result *result);

void seep_recorder_add_problem(struct seep_recorder_result *result, const struct seep_error *err);
void seep_recorder_add_note(struct seep_recorder_result *result, const char *fmt, ...)
	SEEP_PRINTF(2, 3);

/* @path becomes the list's, @exe is copied. Returns the new item, valid until the next one. */
struct seep_recorder_file *seep_recorder_list_add(struct seep_recorder_list *list, char *path,
						  const char *exe, uint32_t pid);

#endif
