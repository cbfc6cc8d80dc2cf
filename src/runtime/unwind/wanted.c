/* SPDX-License-Identifier: MIT */
#include "runtime/unwind/wanted.h"

#include "runtime/unwind/modules.h"
#include "runtime/unwind/rules.h"

struct rt_wanted *rt_wanted;

/* Of what is noted in our ledger, how much has been read. Threads that fork may read it twice. */
static _Atomic uint64_t learned;

void rt_wanted_note(uintptr_t pc)
{
	uint64_t i = atomic_fetch_add_explicit(&rt_wanted->count, 1, memory_order_relaxed);

	rt_store(&rt_wanted->pc[i % RT_WANTED_MAX], pc);
}

bool rt_wanted_has_news(void)
{
	return rt_load(&rt_wanted_of(rt_global.state)->count) != rt_load(&learned);
}

void rt_wanted_learn(void)
{
	const struct rt_wanted *wanted = rt_wanted_of(rt_global.state);
	uint64_t count = rt_load(&wanted->count);
	uint64_t news = count - rt_load(&learned);

	rt_store(&learned, count);
	if (news > RT_WANTED_MAX)
		news = RT_WANTED_MAX;
	for (; news > 0; news--) {
		uintptr_t pc = rt_load(&wanted->pc[(count - news) % RT_WANTED_MAX]);
		struct cfi_module module;

		/* Not where only the child has a module. */
		if (pc && rt_module_find(pc - 1, &module))
			(void)rt_rule_find(pc, false, rt_load(&rt_generation));
	}
}

void rt_wanted_forked(void)
{
	rt_wanted = NULL;
	rt_store(&learned, 0);
}
