/* SPDX-License-Identifier: MIT */
/* Sums of forked children: what is believed of them. */

#include "unit.h"

#include "profile/ledger_figure.h"

TEST(sums_that_are_too_large_count_as_processes_only)
{
	const struct seep_profile_forked wild = { .processes = 1,
						  .allocs = 5,
						  .alloc_bytes = INT64_MAX };
	const struct seep_profile_forked small = { .processes = 1,
						   .allocs = 2,
						   .alloc_bytes = 20,
						   .frees = 1,
						   .freed_bytes = 10,
						   .live_bytes = 10 };
	struct seep_profile_forked sum = { 0 };

	seep_forked_add(&sum, &small);
	seep_forked_add(&sum, &wild);
	assert_int_equal(sum.processes, 2);
	assert_int_equal(sum.allocs, 2);
	assert_int_equal(sum.alloc_bytes, 20);
	assert_int_equal(sum.live_bytes, 10);
}

TEST(what_no_program_reaches_counts_as_nothing)
{
	const struct ledger_sums wild = {
		.processes = 2,
		.allocs = UINT64_MAX,
		.alloc_bytes = 70,
		.freed_bytes = 30,
		.inherited_frees = 5,
	};
	const struct seep_profile_forked sums = seep_forked_load(&wild);

	assert_int_equal(sums.processes, 2);
	assert_int_equal(sums.allocs, 0);
	assert_int_equal(sums.live_bytes, 40);
	assert_int_equal(sums.inherited_frees, 5);
}
