/* SPDX-License-Identifier: MIT */
/*
 * The figures of a ledger: rows plus what every thread's slots hold of them, and the sums over
 * all caches. In a live ledger rows are read under their sequence; in a dead one the redo records
 * are applied first. Used by the loader only.
 */
#ifndef SEEP_PROFILE_LEDGER_ROWS_H
#define SEEP_PROFILE_LEDGER_ROWS_H

#include "ledger/ledger_view.h"
#include "profile/profile.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * One row with its slots. Sums wrap like the counters in the ledger; see seep_ledger_mend_rows().
 */
struct seep_row_sum {
	uint64_t allocs;
	uint64_t alloc_bytes;
	uint64_t frees;
	uint64_t freed_bytes;
	uint64_t temporaries;
	int64_t peak_blocks; /* at the cut that control.peak_turn names */
	int64_t peak_bytes;
	uint64_t direct_bytes; /* allocated and freed without a slot, so at no cut */
	uint64_t direct_frees;
	uint64_t direct_freed_bytes;
	uint32_t epoch;
	uint32_t context; /* index + 1; 0: not published */
};

/* A row that was read anew, and what it was before. */
struct seep_row_change {
	uint32_t row;
	uint32_t before; /* index + 1 in rows->before; 0: it had nothing */
};

struct seep_cache_sum {
	struct seep_profile_totals totals; /* what is counted by cache; the rest is 0 */
	int64_t live_bytes;		   /* G + every sum and first */
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
	size_t change_capacity;
	uint64_t change_count;
	struct seep_row_sum *before;
	size_t before_capacity;
	uint64_t before_count;
	uint64_t count;
	uint64_t capacity;
	uint64_t in_doubt_count;
	uint64_t *slots; /* by slot: a hash of what it had when it was looked at last */
	uint64_t slot_count;
	uint64_t turn;	 /* of the last pass */
	uint64_t halves; /* not live: operations that were left half done, at least */
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

#endif
