/* SPDX-License-Identifier: MIT */
/* The steps of the ledger loader; see ledger_load.c for their order. Not for others. */
#ifndef SEEP_PROFILE_LEDGER_PARTS_H
#define SEEP_PROFILE_LEDGER_PARTS_H

#include "ledger/ledger_view.h"
#include "profile/builder.h"
#include "profile/ledger_rows.h"

#include <stdbool.h>

struct seep_ledger_load {
	struct ledger_view view;
	bool live;
	struct seep_builder builder;
	struct seep_profile *profile; /* the builder's */
	struct seep_rows rows;
	uint64_t impossible; /* figures that were written over, and count as 0 */
	struct seep_ledger_nodes {
		uint32_t *pieces; /* by node: its piece of the builder; 0 = not met yet */
		uint8_t *damaged; /* by node: the path to the root is not whole */
		uint16_t *folded; /* by node: frames that repeats of entries up to it stand for */
		uint64_t count;
		uint32_t *path; /* nodes whose pieces are being made */
		size_t path_capacity;
	} nodes;
	struct seep_ledger_contexts {
		uint32_t *places;   /* by context: index in profile->contexts + 1; 0 = left out */
		uint8_t *described; /* by context: enum in ledger_contexts.c */
		uint64_t count;
	} contexts;
	uint8_t *marks_taken; /* by mark: it is in the profile */
	uint64_t mark_count;
};

/* The header at @map, and what it says of the process. Errors as for seep_ledger_open(). */
SEEP_NODISCARD int seep_ledger_load_begin(struct seep_ledger_load *load, const void *map,
					  uint64_t bytes, bool live, struct seep_error *err);

/* All the rest but unseen, or again what has changed. */
void seep_ledger_load_figures(struct seep_ledger_load *load);

void seep_ledger_load_done(struct seep_ledger_load *load);

/* Make @array one of @count items, the new ones zeroed. */
void *seep_ledger_grow(void *array, uint64_t old_count, uint64_t count, size_t item_bytes)
	__attribute__((returns_nonnull, warn_unused_result));

/* @string, cut to @bytes_max; NULL when it is out of bounds. */
char *seep_ledger_text(struct seep_ledger_load *load, struct ledger_string string,
		       uint32_t bytes_max);

/* What does not change while a process runs. */
void seep_ledger_load_process(struct seep_ledger_load *load);

/* How it ended, modules and marks. */
void seep_ledger_load_end(struct seep_ledger_load *load);
void seep_ledger_load_modules(struct seep_ledger_load *load);
void seep_ledger_load_marks(struct seep_ledger_load *load);

/* See to it that of every row no more was freed than allocated, and that all rows can be summed. */
void seep_ledger_mend_rows(struct seep_ledger_load *load);

/* @value, or 0 where it is no figure that a program reaches. */
uint64_t seep_ledger_figure(struct seep_ledger_load *load, uint64_t value);

/**
 * seep_ledger_stack - the builder's piece for the path from node @leaf to the root
 * @ret_piece: 0 = no frames
 *
 * Nodes are hostile: each is read once, a loop is cut where it closes, and a node that is not
 * published ends its stack. Needs modules.
 *
 * Returns: false when the path was damaged; the part that could be read is there.
 */
bool seep_ledger_stack(struct seep_ledger_load *load, uint32_t leaf, uint32_t *ret_piece);

/* Rows by context, with stacks and epochs; needs modules and rows. */
void seep_ledger_load_contexts(struct seep_ledger_load *load);

/* Sums over contexts and caches, the state page's counters, the bounds of the peak. */
void seep_ledger_load_totals(struct seep_ledger_load *load);

/* profile->unseen from the state, totals and contexts. Last. */
void seep_ledger_load_unseen(struct seep_ledger_load *load);

#endif
