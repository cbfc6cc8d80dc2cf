/* SPDX-License-Identifier: MIT */
/*
 * The figures of a context, listed once. Structs that have them all, recordings, JSON, the page's
 * data, CSV, and what is summed, compared and checked follow from the list; what a figure is made
 * from, and where its name in another format stands, is said where that is done.
 */
#ifndef SEEP_PROFILE_FIGURES_H
#define SEEP_PROFILE_FIGURES_H

#include <stdint.h>

/* Schemas of recordings, by which lists here say since when they have something. */
enum {
	SEEP_SCHEMA_FIRST = 2, /* what is of this one is in every recording */
	SEEP_SCHEMA = 4, /* what this seep writes; not released: the next change may join it */
};

/*
 * FIGURE(name, the schema of recordings that brought it, what a recording says of it). A total of
 * the same name is the sum over all contexts.
 */
/* clang-format off */
#define SEEP_FIGURES(FIGURE) \
	FIGURE(allocs, 2, NULL) \
	FIGURE(alloc_bytes, 2, NULL) \
	FIGURE(frees, 2, NULL) \
	FIGURE(freed_bytes, 2, NULL) \
	FIGURE(live_blocks, 2, NULL) \
	FIGURE(live_bytes, 2, NULL) \
	FIGURE(peak_blocks, 2, "at the peak of the process") \
	FIGURE(peak_bytes, 2, NULL) \
	FIGURE(temporary, 2, NULL)
/* clang-format on */

enum {
#define SEEP_FIGURE_NUMBER(name, since, comment) SEEP_FIGURE_##name,
	SEEP_FIGURES(SEEP_FIGURE_NUMBER)
#undef SEEP_FIGURE_NUMBER
		SEEP_FIGURE_COUNT,
};

/* The members of a struct that has them all, each by its name, and by its number. */
#define SEEP_FIGURE_OF_CONTEXT(name, since, comment) uint64_t name;
#define SEEP_FIGURE_OF_SUM(name, since, comment) int64_t name;
#define SEEP_FIGURE_MEMBERS(type, MEMBER)        \
	union {                                  \
		struct {                         \
			SEEP_FIGURES(MEMBER)     \
		};                               \
		type figures[SEEP_FIGURE_COUNT]; \
	}

/* By number. */
extern const char *const seep_figure_names[SEEP_FIGURE_COUNT];

#endif
