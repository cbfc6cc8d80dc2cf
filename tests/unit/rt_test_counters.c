/* SPDX-License-Identifier: MIT */
/*
 * Rows that another thread does not leave: an operation waits for them no longer than a moment,
 * and is counted. The runtime's own source, with a ledger that is a few arrays.
 */
#include "runtime/life/sys.c"
#include "runtime/track/counters.c"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { SLOTS = 64, ROWS = 1024, FIRST_ROW = 100, OTHER_CACHE = 1, LIMIT_MS = 1000 };

struct rt_global rt_global;
struct rt_mine rt_mine;

static struct ledger_control control;
static struct ledger_state state;
static struct ledger_cache caches[2];
static struct ledger_slot slots[SLOTS];
static struct ledger_row rows[ROWS];
static struct rt_thread thread;

uint64_t rt_table_take(enum ledger_table_type type, uint64_t count)
{
	(void)type;
	(void)count;
	return RT_NO_INDEX;
}

static int open_books(void **unused)
{
	(void)unused;
	memset(slots, 0, sizeof(slots));
	memset(rows, 0, sizeof(rows));
	memset(caches, 0, sizeof(caches));
	memset(&state, 0, sizeof(state));
	memset(&thread, 0, sizeof(thread));
	rt_store(&control.peak_turn, 1);
	rt_store(&control.caches, 2);
	rt_mine.control = &control;
	rt_global.control = &control;
	rt_global.state = &state;
	rt_global.caches = caches;
	rt_global.slots = slots;
	rt_global.rows = rows;
	rt_global.first_row = FIRST_ROW;
	thread.cache = &caches[0];
	thread.slots = slots;
	thread.slot_mask = SLOTS - 1;
	return 0;
}

static void alloc_in(uint32_t row, uint64_t bytes)
{
	rt_slot_alloc(rt_slot(&thread, row), &control, bytes);
}

static struct ledger_row *row_of(uint32_t id)
{
	return &rows[id - FIRST_ROW];
}

static void occupy(uint32_t id, uint32_t cache)
{
	rt_store(&row_of(id)->sequence, LEDGER_SEQ_ODD | (uint64_t)cache << LEDGER_SEQ_CACHE_SHIFT);
}

/* Four rows that share their slots, none of which can be flushed; returns a fifth. */
static uint32_t fill_group(void)
{
	uint32_t row = FIRST_ROW + SLOTS - FIRST_ROW % SLOTS;

	for (uint32_t i = 0; i < GROUP; i++) {
		alloc_in(row + i, 10);
		occupy(row + i, OTHER_CACHE);
	}
	return row + SLOTS;
}

static void an_operation_whose_slots_are_all_taken_is_counted_in_its_row(void **unused)
{
	uint32_t row = fill_group();
	uint64_t began = rt_now_ns();

	(void)unused;
	alloc_in(row, 7);
	alloc_in(row + 1, 8);
	rt_leave(&thread);
	assert_true(rt_now_ns() - began < LIMIT_MS * 1000000ull);
	assert_int_equal(rt_load(&row_of(row)->allocs), 1);
	assert_int_equal(rt_load(&row_of(row)->alloc_bytes), 7);
	assert_int_equal(rt_load(&row_of(row + 1)->alloc_bytes), 8);
	assert_int_equal(rt_load(&row_of(row)->sequence) & LEDGER_SEQ_ODD, 0);
	assert_int_equal(rt_load(&thread.unsettled), 0);
	for (uint32_t i = 0; i < GROUP; i++)
		assert_int_equal(rt_load(&rt_slot(&thread, row - SLOTS + i)->alloc_bytes), 10);
}

static void an_operation_whose_row_is_taken_too_is_counted_without_a_stack(void **unused)
{
	uint32_t row = fill_group();

	(void)unused;
	occupy(row, OTHER_CACHE);
	alloc_in(row, 7);
	rt_leave(&thread);
	assert_int_equal(rt_load(&row_of(row)->allocs), 0);
	assert_int_equal(rt_load(&rows[0].allocs), 1);
	assert_int_equal(rt_load(&rows[0].alloc_bytes), 7);
}

static void a_handlers_free_goes_to_its_row_at_once(void **unused)
{
	(void)unused;
	rt_row_free(&thread, FIRST_ROW + 2, 30);
	assert_int_equal(rt_load(&thread.unsettled), 0);
	assert_int_equal(rt_load(&row_of(FIRST_ROW + 2)->frees), 1);
	assert_int_equal(rt_load(&row_of(FIRST_ROW + 2)->freed_bytes), 30);
	assert_int_equal(rt_load(&state.live_bytes), -30);
}

static void a_peak_from_before_a_handlers_free_has_the_block(void **unused)
{
	(void)unused;
	rt_store(&row_of(FIRST_ROW + 2)->allocs, 3);
	rt_store(&row_of(FIRST_ROW + 2)->alloc_bytes, 90);
	rt_store(&control.peak_turn, 5);
	rt_row_free(&thread, FIRST_ROW + 2, 30);
	assert_int_equal(rt_load(&row_of(FIRST_ROW + 2)->turn), 5);
	assert_int_equal(rt_load(&row_of(FIRST_ROW + 2)->at_bytes), 90);
	assert_int_equal(rt_load(&row_of(FIRST_ROW + 2)->at_blocks), 3);
}

static void frees_of_rows_that_this_thread_is_flushing_come_after_the_flush(void **unused)
{
	uint32_t many = RT_LATE_ROWS + 1;

	(void)unused;
	for (uint32_t i = 0; i < many; i++)
		occupy(FIRST_ROW + 2 + i, 0);
	for (uint32_t i = 0; i < many; i++)
		for (uint32_t times = 0; times < 1000; times++)
			rt_row_free(&thread, FIRST_ROW + 2 + i, 30);
	for (uint32_t i = 0; i < many; i++)
		rt_store(&row_of(FIRST_ROW + 2 + i)->sequence, 0);
	rt_leave(&thread);
	for (uint32_t i = 0; i < RT_LATE_ROWS; i++) {
		assert_int_equal(rt_load(&row_of(FIRST_ROW + 2 + i)->frees), 1000);
		assert_int_equal(rt_load(&row_of(FIRST_ROW + 2 + i)->freed_bytes), 30000);
		assert_int_equal(rt_load(&thread.late[i].row_frees), 0);
	}
	/* One more than there is room for: the totals are right. */
	assert_int_equal(rt_load(&rows[0].frees), 1000);
	assert_int_equal(rt_load(&state.live_bytes), -30000 * (int64_t)many);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(an_operation_whose_slots_are_all_taken_is_counted_in_its_row,
				       open_books),
		cmocka_unit_test_setup(
			an_operation_whose_row_is_taken_too_is_counted_without_a_stack, open_books),
		cmocka_unit_test_setup(a_handlers_free_goes_to_its_row_at_once, open_books),
		cmocka_unit_test_setup(a_peak_from_before_a_handlers_free_has_the_block,
				       open_books),
		cmocka_unit_test_setup(
			frees_of_rows_that_this_thread_is_flushing_come_after_the_flush,
			open_books),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
