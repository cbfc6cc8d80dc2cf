/* SPDX-License-Identifier: MIT */
/* The steps of the ledger loader; see ledger_load.c for their order. Not for others. */
#ifndef SEEP_PROFILE_LEDGER_PARTS_H
#define SEEP_PROFILE_LEDGER_PARTS_H

#include "ledger/ledger_view.h"
#include "profile/builder.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * The figures of a ledger: rows plus what every thread's slots hold of them, and the sums over
 * all caches. In a live ledger rows are read under their sequence; in a dead one the redo records
 * are applied first.
 */

/* One row with its slots, in what its counts stand for. Sums wrap as the ledger's counters do; see seep_ledger_mend_rows(). */
struct seep_row_sum {
	union {
		struct {
			uint64_t allocs, alloc_bytes, frees, freed_bytes, temporaries;
			uint64_t peak_blocks, peak_bytes; /* at the cut of control.peak_turn */
		};
		uint64_t sums[7];
	};
	uint64_t direct_bytes; /* allocated and freed without a slot, so at no cut */
	uint64_t direct_frees;
	uint64_t direct_freed_bytes;
	uint32_t epoch;
	uint32_t context; /* index + 1; 0: not published */
	/* Of its context: docs/internals/tiers.md. */
	uint8_t sample;
	bool is_site;
	bool is_weighted; /* then sums are of what it stands for */
};

/* A row that was read anew, and what it was before. */
struct seep_row_change {
	uint32_t row;
	uint32_t before; /* index + 1 in rows->before; 0: it had nothing */
};

struct seep_cache_sum {
	struct seep_profile_totals totals; /* what is counted by cache; the rest is 0 */
	uint64_t live_bytes;		   /* G + every sum and first */
	uint64_t usable_alloc_bytes;
	uint64_t usable_freed_bytes;
	uint64_t walks_full;
};

struct seep_rows {
	struct seep_row_sum *sums; /* by row index */
	uint64_t *sequences;	   /* by row index, as it was read */
	uint8_t *in_doubt;	   /* by row index: not 0 where no consistent reading was had */
	uint8_t *held;		   /* by row index: enum in ledger_rows.c */
	uint32_t *wanted;	   /* indices of rows to sum again */
	struct seep_row_change *changes; /* by this reading; each row once */
	uint64_t change_count;
	struct seep_row_sum *before;
	uint64_t before_count;
	uint64_t count;
	uint64_t capacity;
	uint64_t in_doubt_count;
	uint64_t *slots; /* by slot: a hash of what it had when it was looked at last */
	uint64_t slot_count;
	uint64_t turn;	 /* of the last pass */
	uint64_t halves; /* operations that were left half done, at least, or done meanwhile */
	struct seep_cache_sum caches;
	bool peak_is_now;     /* the live figures are the peak */
	bool peak_turn_moved; /* peaks are of no single moment */
};

/**
 * seep_rows_read - read all figures
 * @view: counts are taken again
 * @live: the process may be writing; else redo records are applied
 * @rows: zeroed, or of an earlier reading, whose arrays are used again
 *
 * Live, the whole is read again at most 8 times while the peak turn moves, and single rows that
 * were flushed meanwhile for at most 50 ms each time. Rows whose sequence is what it was, and of
 * which no slot has changed, keep their sums: rows->changes are the others. Never fails.
 */
void seep_rows_read(struct ledger_view *view, bool live, struct seep_rows *rows);

/* Release the arrays. */
void seep_rows_done(struct seep_rows *rows);

struct seep_ledger;

/* What a site's context gave to one of its stacks, or, negative, has given. */
struct seep_ledger_gift {
	uint32_t place; /* index + 1 */
	struct seep_row_sum sum;
};

struct seep_ledger_load {
	struct ledger_view view;
	bool live;
	struct seep_builder builder;
	struct seep_profile *profile; /* the builder's */
	struct seep_rows rows;
	uint64_t impossible;  /* figures that were written over, and count as 0 */
	uint64_t orphans;     /* rows with figures whose context cannot be had */
	uint64_t lost_stacks; /* contexts whose stack cannot be read to its end */
	uint64_t freed_more;  /* frees by rows that have no allocation for them */
	/* Over all rows, kept from reading to reading. */
	uint64_t row_allocs;
	uint64_t row_alloc_bytes;
	uint64_t direct_bytes;
	bool has_sites;
	struct seep_ledger_gift *gifts; /* by the last reading */
	size_t gift_count;
	struct seep_ledger_context {  /* by context of the profile */
		uint64_t peak_blocks; /* these wrap, too */
		uint64_t peak_bytes;
		uint32_t epoch_room; /* for so many */
		uint32_t piece;	     /* of its stack */
		uint32_t frame; /* the innermost, without calls that were inlined, + 1; 0: none */
		bool changed;
	} * contexts;
	uint64_t context_count;
	struct seep_idtable context_ids; /* of their indices */
	bool peak_was_now;
	bool any_in_doubt; /* of the contexts, by the last reading */
	struct seep_ledger_node {
		uint32_t piece; /* the builder's, equal for equal ones; 0: the root, or none yet */
		bool damaged;	/* the path to the root is not whole */
	} * nodes;
	uint64_t node_count;
	uint16_t *folded; /* by piece: the most that one of its nodes says */
	uint64_t folded_count;
	uint32_t *modules; /* by module: index in profile->modules + 1; 0 = not published yet */
	uint64_t module_count;
	struct seep_idtable module_ids;	       /* of profile->modules */
	struct ledger_finding *findings;       /* copies; see seep_ledger_copy_findings() */
	const struct seep_ledger_found *found; /* in place of the table; NULL: the table */
	uint64_t finding_count;
	uint64_t finding_room;
	uint32_t
		*scopes; /* by number less 1: index in profile->scopes + 1; 0 = not published yet */
	uint64_t scope_count;
	struct seep_idtable scope_ids; /* of profile->scopes */
};

/* The header at @map, and what it says of the process. Errors as for seep_ledger_open(). */
SEEP_NODISCARD int seep_ledger_load_begin(struct seep_ledger_load *load, const void *map,
					  uint64_t bytes, bool live, struct seep_error *err);

/*
 * A mapped file that claims more than it holds is read no further: its holes would become memory.
 * Before each reading of @ledger's figures.
 */
void seep_ledger_load_bound(struct seep_ledger_load *load, const struct seep_ledger *ledger);

/* Figures and what they are of, or again what has changed. */
void seep_ledger_load_figures(struct seep_ledger_load *load);

/* Marks and unseen, anew; then the profile is finished. */
void seep_ledger_load_notes(struct seep_ledger_load *load);

void seep_ledger_load_done(struct seep_ledger_load *load);

/* Make @array one of @wanted items at least, but of no more than 32 bits count; new ones are 0. */
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

/* What in the ledger contradicts itself, with its verb; NULL: nothing. */
const char *seep_ledger_contradiction(const struct seep_ledger_load *load);

/* Pieces from nodes, each of which is read once. Needs modules. */
void seep_ledger_load_nodes(struct seep_ledger_load *load);

/* Before the contexts that name them. */
void seep_ledger_load_scopes(struct seep_ledger_load *load);
uint32_t seep_ledger_scope(const struct seep_ledger_load *load, uint32_t number);

/* How often scopes were entered, and for how long, anew. */
void seep_ledger_load_entries(struct seep_ledger_load *load);

/* Rows by context, with stacks and epochs; needs rows and nodes. */
void seep_ledger_load_contexts(struct seep_ledger_load *load);

/* Add to the figures of the context at @place, an index + 1. Figures wrap. */
void seep_ledger_add_row(struct seep_ledger_load *load, uint32_t place,
			 const struct seep_row_sum *more);

/*
 * docs/internals/tiers.md: give each site's rest to its stacks, and say how large the errors of
 * figures are. Before rows are added anew, what was given is taken back.
 */
void seep_ledger_take_back(struct seep_ledger_load *load);
void seep_ledger_estimate(struct seep_ledger_load *load);

/* The place in the profile of the context with this index, made if it is new; 0: there is none. */
uint32_t seep_ledger_place(struct seep_ledger_load *load, uint32_t index);

/*
 * Copies of the findings, before the view's counts are taken; then, with contexts, their rows
 * become places of contexts;
 */
void seep_ledger_copy_findings(struct seep_ledger_load *load);
void seep_ledger_place_findings(struct seep_ledger_load *load);
/* with the notes they become the profile's, anew. */
void seep_ledger_load_findings(struct seep_ledger_load *load);

/* Sums over contexts and caches, the state page's counters, the bounds of the peak. */
void seep_ledger_load_totals(struct seep_ledger_load *load);

/* profile->unseen from the state, totals and contexts. Last. */
void seep_ledger_load_unseen(struct seep_ledger_load *load);

#endif
