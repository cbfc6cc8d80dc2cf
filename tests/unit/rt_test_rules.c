/* SPDX-License-Identifier: MIT */
/* Rule tables that were given up are used again, also when whoever kept their list has vanished. */
#include "runtime/sys/sys.c"
#include "runtime/unwind/rules.c"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { TABLE_BYTES = sizeof(struct rt_rule_table) + FIRST_ENTRIES * sizeof(struct rt_rule_entry) };

struct rt_global rt_global;
struct rt_mine rt_mine;
_Atomic uint32_t rt_generated_met;

static struct ledger_control control;
static struct ledger_state state;

/* What only the compiling of rules needs. */
bool rt_module_find(uintptr_t pc, struct cfi_module *ret_module)
{
	(void)pc;
	(void)ret_module;
	return false;
}

void rt_module_remember(uintptr_t pc)
{
	(void)pc;
}

bool rt_read_memory(uintptr_t address, void *buffer, size_t bytes)
{
	(void)address;
	(void)buffer;
	(void)bytes;
	return false;
}

static int begin(void **unused)
{
	(void)unused;
	rt_global.control = &control;
	rt_global.state = &state;
	rt_global.pid = rt_getpid();
	list_owner = 0;
	given_up_count = 0;
	return 0;
}

static void *tell_tid(void *ret_tid)
{
	*(uint32_t *)ret_tid = rt_gettid();
	return NULL;
}

/* The id of a thread that has ended. */
static uint32_t gone_tid(void)
{
	uint32_t tid = 0;
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, tell_tid, &tid), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	while (!rt_is_gone(rt_global.pid, tid))
		(void)sched_yield();
	return tid;
}

static void a_table_given_up_is_used_again(void **unused)
{
	struct rt_rule_table *table = table_new(FIRST_ENTRIES);

	(void)unused;
	table_give_up(table);
	assert_ptr_equal(table_again(TABLE_BYTES), table);
	assert_null(table_again(TABLE_BYTES));
	rt_munmap(table, TABLE_BYTES);
}

static void a_list_whose_owner_is_gone_begins_anew(void **unused)
{
	struct rt_rule_table *lost = table_new(FIRST_ENTRIES);
	struct rt_rule_table *table = table_new(FIRST_ENTRIES);

	(void)unused;
	/* It may stand there twice, or with another's size. */
	table_give_up(lost);
	list_owner = gone_tid();
	table_give_up(table);
	assert_ptr_equal(table_again(TABLE_BYTES), table);
	assert_null(table_again(TABLE_BYTES));
	rt_munmap(lost, TABLE_BYTES);
	rt_munmap(table, TABLE_BYTES);
}

static void a_list_that_is_in_use_is_left_alone(void **unused)
{
	struct rt_rule_table *table = table_new(FIRST_ENTRIES);

	(void)unused;
	list_owner = rt_getpid(); /* this very thread, further out */
	table_give_up(table);
	assert_null(table_again(TABLE_BYTES));
	assert_int_equal(list_owner, rt_getpid());
	rt_munmap(table, TABLE_BYTES);
}

static void a_thread_that_left_the_list_by_longjmp_gives_it_back(void **unused)
{
	struct rt_rule_table *table = table_new(FIRST_ENTRIES);

	(void)unused;
	list_owner = rt_gettid();
	rt_rules_recover(rt_gettid() + 1);
	assert_int_equal(list_owner, rt_gettid());
	rt_rules_recover(rt_gettid());
	table_give_up(table);
	assert_ptr_equal(table_again(TABLE_BYTES), table);
	rt_munmap(table, TABLE_BYTES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_table_given_up_is_used_again, begin),
		cmocka_unit_test_setup(a_list_whose_owner_is_gone_begins_anew, begin),
		cmocka_unit_test_setup(a_list_that_is_in_use_is_left_alone, begin),
		cmocka_unit_test_setup(a_thread_that_left_the_list_by_longjmp_gives_it_back, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
