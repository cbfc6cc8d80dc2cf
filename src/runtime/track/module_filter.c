/* SPDX-License-Identifier: MIT */
#include "runtime/track/module_filter.h"

#include "core/glob.h"
#include "runtime/track/thread.h"
#include "runtime/unwind/modules.h"

enum { UNWANTED = 1, WANTED = 2, VERDICTS_MOST_BYTES = 1 << 20 };

/* By return address and generation. */
static rt_memo verdicts;
static const char *globs;

void rt_module_filter_start(const char *text)
{
	globs = text;
}

/* Mixed first: two generations differ in a few bits, as two addresses do. */
static uint64_t key_of(uintptr_t address, uint32_t generation)
{
	return core_hash_step(core_hash_step(0, generation), address);
}

static bool judge(uintptr_t address)
{
	const char *name;
	size_t bytes = rt_module_name(address - 1, &name);

	return !globs || core_glob_list_match(globs, name, bytes);
}

/*
 * Modules whose allocations are not wanted are never walked through: they are noted here, so that
 * the generation ends when they go.
 */
static RT_COLD bool judge_and_keep(uintptr_t address, const void *frame)
{
	struct rt_thread *thread = rt_thread_self();
	uint32_t generation;
	bool wanted;

	if (!thread || !rt_enter(thread, frame))
		return judge(address);
	rt_module_remember(address - 1);
	generation = rt_load(&rt_generation);
	wanted = judge(address);
	rt_memo_put(&verdicts, key_of(address, generation), wanted ? WANTED : UNWANTED, generation,
		    VERDICTS_MOST_BYTES);
	rt_leave(thread);
	return wanted;
}

bool rt_module_filter_wants(const void *frame)
{
	uintptr_t address = ((const uintptr_t *)frame)[1];
	uint64_t verdict = rt_memo_find(&verdicts, key_of(address, rt_load(&rt_generation)));

	return RT_LIKELY(verdict != 0) ? verdict == WANTED : judge_and_keep(address, frame);
}
