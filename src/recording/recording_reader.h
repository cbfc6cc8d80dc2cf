/* SPDX-License-Identifier: MIT */
/*
 * Reading the tables of a recording. Used by the loader only.
 *
 * Rows are read in the order of their ids, which must be 1, 2, 3 ... where others refer to them:
 * then a reference is checked by one comparison. How many rows there may be, and what texts and
 * stacks may take together, is bounded by what the file holds, so that one piece of it cannot be
 * handed out a million times.
 */
#ifndef SEEP_RECORDING_RECORDING_READER_H
#define SEEP_RECORDING_RECORDING_READER_H

#include "profile/profile.h"
#include "recording/recording_db.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct seep_reader_segment;

struct seep_reader {
	struct sqlite3 *db;
	struct seep_profile *profile;
	struct seep_error *err;
	sqlite3_stmt *statement; /* at the present row */
	uint64_t held_bytes;	 /* of the file, holes left out */
	uint64_t text_left;	 /* bytes */
	bool impossible;	 /* seep_reader_figure() met a number that is none */
	void *items;		 /* of the table that is being read */
	size_t item_capacity;
	uint32_t item_count;
	struct seep_reader_segment *segments;
	size_t segment_capacity;
	uint32_t segment_count;
	struct seep_profile_stack_entry *entries; /* of all segments */
	size_t entry_capacity;
	size_t entry_count;
	uint64_t stack_entries; /* of all stacks so far */
	bool stacks_cut;
	uint64_t totals_found; /* a bit for each of seep_recording_totals */
};

/* Called for each row; what it returns below 0 ends the reading. */
typedef int (*seep_reader_row)(struct seep_reader *l);

/* How one table is read. */
struct seep_reader_table {
	const char *sql;
	uint32_t rows_max; /* -SEEP_ELIMIT at more */
	seep_reader_row row;
	/*
	 * Where the items that @row added go in struct seep_profile: offsets of the array and of its
	 * count (uint32_t). SEEP_READER_INTO() fills them in. Without, @finish deals with the items.
	 */
	size_t item_bytes;
	size_t items_at;
	size_t count_at;
	int (*finish)(struct seep_reader *l); /* when all rows were read; may be NULL */
};

#define SEEP_READER_INTO(type, items, count)                                          \
	.item_bytes = sizeof(type), .items_at = offsetof(struct seep_profile, items), \
	.count_at = offsetof(struct seep_profile, count)

/* One table after the other; ends at the first that fails. */
SEEP_NODISCARD int seep_reader_tables(struct seep_reader *l, const struct seep_reader_table *tables,
				      size_t count);

/* -SEEP_ECORRUPT, with @what is wrong. */
SEEP_NODISCARD int seep_reader_damaged(struct seep_reader *l, const char *what);

/* Columns of the present row. */
uint64_t seep_reader_number(struct seep_reader *l, int column);
/* A count or a size, never negative: else 0, and the table is refused after the row. */
uint64_t seep_reader_figure(struct seep_reader *l, int column);
bool seep_reader_flag(struct seep_reader *l, int column);
bool seep_reader_is_null(struct seep_reader *l, int column);

/* A number that must not be larger than @max; larger ones are replaced by 0. */
uint32_t seep_reader_small(struct seep_reader *l, int column, uint32_t max);

/* Copied to the profile. NULL for NULL, and when all texts together are longer than the file. */
char *seep_reader_text(struct seep_reader *l, int column);
char *seep_reader_text_or_empty(struct seep_reader *l, int column);

/* Room for one more item of @bytes, zeroed; valid until the next. */
void *seep_reader_add(struct seep_reader *l, size_t bytes);

/* The items, moved to the profile; their number goes to *@ret_count. */
void *seep_reader_take(struct seep_reader *l, size_t bytes, uint32_t *ret_count);

/* Forget the items. */
void seep_reader_drop(struct seep_reader *l);

/* Modules, frames, segments, contexts and epochs, in this order of reference. */
SEEP_NODISCARD int seep_reader_stacks(struct seep_reader *l);

#endif
