/* SPDX-License-Identifier: MIT */
/*
 * What a ledger says that cannot be. While a program runs, and in a row that it died over, a free
 * may be seen before its allocation: then the allocation is counted in. Numbers that no program
 * reaches were written over; they count as 0, and the report says how many there were.
 */
#include "core/bits.h"
#include "profile/ledger_figure.h"
#include "profile/ledger_parts.h"

static void mend_row(struct seep_ledger_load *load, uint32_t row)
{
	struct seep_row_sum *sum = &load->rows.sums[row];
	const uint64_t came = core_larger(sum->allocs, sum->frees);
	const uint64_t came_bytes = core_larger(sum->alloc_bytes, sum->freed_bytes);
	uint64_t allocs = load->row_allocs, bytes = load->row_alloc_bytes;

	if (!seep_ledger_add(&allocs, came) || !seep_ledger_add(&bytes, came_bytes)) {
		*sum = (struct seep_row_sum){ 0 };
		load->rows.in_doubt[row] = 1; /* and so read again */
		load->impossible++;
		return;
	}
	if (came > sum->allocs || came_bytes > sum->alloc_bytes)
		load->rows.in_doubt[row] = 1;
	sum->allocs = came;
	sum->alloc_bytes = came_bytes;
	if (sum->temporaries > sum->allocs)
		sum->temporaries = sum->allocs;
	load->row_allocs = allocs;
	load->row_alloc_bytes = bytes;
	/* Of each reading anew what cannot be is left out; of direct ones the rest may be short. */
	(void)seep_ledger_add(&load->direct_bytes, sum->direct_bytes);
}

/* The sums of all rows that are taken do not overflow. */
void seep_ledger_mend_rows(struct seep_ledger_load *load)
{
	const struct seep_rows *rows = &load->rows;

	for (uint64_t i = 0; i < rows->before_count; i++) {
		load->row_allocs -= rows->before[i].allocs;
		load->row_alloc_bytes -= rows->before[i].alloc_bytes;
		load->direct_bytes -= core_smaller(rows->before[i].direct_bytes,
						   load->direct_bytes);
	}
	for (uint64_t i = 0; i < rows->change_count; i++)
		mend_row(load, rows->changes[i].row);
}

uint64_t seep_ledger_figure(struct seep_ledger_load *load, uint64_t value)
{
	uint64_t figure = 0;

	if (!seep_ledger_add(&figure, value))
		load->impossible++;
	return figure;
}
