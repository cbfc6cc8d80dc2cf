/* SPDX-License-Identifier: MIT */
/* Ledgers whose process died in the middle of a flush. */
#include "ledger_sim.h"
#include "profile_case.h"

#include <sys/wait.h>

static void operate(void)
{
	struct sim_thread thread = {
		.ledger = &ledger,
		.cache = &ledger.caches[0],
		.slots = built_slot(&ledger, 0, 0),
	};

	/* One slot only: the second row throws the first out. */
	sim_alloc(&thread, ledger.header->first_row + 2, 100);
	sim_alloc(&thread, ledger.header->first_row + 2, 100);
	sim_free(&thread, ledger.header->first_row + 2, 100);
	sim_slot(&thread, ledger.header->first_row + 3);
}

PROFILE_TEST(a_flush_may_end_at_any_store)
{
	uint16_t module = built_module(&ledger, "/usr/bin/prog", 0);
	uint32_t leaf = built_node(&ledger, 0, module, 0x1000);
	uint32_t context = built_context(&ledger, leaf, 0);
	uint32_t id = built_row(&ledger, context, 0);
	static unsigned char before[1 << 20];
	uint64_t first = 0;
	int status = 9 << 8;

	(void)built_row(&ledger, context, 1);
	built_cache(&ledger, 0);
	/* A run of one slot at index 0 would read as none. */
	ledger.state->table[LEDGER_TABLE_SLOTS].reserved = 2;
	ledger.state->table[LEDGER_TABLE_SLOTS].ready = 2;
	ledger.caches[0].slots = 1ull << 8;
	set_row(id, 10, 1000, 3, 300);
	assert_true(ledger.bytes <= sizeof(before));
	memcpy(before, ledger.map, ledger.bytes);
	/* Steps before the flush belong to the operations, which may tear. */
	for (uint64_t step = 1; status == 9 << 8; step++) {
		pid_t pid;

		memcpy(ledger.map, before, ledger.bytes);
		pid = fork();
		if (pid == 0) {
			sim_kill_at = step;
			operate();
			_exit(0);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		load();
		if (built_row_at(&ledger, id)->sequence == 0)
			continue;
		first = first ? first : step;
		assert_int_equal(context_of(context)->allocs, 12);
		assert_int_equal(context_of(context)->alloc_bytes, 1200);
		assert_int_equal(context_of(context)->frees, 4);
		assert_int_equal(context_of(context)->freed_bytes, 400);
		assert_int_equal(context_of(context)->live_bytes, 800);
		assert_false(context_of(context)->in_doubt);
	}
	assert_true(first > 0);
}

/* The flush is over, only the flag still stands; the row has been changed since. */
SIMPLE_TEST(a_redo_record_of_a_finished_flush_is_not_repeated)
{
	uint32_t cache = built_cache(&ledger, 6);
	struct ledger_redo *redo = &ledger.caches[cache].redo;

	redo->active = 1;
	redo->row = simple_row;
	redo->slot = 0;
	redo->values.allocs = 5;
	redo->values.alloc_bytes = 50;
	set_row(simple_row, 9, 90, 0, 0);
	built_row_at(&ledger, simple_row)->sequence = 2ull << LEDGER_SEQ_COUNT_SHIFT;
	load();
	assert_int_equal(context_of(simple)->allocs, 9);
}

static void enter_row(uint32_t id, uint64_t count, uint32_t cache)
{
	built_row_at(&ledger, id)->sequence = count << LEDGER_SEQ_COUNT_SHIFT |
					      (uint64_t)cache << LEDGER_SEQ_CACHE_SHIFT |
					      LEDGER_SEQ_ODD;
}

SIMPLE_TEST(the_flush_of_another_cache_is_not_repeated)
{
	uint32_t cache = built_cache(&ledger, 6);
	uint32_t other = built_cache(&ledger, 6);
	struct ledger_redo *redo = &ledger.caches[cache].redo;

	redo->active = 1;
	redo->row = simple_row;
	redo->values.allocs = 5;
	ledger.caches[other].redo.row = simple_row;
	set_row(simple_row, 9, 90, 0, 0);
	enter_row(simple_row, 2, other);
	load();
	assert_int_equal(context_of(simple)->allocs, 9);
	assert_false(context_of(simple)->in_doubt);
}

SIMPLE_TEST(a_row_entered_without_a_redo_record_is_in_doubt)
{
	uint32_t cache = built_cache(&ledger, 6);

	ledger.caches[cache].redo.row = simple_row + 1;
	set_row(simple_row, 9, 90, 0, 0);
	enter_row(simple_row, 0, cache);
	load();
	assert_true(context_of(simple)->in_doubt);
}

SIMPLE_TEST(hostile_redo_records_are_harmless)
{
	uint32_t cache = built_cache(&ledger, 6);
	struct ledger_redo *redo = &ledger.caches[cache].redo;

	set_row(simple_row, 9, 90, 0, 0);
	redo->active = 1;
	redo->row = UINT32_MAX;
	redo->slot = UINT64_MAX;
	built_row_at(&ledger, simple_row)->sequence = UINT64_MAX;
	load();
	assert_int_equal(context_of(simple)->allocs, 9);
	assert_true(context_of(simple)->in_doubt);
	redo->row = simple_row;
	enter_row(simple_row, 0, cache);
	redo->values.allocs = 11;
	redo->values.alloc_bytes = 11;
	load();
	assert_int_equal(context_of(simple)->allocs, 11);
}
