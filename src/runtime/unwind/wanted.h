/* SPDX-License-Identifier: MIT */
/*
 * What rules forked children lacked. A child's rules are a copy of its parent's, and what it finds
 * out dies with it: each of a thousand children of a shell would make the same rules. So a child
 * that has no ledger notes the program counters where its parent reads them before the next fork.
 * The parent makes the rules itself, from what is mapped there in its own memory.
 */
#ifndef SEEP_RUNTIME_WANTED_H
#define SEEP_RUNTIME_WANTED_H

#include "runtime/rt.h"

enum { RT_WANTED_MAX = 376 };

/* Behind the state, in its page. Written by children. A ring: what is not read in time is lost. */
struct rt_wanted {
	_Atomic uint64_t count; /* ever noted */
	uint64_t spare[7];
	_Atomic uint64_t pc[RT_WANTED_MAX];
};

/* Where this process notes what it lacked; NULL: nowhere. */
extern RT_HIDDEN struct rt_wanted *rt_wanted;

/* In the page of a ledger's @state, as it is mapped. */
static inline struct rt_wanted *rt_wanted_of(struct ledger_state *state)
{
	_Static_assert(LEDGER_STATE_OWN_OFFSET >= sizeof(*state) &&
			       LEDGER_STATE_OWN_OFFSET + sizeof(struct rt_wanted) <=
				       LEDGER_PAGE_BYTES,
		       "one page for both");
	return (struct rt_wanted *)((char *)state + LEDGER_STATE_OWN_OFFSET);
}

/* This process made the rule for the return address @pc. */
RT_COLD void rt_wanted_note(uintptr_t pc);

/* Has anything been noted in our ledger since rt_wanted_learn()? */
bool rt_wanted_has_news(void);

/* Make the rules. In bookkeeping. */
RT_COLD void rt_wanted_learn(void);

/* In a forked child that is not young any more. */
void rt_wanted_forked(void);

#endif
