/* SPDX-License-Identifier: MIT */
/*
 * What a ledger says that cannot be. While a program runs, and in a row that it died over, a free
 * may be seen before its allocation: then the allocation is counted in. Numbers that no program
 * reaches were written over; they count as 0, and the report says how many there were.
 */
#include "profile/ledger_figure.h"
#include "profile/ledger_parts.h"

/* Room for sums that do not overflow: the totals of all rows that were taken so far. */
struct taken {
	uint64_t allocs;
	uint64_t bytes;
};

/* At least what was freed; false when even that does not fit. */
static bool take(uint64_t *came, uint64_t went, uint64_t *taken, uint8_t *in_doubt)
{
	if (!seep_ledger_add(taken, went > *came ? went : *came))
		return false;
	if (went > *came) {
		*came = went;
		*in_doubt = 1;
	}
	return true;
}

static bool take_row(struct seep_row_sum *sum, uint8_t *in_doubt, struct taken *taken)
{
	struct taken before = *taken;

	if (!take(&sum->allocs, sum->frees, &taken->allocs, in_doubt) ||
	    !take(&sum->alloc_bytes, sum->freed_bytes, &taken->bytes, in_doubt)) {
		*taken = before;
		return false;
	}
	if (sum->temporaries > sum->allocs)
		sum->temporaries = sum->allocs;
	return true;
}

void seep_ledger_mend_rows(struct seep_ledger_load *load)
{
	struct seep_rows *rows = &load->rows;
	struct taken taken = { 0 };

	for (uint64_t i = 0; i < rows->count; i++)
		if (!take_row(&rows->sums[i], &rows->in_doubt[i], &taken)) {
			rows->sums[i] = (struct seep_row_sum){ 0 };
			load->impossible++;
		}
}

uint64_t seep_ledger_figure(struct seep_ledger_load *load, uint64_t value)
{
	uint64_t figure = 0;

	if (!seep_ledger_add(&figure, value))
		load->impossible++;
	return figure;
}
