/* SPDX-License-Identifier: MIT */
/* What forked children lacked becomes rules of their parent, once, whatever stands there. */
#include "runtime/unwind/wanted.c"

#include "runtime/sys/memo.c"
#include "runtime/sys/rt_facts.c"
#include "runtime/sys/sys.c"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { MODULE_START = 0x10000, MODULE_END = 0x20000 };

struct rt_global rt_global;
struct rt_mine rt_mine;
rt_memo rt_rules;
_Atomic uint32_t rt_generation;

static _Alignas(LEDGER_PAGE_BYTES) char page[LEDGER_PAGE_BYTES];
static unsigned made;

bool rt_module_find(uintptr_t pc, struct cfi_module *ret_module)
{
	*ret_module = (struct cfi_module){ .start = MODULE_START, .end = MODULE_END };
	return pc >= MODULE_START && pc < MODULE_END;
}

rt_rule rt_rule_make(uintptr_t pc, bool exact, uint32_t generation)
{
	rt_rule rule = rt_rule_pack(CFI_SP, 0, 16, 0);

	assert_false(exact);
	assert_in_range(pc - 1, MODULE_START, MODULE_END - 1);
	made++;
	rt_memo_put(&rt_rules, rt_rule_key(pc, false, generation), rule, generation, 1 << 20);
	return rule;
}

rt_rule rt_rule_compile(uintptr_t pc, bool exact)
{
	return rt_rule_pack(exact, 0, (int32_t)pc, 0);
}

static int begin(void **unused)
{
	(void)unused;
	memset(page, 0, sizeof(page));
	rt_global.state = (struct ledger_state *)page;
	rt_wanted_forked();
	rt_memo_drop(&rt_rules);
	rt_wanted = rt_wanted_of(rt_global.state);
	made = 0;
	return 0;
}

static void what_was_noted_is_made_once(void **unused)
{
	(void)unused;
	assert_false(rt_wanted_has_news());
	rt_wanted_note(MODULE_START + 100);
	rt_wanted_note(MODULE_START + 200);
	rt_wanted_note(MODULE_START + 100);
	assert_true(rt_wanted_has_news());
	rt_wanted_learn();
	assert_int_equal(made, 2);
	assert_false(rt_wanted_has_news());
	rt_wanted_note(MODULE_START + 200);
	rt_wanted_learn();
	assert_int_equal(made, 2);
}

static void what_only_the_child_has_mapped_is_left_out(void **unused)
{
	(void)unused;
	rt_wanted_note(MODULE_END + 1);
	rt_wanted_note(0);
	rt_wanted_note(UINT64_MAX);
	/* The byte behind the last call is not the module's any more. */
	rt_wanted_note(MODULE_END);
	rt_wanted_learn();
	assert_int_equal(made, 1);
}

static void of_more_than_fit_the_last_are_made(void **unused)
{
	(void)unused;
	for (unsigned i = 0; i < 3 * RT_WANTED_MAX; i++)
		rt_wanted_note(MODULE_START + 1 + i);
	rt_wanted_learn();
	assert_int_equal(made, RT_WANTED_MAX);
	assert_true(rt_rule_find(MODULE_START + 3 * RT_WANTED_MAX, false, 0) != 0);
	assert_int_equal(made, RT_WANTED_MAX);
}

static void a_count_that_somebody_wrote_over_ends(void **unused)
{
	(void)unused;
	memset(page, 0xee, sizeof(page));
	rt_wanted_learn();
	assert_int_equal(made, 0);
	rt_store(&rt_wanted->count, 5);
	rt_wanted_learn();
	assert_false(rt_wanted_has_news());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup(name, begin)
		TEST(what_was_noted_is_made_once),
		TEST(what_only_the_child_has_mapped_is_left_out),
		TEST(of_more_than_fit_the_last_are_made),
		TEST(a_count_that_somebody_wrote_over_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
