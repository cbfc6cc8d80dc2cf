/* SPDX-License-Identifier: MIT */
#include "runtime/life/exit_late.h"

#include "runtime/sys/rt_facts.h"
#include "runtime/track/thread.h"
#include "runtime/unwind/modules.h"
#include "runtime/unwind/step.h"

enum { REGISTER_FP = 1, FRAMES_MAX = 4096 };

/* A frame that was found, and where: recursion returns to one place. */
struct found {
	uintptr_t pc;
	struct cfi_frame frame;
};

static bool find_frame(uintptr_t pc, struct found *found)
{
	struct cfi_module module;

	if (pc == found->pc)
		return true;
	found->pc = 0;
	if (!rt_module_find(pc - 1, &module) ||
	    cfi_frame_find(&module, pc, &found->frame) != CFI_FOUND || !found->frame.function)
		return false;
	found->pc = pc;
	return true;
}

/*
 * The frame of the last allocation whose return address is @s's, at the same place; NULL: none.
 * *@left: how many frames are further out; the inner ones are never looked at again.
 */
static const struct rt_frame *find_same(const struct rt_memory *last, const struct rt_state *s,
					uint32_t *left)
{
	const struct rt_frame *frames = last->frames;

	while (*left && frames[*left - 1].ra_at < s->ra_at)
		--*left;
	return *left && frames[*left - 1].ra_at == s->ra_at && frames[*left - 1].ra == s->ra
		       ? &frames[*left - 1]
		       : NULL;
}

/* A direct call always calls the same function. */
static bool is_after_direct_call(uintptr_t pc)
{
	enum { CALL = 0xe8, CALL_BYTES = 5 };

	return *(const uint8_t *)(pc - CALL_BYTES) == CALL;
}

/*
 * At the last allocation @outer's return address was there, too: was it @function that it had
 * called? A tail call may have put another in its place; after a direct call that is not looked
 * for, as a function's cold part looks like another function.
 */
static bool ran_then(const struct rt_memory *last, const struct rt_frame *outer, uintptr_t function)
{
	struct found then = { 0 };

	return is_after_direct_call(outer->ra) || outer + 1 >= last->frames + last->count ||
	       !find_frame(outer[1].ra, &then) || then.frame.function == function;
}

/*
 * Writes the late frames to rt_facts. Returns how many; 0 also where the way outward never meets
 * the last allocation's.
 */
static uint32_t find_late(const struct rt_memory *last, struct rt_state s)
{
	const uint32_t generation = rt_load(&rt_generation);
	uint32_t count = 0, left = last->count;
	struct found found = { 0 };

	for (unsigned i = 0; i < FRAMES_MAX; i++) {
		const struct rt_frame *outer;
		uintptr_t begin = s.sp;
		uint64_t saved_bytes;

		if (!find_frame(s.ra, &found))
			return 0;
		saved_bytes = found.frame.saved_bytes;
		s = rt_step(s, rt_rule_known(s.ra, false, generation), NULL);
		if (s.ended || s.moved || s.exact)
			return 0;
		outer = find_same(last, &s, &left);
		if (outer && ran_then(last, outer, found.frame.function))
			return count;
		if (count < LEDGER_EXIT_LATE_MAX && saved_bytes < s.sp - begin) {
			rt_store(&rt_facts.exit_late[count].begin, begin);
			rt_store(&rt_facts.exit_late[count].end, s.sp - saved_bytes);
			count++;
		}
		if (outer)
			return count;
	}
	return 0;
}

void rt_exit_find_late(const uint64_t registers[LEDGER_EXIT_REGISTERS + 1])
{
	const uint64_t *stack = &registers[LEDGER_EXIT_REGISTERS];
	const struct rt_thread *thread = rt_tls.thread;
	const struct rt_memory *last = thread ? thread->walk.now : NULL;
	const struct rt_state caller = {
		.ra_at = (uintptr_t)stack,
		.sp = (uintptr_t)(stack + 1),
		.ra = *stack,
		.fp = registers[REGISTER_FP],
		.limit = UINTPTR_MAX,
	};

	/* In a handler that interrupted a hook, what is remembered may be half of two walks. */
	if (!last || rt_load(&thread->busy) || !thread->walk.stored || thread->walk.is_behind ||
	    last->generation != rt_load(&rt_generation))
		return;
	rt_store(&rt_facts.exit_late_count, find_late(last, caller));
}
