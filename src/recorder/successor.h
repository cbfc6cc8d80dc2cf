/* SPDX-License-Identifier: MIT */
/*
 * The program that a process became by exec when that has no ledger: who it is and why, as far as
 * it can be seen from outside. What is recorded then is only the program before it.
 */
#ifndef SEEP_RECORDER_SUCCESSOR_H
#define SEEP_RECORDER_SUCCESSOR_H

#include "ledger/ledger.h"
#include "profile/profile.h"

#include <stdbool.h>
#include <stdint.h>

/* Zeroed storage is empty. Release with seep_successor_done(). One thread at a time. */
struct seep_successor {
	char *name; /* its path, or what the kernel calls it; NULL unknown */
	char *why;  /* NULL unknown */
	bool met;   /* at an earlier look; that may have been in the middle of the exec */
};

/**
 * seep_successor_look - look at a process that lives and whose ledger has ended by exec
 * @ledger: the header of that ledger
 * @pid:    its number here
 *
 * To be called again after a while until there is a name, which comes with all that there is to see:
 * once is not enough, since in the middle of an exec a process has no environment yet.
 */
void seep_successor_look(struct seep_successor *successor, const struct ledger_header *ledger,
			 uint32_t pid);

/* The same when it has ended and nobody has waited for it; what is known already stays. */
void seep_successor_look_at_dead(struct seep_successor *successor,
				 const struct ledger_header *ledger, uint32_t pid);

/* Add "exec-unrecorded" to profile->unseen. */
void seep_successor_explain(const struct seep_successor *successor, struct seep_profile *profile);

void seep_successor_done(struct seep_successor *successor);

#endif
