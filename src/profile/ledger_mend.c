/* SPDX-License-Identifier: MIT */
/*
 * What a ledger says that cannot be. While a program runs, and in a row that it died over, a free
 * may be seen before its allocation: then the allocation is counted in. Numbers that no program
 * reaches were written over; they count as 0, and the report says how many there were.
 */
#include "core/bits.h"
#include "profile/ledger_figure.h"
#include "profile/ledger_parts.h"

/* The sums of all rows that are taken do not overflow. */
void seep_ledger_mend_rows(struct seep_ledger_load *load)
{
	uint64_t allocs_before = 0, bytes_before = 0;

	for (uint64_t i = 0; i < load->rows.count; i++) {
		struct seep_row_sum *sum = &load->rows.sums[i];
		const uint64_t came = core_larger(sum->allocs, sum->frees);
		const uint64_t came_bytes = core_larger(sum->alloc_bytes, sum->freed_bytes);
		uint64_t allocs = allocs_before, bytes = bytes_before;

		if (!seep_ledger_add(&allocs, came) || !seep_ledger_add(&bytes, came_bytes)) {
			*sum = (struct seep_row_sum){ 0 };
			load->impossible++;
			continue;
		}
		if (came > sum->allocs || came_bytes > sum->alloc_bytes)
			load->rows.in_doubt[i] = 1;
		sum->allocs = came;
		sum->alloc_bytes = came_bytes;
		if (sum->temporaries > sum->allocs)
			sum->temporaries = sum->allocs;
		allocs_before = allocs;
		bytes_before = bytes;
	}
}

uint64_t seep_ledger_figure(struct seep_ledger_load *load, uint64_t value)
{
	uint64_t figure = 0;

	if (!seep_ledger_add(&figure, value))
		load->impossible++;
	return figure;
}
