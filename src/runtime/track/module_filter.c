/* SPDX-License-Identifier: MIT */
#include "runtime/track/module_filter.h"

#include "core/glob.h"
#include "runtime/track/thread.h"
#include "runtime/unwind/modules.h"

enum { VERDICTS_LOG2 = 12, GENERATION_BITS = 16 };

/*
 * Return address << 17 | generation << 1 | wanted; 0 = nothing. One word, so that it never tears.
 * Addresses whose place is another's take it over and are judged again when they come back.
 */
static _Atomic uint64_t verdicts[1 << VERDICTS_LOG2];
static const char *globs;

/* What is above a key's bits of the generation that the verdicts are of: those repeat. */
static _Atomic uint32_t era;

void rt_module_filter_start(const char *text)
{
	globs = text;
}

static uint64_t key_of(uintptr_t address)
{
	uint64_t generation = rt_load(&rt_generation) & ((1u << GENERATION_BITS) - 1);

	return (uint64_t)address << (GENERATION_BITS + 1) | generation << 1;
}

static _Atomic uint64_t *place_of(uintptr_t address)
{
	return &verdicts[core_hash_step(0, address) >> (64 - VERDICTS_LOG2)];
}

static bool judge(uintptr_t address)
{
	const char *name;
	size_t bytes = rt_module_name(address - 1, &name);

	return !globs || core_glob_list_match(globs, name, bytes);
}

/*
 * Modules whose allocations are not wanted are never walked through: they are noted here, so that the
 * generation ends when they go.
 */
static RT_COLD bool judge_and_keep(uintptr_t address, const void *frame)
{
	struct rt_thread *thread = rt_thread_self();
	uint64_t key;
	bool wanted;

	if (!thread || !rt_enter(thread, frame))
		return judge(address);
	rt_module_remember(address - 1);
	key = key_of(address);
	wanted = judge(address);
	rt_store(place_of(address), key | wanted);
	rt_leave(thread);
	return wanted;
}

static RT_COLD void forget_all(uint32_t now)
{
	for (uint32_t i = 0; i < 1u << VERDICTS_LOG2; i++)
		rt_store(&verdicts[i], 0);
	rt_store(&era, now);
}

bool rt_module_filter_wants(const void *frame)
{
	uintptr_t address = ((const uintptr_t *)frame)[1];
	uint32_t now = rt_load(&rt_generation) >> GENERATION_BITS;
	uint64_t verdict;

	if (RT_UNLIKELY(rt_load(&era) != now))
		forget_all(now);
	verdict = rt_load(place_of(address));
	if (RT_LIKELY((verdict & ~1ull) == key_of(address)))
		return verdict & 1;
	return judge_and_keep(address, frame);
}
