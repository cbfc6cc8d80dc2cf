/* SPDX-License-Identifier: MIT */
/*
 * Rows that another thread does not leave: an operation waits for them no longer than a moment,
 * and is counted. The runtime's own source, with a ledger that is a few arrays.
 */
#include "runtime/sys/sys.c"
#include "runtime/track/counters.c"
#include "runtime/track/no_slot.c"
#include "runtime/track/redo.c"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/time.h>
#include <ucontext.h>

#include <cmocka.h>

enum {
	SLOTS = 64,
	ROWS = 1024,
	FIRST_ROW = 100,
	OTHER_CACHE = 1,
	LIMIT_MS = 1000,
	TRAP_FLAG = 1 << 8,
	ROW = FIRST_ROW + 2,
};

struct rt_global rt_global;
struct rt_mine rt_mine;

static struct ledger_header header;
static struct ledger_control control;
static struct ledger_state state;
static struct ledger_cache caches[2];
static struct ledger_slot slots[SLOTS];
static struct ledger_row rows[ROWS];
static struct rt_thread thread;

static uint64_t slots_asked_for;

uint64_t rt_table_take(enum ledger_table_type type, uint64_t count)
{
	assert_int_equal(type, LEDGER_TABLE_SLOTS);
	slots_asked_for = count;
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
	rt_global.header = &header;
	rt_global.control = &control;
	rt_global.state = &state;
	rt_global.caches = caches;
	rt_global.slots = slots;
	rt_global.rows = rows;
	rt_global.first_row = FIRST_ROW;
	thread.cache = &caches[0];
	rt_store(&caches[0].slots, 6);
	rt_slots_find(&thread);
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

static void growing_leaves_room_for_threads_that_begin(void **unused)
{
	(void)unused;
	header.table[LEDGER_TABLE_SLOTS].capacity = 1000;
	slots_asked_for = 0;
	rt_store(&state.table[LEDGER_TABLE_SLOTS].reserved, 300);
	thread.conflicts = 2 * SLOTS + 1;
	alloc_in(FIRST_ROW, 1);
	assert_int_equal(slots_asked_for, 0);
	rt_store(&state.table[LEDGER_TABLE_SLOTS].reserved, 200);
	thread.conflicts = 2 * SLOTS + 1;
	alloc_in(FIRST_ROW + 1, 1);
	assert_int_equal(slots_asked_for, SLOTS * GROW_FACTOR);
	rt_leave(&thread);
}

static void a_handlers_free_goes_to_its_row_at_once(void **unused)
{
	(void)unused;
	rt_row_free(&thread, FIRST_ROW + 2, 30);
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

/* What a handler entered and what was spilled, whatever the flag says. */
static void what_was_spilled_stays_with_its_row_when_a_settling_was_left(void **unused)
{
	uint32_t row = fill_group();

	(void)unused;
	alloc_in(row, 7);
	rt_store(&thread.unsettled, 0);
	alloc_in(row + 1, 8);
	rt_leave(&thread);
	assert_int_equal(rt_load(&row_of(row)->alloc_bytes), 7);
	assert_int_equal(rt_load(&row_of(row + 1)->alloc_bytes), 8);
}

static void the_slots_are_those_that_the_cache_names(void **unused)
{
	(void)unused;
	rt_store(&caches[0].slots, 32 << 8 | 4);
	rt_slots_find(&thread);
	alloc_in(ROW, 7);
	assert_ptr_equal(thread.slots, slots + 32);
	assert_int_equal(thread.slot_mask, 15);
	assert_int_equal(rt_load(&slots[32 + ROW % 16].alloc_bytes), 7);
}

static void nobody_is_at_a_row_with_an_even_sequence(void **unused)
{
	(void)unused;
	rt_store(&row_of(ROW)->sequence, 5ull << LEDGER_SEQ_COUNT_SHIFT);
	assert_false(is_at(&thread, row_of(ROW)));
	occupy(ROW, 0);
	assert_true(is_at(&thread, row_of(ROW)));
	assert_false(is_at(NULL, row_of(ROW)));
}

static void leave_row(int number)
{
	(void)number;
	rt_store(&row_of(ROW)->sequence, 0);
}

static void threads_without_a_cache_wait_for_each_other(void **unused)
{
	const struct itimerval soon = { .it_value = { .tv_usec = 1000 } };

	(void)unused;
	(void)signal(SIGALRM, leave_row);
	occupy(ROW, INDEX_OF_OTHERS);
	assert_int_equal(setitimer(ITIMER_REAL, &soon, NULL), 0);
	rt_row_free(NULL, ROW, 30);
	assert_int_equal(rt_load(&row_of(ROW)->frees), 1);
	assert_int_equal(rt_load(&rows[0].frees), 0);
}

/* A record of before the row was last entered, by a handler, whose own record is at its side. */
static void only_the_record_of_the_last_entry_is_believed(void **unused)
{
	struct ledger_redo *redo = &caches[0].redo;

	(void)unused;
	rt_store(&redo->row, ROW);
	rt_store(&redo->slot, 3);
	rt_store(&redo->sequence_after, 4ull << LEDGER_SEQ_COUNT_SHIFT);
	rt_store(&redo->active, 1);
	redo->values.allocs = 1000;
	rt_store(&thread.entered[0].row, ROW);
	rt_store(&thread.entered[0].slot, RT_NO_INDEX);
	rt_store(&thread.entered[0].sequence_after, 8ull << LEDGER_SEQ_COUNT_SHIFT);
	rt_store(&thread.entered[0].active, 1);
	thread.entered[0].values.allocs = 9;
	rt_store(&row_of(ROW)->sequence, 7ull << LEDGER_SEQ_COUNT_SHIFT | LEDGER_SEQ_ODD);
	rt_redo(&caches[0], 0, &thread);
	assert_int_equal(rt_load(&row_of(ROW)->allocs), 9);
	assert_int_equal(rt_load(&row_of(ROW)->sequence), 8ull << LEDGER_SEQ_COUNT_SHIFT);
	assert_int_equal(rt_load(&thread.entered[0].row), 0);
}

/* ---- left at any instruction --------------------------------------------------------------- */

static sigjmp_buf left;
static long steps_left;
static void (*in_handler)(void);
static bool handler_returns;

static void on_step(int number, siginfo_t *info, void *context)
{
	ucontext_t *at = context;

	(void)number;
	(void)info;
	if (--steps_left > 0)
		return;
	at->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
	if (in_handler)
		in_handler();
	if (handler_returns)
		return;
	siglongjmp(left, 1);
}

static __attribute__((noinline)) void set_trap(uint64_t flag)
{
	__asm__ volatile("lea -128(%%rsp), %%rsp\n\tpushfq\n\tandq %0, (%%rsp)\n\t"
			 "orq %1, (%%rsp)\n\tpopfq\n\tlea 128(%%rsp), %%rsp"
			 :
			 : "r"(~(uint64_t)TRAP_FLAG), "r"(flag)
			 : "memory", "cc");
}

/* False: @operation is no longer than @steps instructions. */
static bool is_left(void (*operation)(void), long steps)
{
	struct sigaction action = { .sa_sigaction = on_step, .sa_flags = SA_SIGINFO };

	assert_int_equal(sigaction(SIGTRAP, &action, NULL), 0);
	steps_left = steps;
	if (sigsetjmp(left, 1)) {
		/* What rt_enter_again does. */
		rt_redo(&caches[0], 0, &thread);
		rt_settle(&thread);
		return true;
	}
	set_trap(TRAP_FLAG);
	operation();
	set_trap(0);
	return steps_left <= 0;
}

static void free_one(void)
{
	rt_row_free(&thread, ROW, 30);
}

static void flush_one(void)
{
	rt_slot_flush(&thread, &thread.slots[ROW & thread.slot_mask]);
}

static uint64_t row_and_slot(size_t field)
{
	const struct ledger_slot *slot = &thread.slots[ROW & thread.slot_mask];
	uint64_t sum = field ? rt_load(&row_of(ROW)->alloc_bytes) : rt_load(&row_of(ROW)->allocs);

	if (rt_load(&slot->row) == ROW)
		sum += field ? rt_load(&slot->alloc_bytes) : rt_load(&slot->allocs);
	return sum;
}

static void a_free_left_at_any_instruction_is_counted_whole_or_not(void **unused)
{
	uint64_t counted = 0;
	bool goes_on = true;

	in_handler = NULL;
	for (long steps = 1; goes_on; steps++) {
		(void)open_books(unused);
		goes_on = is_left(free_one, steps);
		assert_int_equal(rt_load(&row_of(ROW)->sequence) & LEDGER_SEQ_ODD, 0);
		assert_int_equal(rt_load(&row_of(ROW)->freed_bytes),
				 30 * rt_load(&row_of(ROW)->frees));
		assert_in_range(rt_load(&row_of(ROW)->frees), counted, 1);
		counted = rt_load(&row_of(ROW)->frees);
	}
	assert_int_equal(counted, 1);
}

static void a_handlers_free_is_counted_though_it_leaves_a_flush_at_any_instruction(void **unused)
{
	bool goes_on = true;

	in_handler = free_one;
	for (long steps = 1; goes_on; steps++) {
		(void)open_books(unused);
		alloc_in(ROW, 7);
		goes_on = is_left(flush_one, steps);
		assert_int_equal(rt_load(&row_of(ROW)->sequence) & LEDGER_SEQ_ODD, 0);
		assert_int_equal(rt_load(&row_of(ROW)->frees), goes_on);
		assert_int_equal(rt_load(&row_of(ROW)->freed_bytes), goes_on ? 30 : 0);
		assert_int_equal(row_and_slot(0), 1);
		assert_int_equal(row_and_slot(1), 7);
	}
}

static void spill_one(void)
{
	rt_leave(&thread);
}

static void what_was_spilled_is_counted_once_when_settling_is_left_at_any_instruction(void **unused)
{
	bool goes_on = true;

	in_handler = NULL;
	for (long steps = 1; goes_on; steps++) {
		(void)open_books(unused);
		rt_slot_alloc(take_spill(&thread, ROW), &control, 7);
		goes_on = is_left(spill_one, steps);
		assert_int_equal(rt_load(&row_of(ROW)->sequence) & LEDGER_SEQ_ODD, 0);
		assert_int_equal(rt_load(&row_of(ROW)->allocs), 1);
		assert_int_equal(rt_load(&row_of(ROW)->alloc_bytes), 7);
		assert_int_equal(rt_load(&thread.spill.row), 0);
	}
}

/* What is read of the row when the process is gone: src/profile/ledger_rows.c. */
static uint64_t frees_read(void)
{
	const struct ledger_redo *redo = &caches[0].redo;
	bool odd = rt_load(&row_of(ROW)->sequence) & LEDGER_SEQ_ODD;

	return odd && rt_load(&redo->active) ? redo->values.frees : rt_load(&row_of(ROW)->frees);
}

static void free_and_try_exec(void)
{
	free_one();
	rt_late_show(&thread);
	assert_int_equal(frees_read(), 1);
	free_one();
	rt_late_hide(&thread);
}

static void frees_are_seen_when_a_handler_becomes_another_program(void **unused)
{
	bool goes_on = true;

	in_handler = free_and_try_exec;
	handler_returns = true;
	for (long steps = 1; goes_on; steps++) {
		(void)open_books(unused);
		alloc_in(ROW, 7);
		goes_on = is_left(flush_one, steps);
		rt_leave(&thread);
		assert_int_equal(rt_load(&row_of(ROW)->sequence) & LEDGER_SEQ_ODD, 0);
		assert_int_equal(rt_load(&row_of(ROW)->frees), goes_on ? 2 : 0);
		assert_int_equal(rt_load(&row_of(ROW)->freed_bytes), goes_on ? 60 : 0);
		assert_int_equal(row_and_slot(0), 1);
		assert_int_equal(row_and_slot(1), 7);
	}
	handler_returns = false;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(an_operation_whose_slots_are_all_taken_is_counted_in_its_row,
				       open_books),
		cmocka_unit_test_setup(
			an_operation_whose_row_is_taken_too_is_counted_without_a_stack, open_books),
		cmocka_unit_test_setup(growing_leaves_room_for_threads_that_begin, open_books),
		cmocka_unit_test_setup(a_handlers_free_goes_to_its_row_at_once, open_books),
		cmocka_unit_test_setup(a_peak_from_before_a_handlers_free_has_the_block,
				       open_books),
		cmocka_unit_test_setup(
			frees_of_rows_that_this_thread_is_flushing_come_after_the_flush,
			open_books),
		cmocka_unit_test_setup(what_was_spilled_stays_with_its_row_when_a_settling_was_left,
				       open_books),
		cmocka_unit_test_setup(the_slots_are_those_that_the_cache_names, open_books),
		cmocka_unit_test_setup(nobody_is_at_a_row_with_an_even_sequence, open_books),
		cmocka_unit_test_setup(threads_without_a_cache_wait_for_each_other, open_books),
		cmocka_unit_test_setup(only_the_record_of_the_last_entry_is_believed, open_books),
		cmocka_unit_test_setup(a_free_left_at_any_instruction_is_counted_whole_or_not,
				       open_books),
		cmocka_unit_test_setup(
			a_handlers_free_is_counted_though_it_leaves_a_flush_at_any_instruction,
			open_books),
		cmocka_unit_test_setup(
			what_was_spilled_is_counted_once_when_settling_is_left_at_any_instruction,
			open_books),
		cmocka_unit_test_setup(frees_are_seen_when_a_handler_becomes_another_program,
				       open_books),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
