/* SPDX-License-Identifier: MIT */
/*
 * The tables of a recording: one list, from which they are created, filled, read and checked.
 *
 * A table or a column that a later schema adds says so (since) and what stands for it where a file
 * has none (fallback); nothing is ever taken away or changed in meaning. SEEP_RECORDING_VERSION is
 * raised for that, and older seeps then refuse the file. Contexts' figures have their list in
 * profile/figures.h, with the numbers of schemas, totals in profile/total_fields.c.
 */
#ifndef SEEP_RECORDING_RECORDING_SCHEMA_H
#define SEEP_RECORDING_RECORDING_SCHEMA_H

#include "base/strbuf.h"
#include "profile/builder.h"

#include <stdbool.h>
#include <stdint.h>

/* What a column is in its row's struct. Numbers that do not fit become 0, but for ids. */
enum seep_sql_type {
	SEEP_COLUMN_ORDINAL,  /* nothing: the row's number, 1, 2, 3 ..., checked */
	SEEP_COLUMN_INDEX,    /* the same from 0 */
	SEEP_COLUMN_POSITION, /* the same, and only the order counts */
	SEEP_COLUMN_COUNT,    /* uint64_t below 2^63: it sums, and is never negative */
	SEEP_COLUMN_NUMBER,   /* uint64_t; from 2^63 on, the negative number of the same bits */
	SEEP_COLUMN_U32,
	SEEP_COLUMN_U8,	      /* above max: 0 */
	SEEP_COLUMN_FLAG,     /* bool */
	SEEP_COLUMN_ID,	      /* uint32_t, NULL for 0; what does not fit is UINT32_MAX */
	SEEP_COLUMN_STATUS,   /* int, 0 to 255; NULL for -1 */
	SEEP_COLUMN_TEXT,     /* char *, may be NULL */
	SEEP_COLUMN_NAME,     /* char *, "" for NULL */
	SEEP_COLUMN_PASSING,  /* const char *, "" for NULL; read, it is gone with the next row */
	SEEP_COLUMN_BUILD_ID, /* build_id of struct seep_profile_module, and its length */
	SEEP_COLUMN_CONTENTS, /* contents of struct seep_profile_leak_block, and its length */
};

struct seep_sql_column {
	const char *name;
	const char *comment;  /* stays in the file; NULL: none */
	const char *fallback; /* SQL, where a column that was added later is missing; NULL: NULL */
	size_t offset;
	enum seep_sql_type type;
	uint8_t max;
	uint8_t since; /* 0: in every recording */
};

struct seep_sql_table {
	const char *name;
	const char *comment;
	const struct seep_sql_column *columns; /* the keys come first; rows are in their order */
	uint8_t column_count;
	uint8_t key_count;
	uint8_t since;
	uint32_t rows_max;
	size_t row_bytes;
	enum seep_array array; /* of a profile, whose items the rows are; or SEEP_ARRAY_COUNT */
	size_t place;	       /* else of the rows_max structs in a profile that they are; or 0 */
};

/*
 * TABLE(id, name, keys, the most rows, a row, where it stands in a profile, since, comment). Tables
 * are written and read in this order: rows refer to what stands before them.
 */
/* clang-format off */
#define SEEP_TABLES(TABLE) \
	TABLE(PROCESS, process, 1, 1, struct seep_process_row, OWN, 0, NULL) \
	TABLE(ARGV, argv, 1, SEEP_ROWS_MAX, char *, ITEMS(ARGV), 0, NULL) \
	TABLE(CHILD, child, 1, SEEP_ROWS_MAX, uint32_t, ITEMS(CHILDREN), 0, NULL) \
	TABLE(KIND, kind, 1, SEEP_ROWS_MAX, char *, OWN, 0, NULL) \
	TABLE(SCOPE, scope, 1, 1u << 14, struct seep_profile_scope, ITEMS(SCOPES), \
	      4, "a tag under those that were open when it was opened") \
	TABLE(SCOPE_DURATION, scope_duration, 2, SEEP_ROWS_MAX, struct seep_duration_row, OWN, \
	      4, "for how long scopes were open") \
	TABLE(MODULE, module, 1, 1u << 20, struct seep_profile_module, ITEMS(MODULES), 0, NULL) \
	TABLE(FRAME, frame, 1, 1u << 27, struct seep_profile_frame, ITEMS(FRAMES), 0, NULL) \
	TABLE(SEGMENT, segment, 1, 1u << 28, struct seep_segment_row, OWN, \
	      0, "a piece of stacks that no other stack leaves or joins") \
	TABLE(CONTEXT, context, 1, 1u << 26, struct seep_context_row, OWN, \
	      0, "all allocations by one call stack") \
	TABLE(EPOCH, epoch, 2, 1u << 28, struct seep_epoch_row, OWN, \
	      0, "live blocks by when they were allocated") \
	TABLE(ESTIMATE, estimate, 1, 1u << 26, struct seep_estimate_row, OWN, \
	      4, "how far figures may be off, in 95 of 100 cases; 0: not at all") \
	TABLE(MARK, mark, 1, SEEP_ROWS_MAX, struct seep_profile_mark, ITEMS(MARKS), \
	      0, "begins an epoch") \
	TABLE(SAMPLE, sample, 1, SEEP_ROWS_MAX, struct seep_profile_sample, ITEMS(SAMPLES), \
	      0, NULL) \
	TABLE(UNSEEN, unseen, 1, SEEP_ROWS_MAX, struct seep_profile_unseen, ITEMS(UNSEEN), \
	      0, NULL) \
	TABLE(TOTAL, total, 1, SEEP_ROWS_MAX, struct seep_total_row, OWN, 0, NULL) \
	TABLE(HISTOGRAM, histogram, 1, SEEP_PROFILE_HISTOGRAM_BUCKETS, uint64_t, \
	      FIELD(totals.histogram), 0, NULL) \
	TABLE(FORKED, forked, 1, 1, struct seep_profile_forked, FIELD(forked), \
	      0, "children too small for a recording of their own, summed") \
	TABLE(RUN, run, 1, 1, struct seep_profile_run, FIELD(run), \
	      3, "all processes of the run together; 0 processes: it was alone") \
	TABLE(OTHER_PROCESS, other_process, 1, SEEP_ROWS_MAX, struct seep_profile_other, \
	      ITEMS(OTHERS), 3, "of the run, with a recording of its own") \
	TABLE(SCAN, scan, 1, 1, struct seep_profile_scan, FIELD(scan), 3, "the leak scan") \
	TABLE(SCAN_SKIPPED, scan_skipped, 1, SEEP_ROWS_MAX, struct seep_profile_range, \
	      ITEMS(SKIPPED), 3, "memory that the scan did not look at") \
	TABLE(SCAN_CAVEAT, scan_caveat, 1, SEEP_ROWS_MAX, char *, ITEMS(CAVEATS), \
	      3, "why verdicts may be wrong") \
	TABLE(SUPPRESSION, suppression, 1, SEEP_ROWS_MAX, struct seep_profile_suppression, \
	      ITEMS(SUPPRESSIONS), 3, NULL) \
	TABLE(VERDICT, verdict, 1, SEEP_ROWS_MAX, struct seep_verdict_row, OWN, 3, NULL) \
	TABLE(LEAK, leak, 1, 1u << 26, struct seep_leak_row, OWN, \
	      3, "blocks of one call that fared alike in the leak scan") \
	TABLE(LEAK_BLOCK, leak_block, 2, 1u << 28, struct seep_leak_block_row, OWN, \
	      3, "the first blocks of leaks") \
	TABLE(LEAK_LINK, leak_link, 2, 1u << 28, struct seep_leak_link_row, OWN, \
	      3, "the pointers that lead to the first block of a leak") \
	TABLE(GROWTH, growth, 1, 1u << 26, struct seep_growth_row, OWN, \
	      3, "what was seen of contexts in time") \
	TABLE(FINDING, finding, 1, SEEP_ROWS_MAX, struct seep_profile_finding, OWN, \
	      4, "what was done wrong with blocks, worst first")
/* clang-format on */

enum { SEEP_ROWS_MAX = 1 << 22 }; /* of a table that stands for itself */

#define SEEP_TABLE_NUMBER(id, ...) SEEP_TABLE_##id,
enum seep_table_id { SEEP_TABLES(SEEP_TABLE_NUMBER) SEEP_TABLE_COUNT };
extern const struct seep_sql_table seep_sql_tables[SEEP_TABLE_COUNT];

struct seep_process_row {
	struct seep_profile_process process;
	const char *ended;
	const char *origin;
	int status_code;
	int status_signal;
	bool argv_known;
	bool symbolised;
	const char *seep_version;
	uint64_t growth_after_ns;
	uint32_t schema; /* of the seep that wrote the file */
};

struct seep_segment_row {
	uint32_t parent;
	const char *frames;
};

struct seep_context_row {
	struct seep_profile_context context; /* but for its stack and its epochs */
	uint32_t frame;
	uint32_t leaf;
};

struct seep_duration_row {
	uint32_t scope; /* index + 1 */
	uint32_t bucket;
	uint64_t exits;
};

struct seep_epoch_row {
	uint32_t context;
	struct seep_profile_epoch epoch;
};

struct seep_estimate_row {
	uint32_t context; /* id; 0: of the totals */
	SEEP_FIGURE_MEMBERS(uint64_t, SEEP_FIGURE_OF_CONTEXT);
};

struct seep_total_row {
	const char *name;
	uint64_t value;
};

struct seep_verdict_row {
	const char *name;
	const char *meaning;
	bool is_leak;
};

struct seep_leak_row {
	struct seep_profile_leak leak; /* but for its context, its chain and its blocks */
	uint32_t context;	       /* id */
};

struct seep_leak_block_row {
	uint32_t leak; /* index + 1 */
	uint32_t position;
	struct seep_profile_leak_block block;
};

struct seep_leak_link_row {
	uint32_t leak;
	uint32_t step;
	struct seep_profile_link link;
};

struct seep_growth_row {
	uint32_t context; /* id */
	struct seep_profile_growth growth;
};

/* Are its rows what stands in a profile, as it is? */
static inline bool seep_sql_has_place(const struct seep_sql_table *table)
{
	return table->array != SEEP_ARRAY_COUNT || table->place;
}

void seep_sql_create(const struct seep_sql_table *table, struct seep_strbuf *sql);
void seep_sql_insert(const struct seep_sql_table *table, struct seep_strbuf *sql);

/* @present: a bit for each column that the file has. */
void seep_sql_select(const struct seep_sql_table *table, uint64_t present, struct seep_strbuf *sql);

extern const char seep_recording_views_sql[];

#endif
