/* SPDX-License-Identifier: MIT */
/*
 * The program that a process became by exec when that has no ledger: who it is and why, as far as
 * it can be seen from outside. What is recorded then is only the program before it.
 *
 * Its path is asked for again and again from the moment that the exec may begin, because it may
 * live for less than a millisecond; its environment once it lives on.
 */
#ifndef SEEP_RECORDER_SUCCESSOR_H
#define SEEP_RECORDER_SUCCESSOR_H

#include "ledger/ledger.h"
#include "profile/profile.h"

#include <stdbool.h>
#include <stdint.h>

/* Zeroed storage is empty. Release with seep_successor_done(). One thread at a time. */
struct seep_successor {
	char *path;  /* NULL not seen */
	char *name;  /* what the kernel calls it; NULL unknown */
	char *why;   /* of its process; NULL unknown */
	bool met;    /* at an earlier look; that may have been in the middle of the exec */
	bool looked; /* at all that there is to see of its process */
};

/*
 * The process @pid, whose program was at @before as it saw it, may have become another by now.
 * Returns whether it is known which.
 */
bool seep_successor_catch(struct seep_successor *successor, const char *before, uint32_t pid);

/**
 * seep_successor_look - look at a process that lives and whose ledger has ended by exec
 * @ledger: the header of that ledger
 * @pid:    its number here
 *
 * To be called again after a while until it has looked: once is not enough, since in the middle of
 * an exec a process has no environment yet.
 */
void seep_successor_look(struct seep_successor *successor, const struct ledger_header *ledger,
			 uint32_t pid);

/* The same when it has ended and nobody has waited for it. */
void seep_successor_look_at_dead(struct seep_successor *successor,
				 const struct ledger_header *ledger, uint32_t pid);

/* Add to @successor what only @other has seen, which is empty then. */
void seep_successor_merge(struct seep_successor *successor, struct seep_successor *other);

/* "/bin/st was not recorded: it ...". Release with free(). */
char *seep_successor_text(const struct seep_successor *successor) __attribute__((returns_nonnull));

/* Add "exec-unrecorded" to profile->unseen. */
void seep_successor_explain(const struct seep_successor *successor, struct seep_profile *profile);

void seep_successor_done(struct seep_successor *successor);

#endif
