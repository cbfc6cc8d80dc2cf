/* SPDX-License-Identifier: MIT */
/*
 * Budgets: what a process may allocate, as people write it.
 *
 *	[PLACE:GLOB:]MEASURE[{within=PATTERN}|{tag=GLOB}]<=LIMIT
 *
 *	peak<=24MB			bytes at the process's peak
 *	function:parse_*:allocs<=10k	call stacks that pass through a function
 *	module:libfoo.so*:live<=+5%	through a module; 5 per cent more than the baseline at most
 *	held{within=handle_request}<=0	what a function and all that it calls allocated
 *	held{tag=tenant=*}<=1MB		what was allocated in scopes of these tags
 *
 * The last "<=" and the last ':' before it separate, and the first '{' where a '}' ends the rest, so
 * names may hold all of them.
 */
#ifndef SEEP_ANALYSIS_BUDGET_H
#define SEEP_ANALYSIS_BUDGET_H

#include "analysis/counts.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An enum seep_measure, SEEP_BY_LOST, SEEP_BY_GROWTH, or the number of leaks or of findings. */
enum { SEEP_BUDGET_LEAKS = SEEP_BY_COUNT, SEEP_BUDGET_FINDINGS, SEEP_BUDGET_MEASURE_COUNT };

struct seep_budget {
	char *text;
	char *within; /* whose call stacks count, a pattern of analysis/within.h; NULL: all */
	char *tag;    /* in whose scopes, a glob; NULL: anywhere */
	bool is_part; /* blocks that go with a leak count where they were allocated, not with it */
	unsigned measure;
	bool is_relative; /* to the baseline */
	bool is_share;	  /* of it, in millionths */
	uint64_t limit;
};

struct seep_budgets {
	struct seep_budget *items;
	size_t count;
};

/* What people type for it. */
const char *seep_budget_measure_name(unsigned measure);

/* "1.2 MB", "1 leak" or "1,234", as the measure counts. */
struct seep_things_text seep_budget_text(unsigned measure, uint64_t value);

/* Returns 0, or -SEEP_EUSAGE: it is none. */
SEEP_NODISCARD int seep_budgets_add(struct seep_budgets *budgets, const char *text,
				    struct seep_error *err);

/* Release them; empty again. */
void seep_budgets_done(struct seep_budgets *budgets);

#endif
