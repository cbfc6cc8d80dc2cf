/* SPDX-License-Identifier: MIT */
/*
 * One program image of the session: what one ledger is about. A process has several one after
 * another when it calls exec; each has a ledger of its own.
 */
#ifndef SEEP_RECORDER_IMAGE_H
#define SEEP_RECORDER_IMAGE_H

#include "profile/profile.h"
#include "profile/ledger_file.h"
#include "recorder/watch.h"

#include <stdbool.h>
#include <stdint.h>

enum seep_image_state {
	SEEP_IMAGE_LIVE,
	SEEP_IMAGE_DEAD,      /* gone, its recording is still to be written */
	SEEP_IMAGE_FINISHING, /* handed to the finisher */
};

struct seep_image {
	struct seep_image *next;
	struct seep_image *parent; /* NULL: none, or recorded already */
	char *file_name;	   /* of the ledger, in the session's folder */
	char *exe;		   /* path */
	char *parent_name;	   /* ledger of the fork parent, "" none */
	uint32_t pid;
	uint32_t ppid;
	uint64_t start_ticks; /* as seen from here, if it lived when it was met */
	uint64_t created_ns;  /* tells images of one process apart; file names come again */
	bool is_fork;
	bool is_main; /* of the process that was started; not necessarily its last image */
	bool followed;
	bool reachable;	  /* in our PID namespace: its death can be seen */
	bool replaced;	  /* a later image of the same process has come */
	bool left;	  /* goes on after us, without a recorder */
	bool keep_ledger; /* a process that goes on names it as an ancestor */
	bool has_small;	  /* small children may still add to its ledger */
	bool gone;	  /* seen by seep_session_look() */
	enum seep_image_state state;
	uint64_t dead_ns;	  /* when it was found to be gone */
	int pidfd;		  /* -1 none */
	struct seep_watch *watch; /* NULL when not followed, or stopped */
	uint64_t follow_at_ns;	  /* 0: its watch follows it, or there is none */
	char *output; /* its recording's name, once that is settled; not of a main image */

	bool has_status;
	int wait_status;
	struct seep_watch_result gathered;
	/* From children whose end came first. */
	struct seep_profile_forked forked;
	uint32_t *children;
	size_t child_count;
};

/* Takes what @ledger's header says; @ledger stays the caller's. */
struct seep_image *seep_image_new(const struct seep_ledger *ledger)
	__attribute__((returns_nonnull));

/* NULL is a no-op. A watch that still runs is stopped as of a dead process. */
void seep_image_free(struct seep_image *image);

void seep_image_add_child(struct seep_image *image, uint32_t pid);

/* What its parent's recording gets of a fork that has none. */
struct seep_profile_forked seep_forked_of(const struct seep_profile_other *share);

/* Has the process ended (or been replaced) as far as can be told now? */
bool seep_image_is_gone(const struct seep_image *image);

/*
 * Of a process that is not reachable, whose death nobody sees: does its ledger say that it ended?
 * It may still be busy with what runs at its end.
 */
bool seep_image_says_ended(const struct seep_image *image);

#endif
