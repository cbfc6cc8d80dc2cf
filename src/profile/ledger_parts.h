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
};

/* Header, state, modules and marks. Every string that is out of bounds is left out. */
void seep_ledger_load_process(struct seep_ledger_load *load);
void seep_ledger_load_modules(struct seep_ledger_load *load);
void seep_ledger_load_marks(struct seep_ledger_load *load);

/* Rows by context, with stacks and epochs; needs modules and rows. */
void seep_ledger_load_contexts(struct seep_ledger_load *load);

/* Sums over contexts and caches, the state page's counters, the bounds of the peak. */
void seep_ledger_load_totals(struct seep_ledger_load *load);

/* profile->unseen from the state, totals and contexts. Last. */
void seep_ledger_load_unseen(struct seep_ledger_load *load);

#endif
