/* SPDX-License-Identifier: MIT */
/*
 * The tables of a recording: one list, from which they are created, filled, read and checked.
 *
 * A table or a column that a later schema adds says so (since) and what stands for it where a file
 * has none (fallback); nothing is ever taken away or changed in meaning. SEEP_RECORDING_VERSION is
 * raised for that, and older seeps then refuse the file. Totals have their list in
 * profile/total_fields.h.
 */
#ifndef SEEP_RECORDING_RECORDING_SCHEMA_H
#define SEEP_RECORDING_RECORDING_SCHEMA_H

#include "base/strbuf.h"
#include "profile/builder.h"

#include <stdint.h>

enum {
	SEEP_SCHEMA_FIRST = 2, /* what is of this one is in every recording */
	SEEP_SCHEMA = 3, /* what this seep writes; not released: the next change may join it */
};

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
};

enum seep_table_id {
	SEEP_TABLE_PROCESS,
	SEEP_TABLE_ARGV,
	SEEP_TABLE_CHILD,
	SEEP_TABLE_KIND,
	SEEP_TABLE_MODULE,
	SEEP_TABLE_FRAME,
	SEEP_TABLE_SEGMENT,
	SEEP_TABLE_CONTEXT,
	SEEP_TABLE_EPOCH,
	SEEP_TABLE_MARK,
	SEEP_TABLE_SAMPLE,
	SEEP_TABLE_UNSEEN,
	SEEP_TABLE_TOTAL,
	SEEP_TABLE_HISTOGRAM,
	SEEP_TABLE_FORKED,
	SEEP_TABLE_RUN,
	SEEP_TABLE_OTHER_PROCESS,
	SEEP_TABLE_SCAN,
	SEEP_TABLE_SCAN_SKIPPED,
	SEEP_TABLE_SCAN_CAVEAT,
	SEEP_TABLE_SUPPRESSION,
	SEEP_TABLE_VERDICT,
	SEEP_TABLE_LEAK,
	SEEP_TABLE_LEAK_BLOCK,
	SEEP_TABLE_LEAK_LINK,
	SEEP_TABLE_GROWTH,
	SEEP_TABLE_COUNT,
};
extern const struct seep_sql_table seep_sql_tables[SEEP_TABLE_COUNT];

struct seep_process_row {
	struct seep_profile_process process;
	const char *ended;
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

struct seep_epoch_row {
	uint32_t context;
	struct seep_profile_epoch epoch;
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

void seep_sql_create(const struct seep_sql_table *table, struct seep_strbuf *sql);
void seep_sql_insert(const struct seep_sql_table *table, struct seep_strbuf *sql);

/* @present: a bit for each column that the file has. */
void seep_sql_select(const struct seep_sql_table *table, uint64_t present, struct seep_strbuf *sql);

extern const char seep_recording_views_sql[];

#endif
