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
	/* Over all rows, kept from reading to reading. */
	uint64_t row_allocs;
	uint64_t row_alloc_bytes;
	uint64_t direct_bytes;
	/* By context of the profile: what its peaks are made from, and room for so many epochs. */
	struct seep_ledger_peak {
		int64_t blocks;
		int64_t bytes;
		uint32_t epoch_room;
		bool changed;
	} * peaks;
	uint64_t peak_count;
	bool peak_was_now;
	bool any_in_doubt; /* of the contexts, by the last reading */
	struct seep_ledger_node {
		uint32_t piece; /* of the builder; 0 = not published yet, or the root */
		bool damaged;	/* the path to the root is not whole */
	} * nodes;
	uint64_t node_count;
	uint32_t *places; /* by context: index in profile->contexts + 1; 0 = not there */
	uint64_t place_count;
};

/* The header at @map, and what it says of the process. Errors as for seep_ledger_open(). */
SEEP_NODISCARD int seep_ledger_load_begin(struct seep_ledger_load *load, const void *map,
					  uint64_t bytes, bool live, struct seep_error *err);

/* Figures and what they are of, or again what has changed. */
void seep_ledger_load_figures(struct seep_ledger_load *load);

/* Marks and unseen, anew; then the profile is finished. */
void seep_ledger_load_notes(struct seep_ledger_load *load);

void seep_ledger_load_done(struct seep_ledger_load *load);

/*
 * Make @array one of @wanted items at least, but no more than 32 bits count, the new ones zeroed.
 */
void *seep_ledger_grow(void *array, uint64_t *count, uint64_t wanted, size_t item_bytes)
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

/* Pieces from nodes, each of which is read once. Needs modules. */
void seep_ledger_load_nodes(struct seep_ledger_load *load);

/**
 * seep_ledger_stack - the builder's piece for the path from node @leaf to the root
 * @ret_piece: 0 = no frames
 *
 * Returns: false when the path was damaged; the part that could be read is there.
 */
bool seep_ledger_stack(struct seep_ledger_load *load, uint32_t leaf, uint32_t *ret_piece);

/*
 * Set the repeats of @context's stack, whose innermost node is @leaf. A node says how much was
 * folded up to it in the deepest of all stacks through it; of those that reach @leaf none is deeper
 * than
 * @leaf says. So all repeats together make the deepest of them, and no deeper one.
 */
void seep_ledger_count_repeats(struct seep_ledger_load *load, uint32_t leaf,
			       struct seep_profile_context *context);

/* Rows by context, with stacks and epochs; needs rows and nodes. */
void seep_ledger_load_contexts(struct seep_ledger_load *load);

/* Sums over contexts and caches, the state page's counters, the bounds of the peak. */
void seep_ledger_load_totals(struct seep_ledger_load *load);

/* profile->unseen from the state, totals and contexts. Last. */
void seep_ledger_load_unseen(struct seep_ledger_load *load);

#endif
