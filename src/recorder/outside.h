/* SPDX-License-Identifier: MIT */
/*
 * What a process does past us, as far as it can be seen from outside while it lives: calls of
 * allocation functions that lead elsewhere, and memory that malloc cannot account for.
 */
#ifndef SEEP_RECORDER_OUTSIDE_H
#define SEEP_RECORDER_OUTSIDE_H

#include "profile/profile.h"
#include "ledger/ledger.h"
#include "target/bindings.h"

#include <stdbool.h>
#include <stdint.h>

/* Zeroed storage is empty. Release with seep_outside_done(). One thread at a time. */
struct seep_outside {
	struct seep_bindings bindings;
	bool looked;	    /* somebody did, while it was there */
	int refused;	    /* SEEP_E* of the last look, 0 when it succeeded or there was none */
	bool missed;	    /* it ended before anybody could look */
	char *children_why; /* they had no ledger; NULL unknown, or they had one */

	uint64_t malloc_bytes; /* the most that malloc was ever seen to hold */
	/* When resident memory exceeded that by most: */
	uint64_t excess_bytes;
	uint64_t anon_bytes;
	uint64_t anon_malloc_bytes; /* malloc_bytes then */
};

/* Where do the calls of this process lead now? 0: it cannot be named from here. */
void seep_outside_look(struct seep_outside *outside, uint32_t pid);

/* Why have forks of this process no ledger? At its end, when it is waiting for us. */
void seep_outside_look_at_children(struct seep_outside *outside, const struct ledger_header *ledger,
				   uint32_t pid);

/*
 * @held:       what the next allocator holds for the live blocks now
 * @anon_bytes: resident anonymous memory of the process now
 */
void seep_outside_sample(struct seep_outside *outside, const struct ledger_state *state,
			 uint64_t held, uint64_t anon_bytes);

/* Add to profile->unseen what there is to say of a process whose ledger is whole. */
void seep_outside_explain(const struct seep_outside *outside, struct seep_profile *profile);

void seep_outside_done(struct seep_outside *outside);

#endif
