/* SPDX-License-Identifier: MIT */
/*
 * The processes of one "seep run": which ledgers belong to it, who is whose child, whose ledger
 * can be closed. No waiting and no event loop here; recorder.c drives this.
 *
 * An image is closed only after all its children, because their sums may go into its recording and
 * because their inherited rows are explained by its ledger. Small children, whose ledgers have no
 * name yet, add their sums to it, so it is not closed either while such children may live. The main
 * program's last image is the last of all and takes the sums of those whose parent is gone.
 */
#ifndef SEEP_RECORDER_SESSION_H
#define SEEP_RECORDER_SESSION_H

#include "base/error.h"
#include "base/texts.h"
#include "recorder/image.h"
#include "recorder/recorder.h"

#include <stdbool.h>
#include <stdint.h>

enum { SEEP_SESSION_STATUS_KEPT = 256 };

/* Small children may still add to a ledger so long after its process has ended. */
#define SEEP_SESSION_SMALL_NS (LEDGER_FORK_NS + UINT64_C(100000000))

/* Forked processes that run their parent's program are followed so long after they were met. */
#define SEEP_SESSION_FOLLOW_AFTER_NS UINT64_C(25000000)

struct seep_session {
	const struct seep_recorder_plan *plan; /* borrowed */
	uint32_t main_pid;
	size_t room; /* images that may have descriptors at a time; at least 1 */
	/* Something in the folder waits to be looked at by another scan; @why: it could not be. */
	bool is_behind;
	bool is_closing;      /* the main program has ended; nobody is waited for any more */
	bool waits_for_small; /* an image does, and nothing says when that is over */
	struct seep_error why;
	struct seep_texts *problems; /* sentences go there. Borrowed */
	struct seep_image *images;
	/* Statuses that came before their ledger was found. */
	struct {
		uint32_t pid;
		int wait_status;
	} statuses[SEEP_SESSION_STATUS_KEPT];
	uint32_t status_count;	/* ever kept */
	struct seep_texts kept; /* ledgers of images that are closed, which are still there */
};

/* Set the room, by the limit of descriptors, which is raised. */
void seep_session_find_room(struct seep_session *session);

/**
 * seep_session_meet - look at a file in the folder and follow it if it is a ledger of ours
 *
 * A file that is none, or another session's, or known already, is passed over in silence. One that
 * has to wait until others have ended is met by a later scan: see is_behind.
 */
void seep_session_meet(struct seep_session *session, const char *file_name);

/* The same for every file in the folder. */
void seep_session_scan(struct seep_session *session);

/*
 * Follow those forked processes that are old enough now. Returns the time of the next one,
 * UINT64_MAX for none.
 */
uint64_t seep_session_follow(struct seep_session *session, uint64_t now_ns);

/* waitpid() will give a status: what /proc still says of the process is gone after that. */
void seep_session_dying(struct seep_session *session, uint32_t pid);

/* waitpid() gave this status. */
void seep_session_ended(struct seep_session *session, uint32_t pid, int wait_status);

/*
 * In this order, because a status is there before a process counts as gone, and must not be missed:
 * look who is gone, wait for all statuses that there are, bury those who were seen gone.
 */
void seep_session_look(struct seep_session *session);
void seep_session_bury(struct seep_session *session);

/* When nobody is waited for any more: bury those elsewhere whose ledger says that they ended. */
void seep_session_bury_elsewhere(struct seep_session *session);

/*
 * An image in state DEAD whose recording can be written now, or NULL. The caller hands it to the
 * finisher.
 */
struct seep_image *seep_session_next(struct seep_session *session);

/*
 * An image that seep_session_next() gave was @recorded, or not: then the parent gets what is in
 * image->forked. Passes on to it what it gets, and releases @image, whose ledger may be kept.
 */
void seep_session_close(struct seep_session *session, struct seep_image *image, bool recorded,
			bool ledger_kept);

/* How many images live, as far as can be told, and are followed or watched for their end. */
size_t seep_session_live(const struct seep_session *session);

/*
 * The program goes on after seep has ended: stop following @image, keep its ledger and those that
 * it names. The image stays in the list, marked as left, until _done().
 */
void seep_session_leave(struct seep_session *session, struct seep_image *image);

/* The main program's image that FILE is about: the last one. NULL: there is none. */
struct seep_image *seep_session_main(struct seep_session *session);

void seep_session_done(struct seep_session *session);

#endif
