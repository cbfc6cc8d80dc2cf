/* SPDX-License-Identifier: MIT */
/* The steps of the ledger loader; see ledger_load.c for their order. Not for others. */
#ifndef SEEP_PROFILE_LEDGER_PARTS_H
#define SEEP_PROFILE_LEDGER_PARTS_H

#include "ledger/ledger_view.h"
#include "profile/ledger_rows.h"
#include "profile/profile.h"

#include <stdbool.h>

struct seep_arena;

struct seep_ledger_load {
	struct ledger_view view;
	bool live;
	struct seep_profile *profile;
	struct seep_arena *scratch;
	struct seep_rows rows;
	uint64_t impossible; /* figures that were written over, and count as 0 */
};

/* Header, state, modules and marks. Every string that is out of bounds is left out. */
void seep_ledger_load_process(struct seep_ledger_load *load);
void seep_ledger_load_modules(struct seep_ledger_load *load);
void seep_ledger_load_marks(struct seep_ledger_load *load);

/* See to it that of every row no more was freed than allocated, and that all rows can be summed. */
void seep_ledger_mend_rows(struct seep_ledger_load *load);

/* @value, or 0 where it is no figure that a program reaches. */
uint64_t seep_ledger_figure(struct seep_ledger_load *load, uint64_t value);

/* Rows by context, with stacks and epochs; needs modules and rows. */
void seep_ledger_load_contexts(struct seep_ledger_load *load);

/* Sums over contexts and caches, the state page's counters, the bounds of the peak. */
void seep_ledger_load_totals(struct seep_ledger_load *load);

/* profile->unseen from the state, totals and contexts. Last. */
void seep_ledger_load_unseen(struct seep_ledger_load *load);

#endif
