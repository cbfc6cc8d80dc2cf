/* SPDX-License-Identifier: MIT */
/*
 * Slots, their flush, and counting without one, with rows that another thread does not leave and
 * handlers at any instruction. The runtime's own source, with a ledger that is a few arrays.
 */
#include "runtime/sys/rt_facts.c"
#include "runtime/sys/sys.c"
#include "runtime/track/counters.c"
#include "runtime/track/flush.c"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
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

static struct ledger_row *row_at(uint32_t id)
{
	return &rows[id - FIRST_ROW];
}

static void occupy(uint32_t id, uint32_t cache)
{
	rt_store(&row_at(id)->sequence, LEDGER_SEQ_ODD | (uint64_t)cache << LEDGER_SEQ_CACHE_SHIFT);
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

static void an_operation_whose_slots_are_all_taken_gets_none_in_a_moment(void **unused)
{
	uint32_t row = fill_group();
	uint64_t began = rt_now_ns();

	(void)unused;
	assert_null(rt_slot(&thread, row));
	assert_true(rt_now_ns() - began < LIMIT_MS * 1000000ull);
	for (uint32_t i = 0; i < GROUP; i++)
		assert_int_equal(rt_load(&rt_slot(&thread, row - SLOTS + i)->alloc_bytes), 10);
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

static void what_has_no_slot_is_counted_in_words_of_its_own(void **unused)
{
	(void)unused;
	rt_store(&row_at(ROW)->frees, 5);
	rt_direct_alloc(100);
	/* Somebody is at the row: no matter. */
	occupy(ROW, OTHER_CACHE);
	rt_direct_free(ROW, 30, 40);
	rt_direct_free(FIRST_ROW, 100, 0);
	assert_int_equal(rt_load(&rows[0].allocs), 1);
	assert_int_equal(rt_load(&rows[0].alloc_bytes), 100);
	assert_int_equal(rt_load(&rows[0].direct_frees), 1);
	assert_int_equal(rt_load(&rows[0].direct_freed_bytes), 100);
	assert_int_equal(rt_load(&row_at(ROW)->frees), 5);
	assert_int_equal(rt_load(&row_at(ROW)->direct_frees), 1);
	assert_int_equal(rt_load(&row_at(ROW)->direct_freed_bytes), 30);
	assert_int_equal(rt_load(&state.live_bytes), -30);
	assert_int_equal(rt_load(&state.direct_usable_bytes), 40);
}

static void a_child_without_a_ledger_counts_nothing_in_its_parents(void **unused)
{
	(void)unused;
	rt_mine.control = NULL;
	rt_direct_alloc(100);
	rt_direct_free(ROW, 30, 40);
	assert_int_equal(rt_load(&rows[0].allocs), 0);
	assert_int_equal(rt_load(&row_at(ROW)->direct_frees), 0);
	assert_int_equal(rt_load(&state.live_bytes), 0);
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

static void a_row_that_was_taken_and_not_changed_is_given_back_as_it_was(void **unused)
{
	struct ledger_redo *redo = &caches[0].redo;

	(void)unused;
	rt_store(&redo->row, ROW);
	rt_store(&row_at(ROW)->allocs, 9);
	redo->values.allocs = 1000;
	occupy(ROW, 0);
	rt_redo(&caches[0], 0);
	assert_int_equal(rt_load(&row_at(ROW)->allocs), 9);
	assert_int_equal(rt_load(&row_at(ROW)->sequence), 1ull << LEDGER_SEQ_COUNT_SHIFT);
}

/* Complete but for the flag, and another thread is at the row; or nobody is. */
static void a_flush_that_was_complete_is_not_repeated(void **unused)
{
	struct ledger_redo *redo = &caches[0].redo;

	for (int taken = 0; taken < 2; taken++) {
		(void)open_books(unused);
		rt_store(&redo->row, ROW);
		rt_store(&redo->active, 1);
		redo->values.allocs = 1000;
		rt_store(&row_at(ROW)->allocs, 9);
		if (taken)
			occupy(ROW, OTHER_CACHE);
		rt_redo(&caches[0], 0);
		assert_int_equal(rt_load(&row_at(ROW)->allocs), 9);
		assert_int_equal(rt_load(&row_at(ROW)->sequence) & LEDGER_SEQ_ODD, taken);
		assert_int_equal(rt_load(&redo->active), 0);
	}
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
		rt_redo(&caches[0], 0);
		return true;
	}
	set_trap(TRAP_FLAG);
	operation();
	set_trap(0);
	return steps_left <= 0;
}

static void free_one(void)
{
	rt_direct_free(ROW, 30, 40);
}

static void flush_one(void)
{
	(void)rt_slot_flush(&thread, &thread.slots[ROW & thread.slot_mask]);
}

static uint64_t row_and_slot(size_t field)
{
	const struct ledger_slot *slot = &thread.slots[ROW & thread.slot_mask];
	uint64_t sum = field ? rt_load(&row_at(ROW)->alloc_bytes) : rt_load(&row_at(ROW)->allocs);

	if (rt_load(&slot->row) == ROW)
		sum += field ? rt_load(&slot->alloc_bytes) : rt_load(&slot->allocs);
	return sum;
}

static void expect_flush_with_one_free(bool freed)
{
	assert_int_equal(rt_load(&row_at(ROW)->sequence) & LEDGER_SEQ_ODD, 0);
	assert_int_equal(rt_load(&row_at(ROW)->frees), 0);
	assert_int_equal(rt_load(&row_at(ROW)->direct_frees), freed);
	assert_int_equal(rt_load(&row_at(ROW)->direct_freed_bytes), freed ? 30 : 0);
	assert_int_equal(rt_load(&state.live_bytes), freed ? -30 : 0);
	assert_int_equal(row_and_slot(0), 1);
	assert_int_equal(row_and_slot(1), 7);
}

/* Left by longjmp out of the handler, or gone on with. */
static void a_handlers_free_in_a_flush_is_counted_at_any_instruction(void **unused)
{
	in_handler = free_one;
	for (int returns = 0; returns < 2; returns++) {
		bool goes_on = true;

		handler_returns = returns;
		for (long steps = 1; goes_on; steps++) {
			(void)open_books(unused);
			alloc_in(ROW, 7);
			goes_on = is_left(flush_one, steps);
			expect_flush_with_one_free(goes_on);
		}
	}
	handler_returns = false;
}

/* Of one that no handler's books enclose: nobody learns of it, so at most this one is in part. */
static void a_direct_free_left_at_any_instruction_touches_no_other(void **unused)
{
	bool goes_on = true;

	in_handler = NULL;
	for (long steps = 1; goes_on; steps++) {
		(void)open_books(unused);
		alloc_in(ROW, 7);
		goes_on = is_left(free_one, steps);
		assert_in_range(rt_load(&row_at(ROW)->direct_frees), !goes_on, 1);
		assert_in_range(rt_load(&row_at(ROW)->direct_freed_bytes), goes_on ? 0 : 30, 30);
		assert_int_equal(rt_load(&row_at(ROW)->sequence), 0);
		assert_int_equal(row_and_slot(0), 1);
		assert_int_equal(row_and_slot(1), 7);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(an_operation_whose_slots_are_all_taken_gets_none_in_a_moment,
				       open_books),
		cmocka_unit_test_setup(growing_leaves_room_for_threads_that_begin, open_books),
		cmocka_unit_test_setup(what_has_no_slot_is_counted_in_words_of_its_own, open_books),
		cmocka_unit_test_setup(a_child_without_a_ledger_counts_nothing_in_its_parents,
				       open_books),
		cmocka_unit_test_setup(the_slots_are_those_that_the_cache_names, open_books),
		cmocka_unit_test_setup(a_row_that_was_taken_and_not_changed_is_given_back_as_it_was,
				       open_books),
		cmocka_unit_test_setup(a_flush_that_was_complete_is_not_repeated, open_books),
		cmocka_unit_test_setup(a_handlers_free_in_a_flush_is_counted_at_any_instruction,
				       open_books),
		cmocka_unit_test_setup(a_direct_free_left_at_any_instruction_touches_no_other,
				       open_books),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
