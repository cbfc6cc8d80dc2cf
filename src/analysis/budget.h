/* SPDX-License-Identifier: MIT */
/*
 * Budgets: what a process may allocate, as people write it.
 *
 *	[PLACE:GLOB:]MEASURE<LIMIT	or <=
 *
 *	peak<24MB			bytes at the process's peak
 *	function:parse_*:allocs<=10k	call stacks that pass through a function
 *	own-module:libfoo.so*:live<1MB	whose function to blame is in a module
 *	live<+5%			5 per cent more than the baseline at most; also +1MB, +10k
 *
 * The last '<' and the last ':' before it separate, so names may hold both.
 */
#ifndef SEEP_ANALYSIS_BUDGET_H
#define SEEP_ANALYSIS_BUDGET_H

#include "base/error.h"
#include "base/units.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* clang-format off */
/* Constant, name, whether it is bytes, what it counts. */
#define SEEP_BUDGET_MEASURES(M)									\
	M(PEAK,		"peak",		true,	"bytes that were live at the peak of the process") \
	M(LIVE,		"live",		true,	"bytes that were live at the end")		\
	M(BLOCKS,	"blocks",	false,	"blocks that were live at the end")		\
	M(LOST,		"lost",		true,	"bytes of leaks")				\
	M(LEAKS,	"leaks",	false,	"leaks")					\
	M(GROWTH,	"growth",	true,	"bytes by which call stacks grew that were GROWING") \
	M(ALLOCS,	"allocs",	false,	"allocations")					\
	M(ALLOCATED,	"allocated",	true,	"bytes of all allocations together")		\
	M(TEMPORARY,	"temporary",	false,	"temporary allocations")
/* clang-format on */

enum seep_budget_measure {
#define M(constant, name, is_bytes, counts) SEEP_BUDGET_##constant,
	SEEP_BUDGET_MEASURES(M)
#undef M
		SEEP_BUDGET_MEASURE_COUNT,
};

/* Whose call stacks count. */
enum seep_budget_place {
	SEEP_PLACE_ALL,
	SEEP_PLACE_FUNCTION,	 /* with a frame of a function, inlined ones too */
	SEEP_PLACE_OWN_FUNCTION, /* whose function to blame it is, see seep_sites_trim() */
	SEEP_PLACE_MODULE,	 /* with a frame in a module */
	SEEP_PLACE_OWN_MODULE,
	SEEP_PLACE_COUNT,
};

struct seep_budget {
	char *text;
	enum seep_budget_place place;
	char *glob; /* NULL: of all */
	enum seep_budget_measure measure;
	bool is_below;	  /* '<', else '<=' */
	bool is_relative; /* to the baseline */
	bool is_share;	  /* of it, in millionths */
	bool if_known;	  /* what cannot be known does not matter */
	uint64_t limit;
};

struct seep_budgets {
	struct seep_budget *items;
	size_t count;
	size_t capacity;
};

enum { SEEP_BUDGETS_MAX = 1000, SEEP_BUDGETS_FILE_BYTES_MAX = 1 << 20 };

extern const char *const seep_budget_measure_names[SEEP_BUDGET_MEASURE_COUNT];
extern const char *const seep_budget_measure_words[SEEP_BUDGET_MEASURE_COUNT];
extern const char *const seep_budget_place_names[SEEP_PLACE_COUNT]; /* of all: NULL */

/* Returns 0; -SEEP_EUSAGE: it is none; -SEEP_ELIMIT: there are SEEP_BUDGETS_MAX of them. */
SEEP_NODISCARD int seep_budgets_add(struct seep_budgets *budgets, const char *text,
				    struct seep_error *err);

/*
 * One per line of the file; what follows a '#' at a line's begin or behind a blank is left out.
 * Returns as seep_budgets_add() or seep_file_read(); the sentence names the file and line.
 */
SEEP_NODISCARD int seep_budgets_read(struct seep_budgets *budgets, const char *path,
				     struct seep_error *err);

/* Release them; empty again. */
void seep_budgets_done(struct seep_budgets *budgets);

/* "1.2 MB" or "1,234", as the measure counts. */
struct seep_unit_text seep_budget_text(enum seep_budget_measure measure, uint64_t value);

#endif
