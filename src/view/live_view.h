/* SPDX-License-Identifier: MIT */
/* The texts of a line of "seep top", for its screens and its tables alike. */
#ifndef SEEP_VIEW_LIVE_VIEW_H
#define SEEP_VIEW_LIVE_VIEW_H

#include "analysis/live_tags.h"
#include "base/text.h"
#include "base/units.h"
#include "base/xalloc.h"

enum { SEEP_SPARK_BYTES = SEEP_GROWTH_RECENT * 3 + 1 };

struct seep_live_texts {
	struct seep_estimate_text live;
	struct seep_unit_text share, change, allocs, frees, blocks, age;
	char spark[SEEP_SPARK_BYTES]; /* live bytes of the last readings */
	const char *verdict;	      /* "GROWING", "STALE" or "" */
	char *name;		      /* of the function to blame; not escaped, nor is the place */
	char *place;		      /* "src/load.c:12" */
};

/*
 * The texts of @count lines of one table, whose names are told apart, in new memory. @utf8: block
 * characters in the spark, else ASCII.
 */
struct seep_live_texts *seep_live_table(const struct seep_live *live,
					const struct seep_live_line *lines, uint32_t count,
					bool utf8);
void seep_live_table_free(struct seep_live_texts *table, uint32_t count);

/*
 * A line of figures and the tag, in columns that are always as wide, wider for @estimates; NULL: the
 * headings.
 */
char *seep_tag_line(const struct seep_live_tag *tag, bool estimates) SEEP_RETURNS_MEMORY;

/* What of a tag or scope is old, no further off than all that it holds. */
struct seep_estimate_text seep_tag_old_text(const struct seep_scope_sums *sums);

/* What OLD means there, to free(); NULL: nothing is known of it. */
char *seep_tags_old(const struct seep_live_tag *tags, uint32_t count);

/* The name of the function to blame; "(no stack)" where there is none. */
char *seep_live_name_text(const struct seep_live_process *process,
			  uint32_t context) SEEP_RETURNS_MEMORY;

/* The verdict that is to be shown, by its name; "" for none, and for what was given back. */
const char *seep_live_verdict(const struct seep_live_line *line);

/* Append a line for each finding of the current processes: what was done, where, and to what. */
void seep_live_findings(const struct seep_live *live, struct seep_lines *lines);

/* Bars from the least to the most of @values into @ret, at most SEEP_SPARK_BYTES. */
void seep_spark(const uint64_t values[SEEP_GROWTH_RECENT], bool utf8, char *ret);

#endif
