/* SPDX-License-Identifier: MIT */
/*
 * Slots, their flush, and counting without one, with rows that another thread does not leave and
 * handlers at any instruction. The runtime's own source, with a ledger that is a few arrays.
 */
#include "runtime/sys/rt_facts.c"
#include "runtime/sys/sys.c"
#include "runtime/track/counters.c"
#include "runtime/track/flush.c"

#include "unit.h"

#include <signal.h>
#include <string.h>
#include <ucontext.h>

enum {
	SLOTS = 64,
	ROWS = 1024,
	FIRST_ROW = 100,
	OTHER_CACHE = 1,
	TRAP_FLAG = 1 << 8,
	ROW = FIRST_ROW + 2,
};

struct rt_global rt_global;
__thread struct rt_tls rt_tls;
_Atomic uint32_t rt_threads;
struct rt_mine rt_mine;
struct ledger_header rt_header;
struct rt_table rt_tables[LEDGER_TABLE_COUNT];

static struct ledger_control control;
static struct ledger_state totals;
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

struct rt_thread *rt_thread_start(void)
{
	return &thread;
}

static int open_books(void **state)
{
	(void)state;
	memset(slots, 0, sizeof(slots));
	memset(rows, 0, sizeof(rows));
	memset(caches, 0, sizeof(caches));
	memset(&totals, 0, sizeof(totals));
	memset(&thread, 0, sizeof(thread));
	rt_store(&control.peak_turn, 1);
	rt_store(&control.caches, 2);
	rt_mine.control = &control;
	rt_global.control = &control;
	rt_global.state = &totals;
	rt_global.caches = caches;
	rt_global.slots = slots;
	rt_global.rows = rows;
	rt_global.first_row = FIRST_ROW;
	thread.cache = &caches[0];
	rt_store(&thread.slots_at, 6);
	rt_store(&rt_tables[LEDGER_TABLE_ROWS].ready, ROWS);
	rt_store(&rt_tables[LEDGER_TABLE_ROWS].reserved, ROWS);
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

/* As many rows with a slot each, none of which can be flushed; returns one more of the first slot. */
static uint32_t fill_slots(uint32_t count)
{
	uint32_t row = FIRST_ROW + SLOTS - FIRST_ROW % SLOTS;

	for (uint32_t i = 0; i < count; i++) {
		alloc_in(row + i, 10);
		occupy(row + i, OTHER_CACHE);
	}
	return row + SLOTS;
}

#define COUNTERS_TEST(name) TEST_WITH(open_books, name, NULL)

/* Nor for one that others are at: a slot further away does. */
COUNTERS_TEST(a_row_is_not_waited_for)
{
	uint32_t row = fill_slots(GROUP);
	struct ledger_slot *slot = rt_slot(&thread, row);

	assert_ptr_equal(slot, &slots[GROUP]);
	assert_ptr_equal(rt_slot(&thread, row), slot);
	for (uint32_t i = 0; i < GROUP; i++)
		assert_int_equal(rt_load(&slots[i].alloc_bytes), 10);
}

COUNTERS_TEST(an_operation_whose_slots_are_all_taken_gets_none)
{
	assert_null(rt_slot(&thread, fill_slots(SLOTS)));
}

/* Whoever can write to the ledger: rows that are not, sequences of nobody. */
COUNTERS_TEST(what_stands_in_a_slot_is_no_index)
{
	static const uint32_t wild[] = { 1, FIRST_ROW - 1, FIRST_ROW + ROWS, UINT32_MAX };
	uint32_t row = fill_slots(0);

	for (uint32_t i = 0; i < SLOTS; i++)
		rt_store(&slots[i].row, wild[i % 4]);
	alloc_in(row, 7);
	assert_int_equal(rt_load(&slots[0].row), row);
	assert_int_equal(rt_load(&slots[0].allocs), 1);
	rt_store(&row_at(row)->sequence, UINT64_MAX);
	assert_false(rt_slot_flush(&thread, &slots[0]));
	rt_redo(&thread);
	rt_direct_free(UINT32_MAX, 1, 1, 1);
	rt_direct_free(FIRST_ROW + ROWS, 1, 1, 1);
	assert_int_equal(rt_load(&slots[0].alloc_bytes), 7);
}

COUNTERS_TEST(growing_leaves_room_for_threads_that_begin)
{
	rt_header.table[LEDGER_TABLE_SLOTS].capacity = 1000;
	slots_asked_for = 0;
	rt_store(&rt_tables[LEDGER_TABLE_SLOTS].reserved, 300);
	thread.conflicts = 2 * SLOTS + 1;
	alloc_in(FIRST_ROW, 1);
	assert_int_equal(slots_asked_for, 0);
	rt_store(&rt_tables[LEDGER_TABLE_SLOTS].reserved, 200);
	thread.conflicts = 2 * SLOTS + 1;
	alloc_in(FIRST_ROW + 1, 1);
	assert_int_equal(slots_asked_for, SLOTS * GROW_FACTOR);
	rt_leave(&thread);
}

COUNTERS_TEST(what_has_no_slot_is_counted_in_words_of_its_own)
{
	rt_store(&row_at(ROW)->frees, 5);
	rt_direct_alloc(100);
	/* Somebody is at the row: no matter. */
	occupy(ROW, OTHER_CACHE);
	rt_direct_free(ROW, 30, 30, 40);
	rt_direct_free(FIRST_ROW, 100, 100, 0);
	assert_int_equal(rt_load(&rows[0].allocs), 1);
	assert_int_equal(rt_load(&rows[0].alloc_bytes), 100);
	assert_int_equal(rt_load(&rows[0].direct_frees), 1);
	assert_int_equal(rt_load(&rows[0].direct_freed_bytes), 100);
	assert_int_equal(rt_load(&row_at(ROW)->frees), 5);
	assert_int_equal(rt_load(&row_at(ROW)->direct_frees), 1);
	assert_int_equal(rt_load(&row_at(ROW)->direct_freed_bytes), 30);
	assert_int_equal(rt_load(&totals.live_bytes), -30);
	assert_int_equal(rt_load(&totals.direct_usable_bytes), 40);
}

COUNTERS_TEST(a_child_counts_early_in_its_own_ledger_and_nothing_in_its_parents)
{
	rt_mine.control = NULL;
	rt_direct_alloc(7);
	rt_early_drop();
	rt_direct_alloc(100);
	rt_direct_alloc(50);
	rt_direct_free(ROW, 30, 30, 40);
	rt_inherited_free(NULL, 7);
	rt_unknown_free(NULL);
	rt_early_settle();
	assert_int_equal(rt_load(&rows[0].allocs), 0);
	assert_int_equal(rt_load(&row_at(ROW)->direct_frees), 0);
	assert_int_equal(rt_load(&totals.live_bytes), 0);
	rt_mine.control = &control;
	for (int again = 0; again < 2; again++) {
		rt_early_settle();
		assert_int_equal(rt_load(&rows[0].allocs), 2);
		assert_int_equal(rt_load(&rows[0].alloc_bytes), 150);
		assert_int_equal(rt_load(&rows[0].direct_freed_bytes), 30);
		assert_int_equal(rt_load(&totals.live_bytes), 120);
		assert_int_equal(rt_load(&caches[0].inherited_freed_bytes), 7);
		assert_int_equal(rt_load(&totals.early), 5);
	}
}

COUNTERS_TEST(the_slots_are_those_that_the_thread_knows)
{
	rt_store(&caches[0].slots, UINT64_MAX);
	rt_store(&thread.slots_at, 32 << 8 | 4);
	rt_slots_find(&thread);
	alloc_in(ROW, 7);
	assert_ptr_equal(thread.slots, slots + 32);
	assert_int_equal(thread.slot_mask, 15);
	assert_int_equal(rt_load(&slots[32 + ROW % 16].alloc_bytes), 7);
}

COUNTERS_TEST(a_row_that_was_taken_and_not_changed_is_given_back_as_it_was)
{
	struct ledger_redo *redo = &caches[0].redo;

	rt_store(&thread.flush.row, ROW);
	rt_store(&row_at(ROW)->allocs, 9);
	redo->values.allocs = 1000;
	occupy(ROW, 0);
	rt_redo(&thread);
	assert_int_equal(rt_load(&row_at(ROW)->allocs), 9);
	assert_int_equal(rt_load(&row_at(ROW)->sequence), 1ull << LEDGER_SEQ_COUNT_SHIFT);
}

/* The record in the ledger is for readers: which row and slot, the thread knows itself. */
COUNTERS_TEST(a_flush_is_completed_whatever_the_ledger_says_of_it)
{
	struct ledger_redo *redo = &caches[0].redo;

	alloc_in(ROW, 7);
	rt_store(&thread.flush.row, ROW);
	rt_store(&thread.flush.active, 1);
	thread.flush.slot = &slots[ROW % SLOTS];
	thread.flush.turn_after = 1;
	rt_store(&redo->row, UINT32_MAX);
	rt_store(&redo->slot, UINT64_MAX / 64);
	rt_store(&redo->active, 0);
	redo->values.allocs = 1000;
	occupy(ROW, 0);
	rt_redo(&thread);
	assert_int_equal(rt_load(&row_at(ROW)->allocs), 1000);
	assert_int_equal(rt_load(&slots[ROW % SLOTS].row), 0);
	assert_int_equal(rt_load(&row_at(ROW)->sequence), 1ull << LEDGER_SEQ_COUNT_SHIFT);
}

/* Complete but for the flag, and another thread is at the row; or nobody is. */
COUNTERS_TEST(a_flush_that_was_complete_is_not_repeated)
{
	struct ledger_redo *redo = &caches[0].redo;

	for (int taken = 0; taken < 2; taken++) {
		(void)open_books(state);
		rt_store(&thread.flush.row, ROW);
		rt_store(&thread.flush.active, 1);
		rt_store(&redo->active, 1);
		redo->values.allocs = 1000;
		rt_store(&row_at(ROW)->allocs, 9);
		if (taken)
			occupy(ROW, OTHER_CACHE);
		rt_redo(&thread);
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
		rt_redo(&thread);
		return true;
	}
	set_trap(TRAP_FLAG);
	operation();
	set_trap(0);
	return steps_left <= 0;
}

static void free_one(void)
{
	rt_direct_free(ROW, 30, 30, 40);
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
	assert_int_equal(rt_load(&totals.live_bytes), freed ? -30 : 0);
	assert_int_equal(row_and_slot(0), 1);
	assert_int_equal(row_and_slot(1), 7);
}

/* Left by longjmp out of the handler, or gone on with. */
COUNTERS_TEST(a_handlers_free_in_a_flush_is_counted_at_any_instruction)
{
	in_handler = free_one;
	for (int returns = 0; returns < 2; returns++) {
		bool goes_on = true;

		handler_returns = returns;
		for (long steps = 1; goes_on; steps++) {
			(void)open_books(state);
			alloc_in(ROW, 7);
			goes_on = is_left(flush_one, steps);
			expect_flush_with_one_free(goes_on);
		}
	}
	handler_returns = false;
}

/* Of one that no handler's books enclose: nobody learns of it, so at most this one is in part. */
COUNTERS_TEST(a_direct_free_left_at_any_instruction_touches_no_other)
{
	bool goes_on = true;

	in_handler = NULL;
	for (long steps = 1; goes_on; steps++) {
		(void)open_books(state);
		alloc_in(ROW, 7);
		goes_on = is_left(free_one, steps);
		assert_in_range(rt_load(&row_at(ROW)->direct_frees), !goes_on, 1);
		assert_in_range(rt_load(&row_at(ROW)->direct_freed_bytes), goes_on ? 0 : 30, 30);
		assert_int_equal(rt_load(&row_at(ROW)->sequence), 0);
		assert_int_equal(row_and_slot(0), 1);
		assert_int_equal(row_and_slot(1), 7);
	}
}
