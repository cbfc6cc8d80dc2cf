/* SPDX-License-Identifier: MIT */
/* What was judged in one generation of the module list says nothing of another. */
#include "runtime/sys/memo.c"
#include "runtime/sys/rt_facts.c"
#include "runtime/sys/sys.c"
#include "runtime/track/module_filter.c"

#include "unit.h"

#include <string.h>

enum { ADDRESS = 0x7000, ADDRESSES = 64 };

struct rt_global rt_global;
struct rt_mine rt_mine;
__thread struct rt_tls rt_tls;
_Atomic uint32_t rt_generation;

static struct rt_thread thread;
static struct ledger_state totals;
static struct ledger_control control;
static const char *loaded; /* at all addresses */

struct rt_thread *rt_thread_start(void)
{
	return &thread;
}

bool rt_enter_again(struct rt_thread *busy, uintptr_t frame)
{
	(void)busy;
	(void)frame;
	return false;
}

void rt_module_remember(uintptr_t pc)
{
	(void)pc;
}

size_t rt_module_name(uintptr_t pc, const char **ret_name)
{
	(void)pc;
	*ret_name = loaded;
	return strlen(loaded);
}

TEST(a_module_at_anothers_address_is_judged_anew)
{
	rt_global.state = &totals;
	rt_mine.control = &control;
	rt_tls.thread = &thread;
	rt_module_filter_start("wanted.so");
	for (uint32_t generation = 1; generation < 100; generation++) {
		const bool wanted = generation % 2;

		loaded = wanted ? "wanted.so" : "other.so";
		rt_store(&rt_generation, generation);
		for (uintptr_t i = 0; i < ADDRESSES; i++) {
			const uintptr_t frame[] = { 0, ADDRESS + i };

			assert_int_equal(rt_module_filter_wants(frame), wanted);
			assert_int_equal(rt_module_filter_wants(frame), wanted);
		}
	}
}
