/* SPDX-License-Identifier: MIT */
#include "runtime/life/exit_late.h"

#include "runtime/sys/rt_facts.h"
#include "runtime/track/thread.h"
#include "runtime/unwind/modules.h"
#include "runtime/unwind/step.h"

enum { REGISTER_FP = 1, FRAMES_MAX = 1 << 16 };

static bool find_frame(uintptr_t pc, struct cfi_frame *ret_frame)
{
	struct cfi_module module;

	return rt_module_find(pc - 1, &module) &&
	       cfi_frame_find(&module, pc, ret_frame) == CFI_FOUND;
}

/*
 * Of the last allocation's frames the one that returns as @s does; NULL: none. *@left: those not
 * passed yet, as @s moves outward.
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

/* @outer: the frame of the last allocation that returns where the function of @frame does. */
static bool ran_then(const struct rt_memory *last, const struct rt_frame *outer,
		     const struct cfi_frame *frame)
{
	struct cfi_frame then;

	return outer + 1 < last->frames + last->count && find_frame(outer[1].ra, &then) &&
	       then.function == frame->function;
}

/* How many there are; 0 also where the way outward does not meet the last allocation's. */
static uint32_t find_late(const struct rt_memory *last, struct rt_state s)
{
	const uint32_t generation = rt_load(&rt_generation);
	uint32_t count = 0, left = last->count;

	for (unsigned i = 0; i < FRAMES_MAX; i++) {
		const struct rt_frame *outer;
		struct cfi_frame frame;
		uintptr_t begin = s.sp;

		if (!find_frame(s.ra, &frame))
			return 0;
		s = rt_step(s, rt_rule_known(s.ra, false, generation), NULL);
		if (s.ended || s.moved || s.exact)
			return 0;
		outer = find_same(last, &s, &left);
		if (outer && ran_then(last, outer, &frame))
			return count;
		if (count < LEDGER_EXIT_LATE_MAX && frame.saved_bytes < s.sp - begin) {
			rt_store(&rt_facts.exit_late[count].begin, begin);
			rt_store(&rt_facts.exit_late[count].end, s.sp - frame.saved_bytes);
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
	if (!last || rt_load(&thread->busy) || !thread->walk.stored ||
	    last->generation != rt_load(&rt_generation))
		return;
	rt_store(&rt_facts.exit_late_count, find_late(last, caller));
}
