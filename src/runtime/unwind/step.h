/* SPDX-License-Identifier: MIT */
/*
 * One step outward: from the state at a return address, by its rule, to the state at the next.
 * docs/internals/unwinding.md says what each kind of rule reads. The walk takes the common ones
 * itself.
 */
#ifndef SEEP_RUNTIME_STEP_H
#define SEEP_RUNTIME_STEP_H

#include "runtime/unwind/rules.h"
#include "runtime/unwind/stack.h"

struct rt_state {
	uintptr_t ra_at; /* address of the return address */
	uintptr_t sp;	 /* ra_at + 8, unless a signal was crossed just now */
	uintptr_t ra;
	uintptr_t fp;
	uintptr_t limit; /* the stack is readable so far, and here it ends, or was not looked at */
	uintptr_t root;	 /* ra_at of the frame that left the thread's stack for a goroutine's; 0 */
	bool exact;	 /* ra is where a signal interrupted */
	bool moved;	 /* by this step: across a signal frame or onto another stack */
	bool ended;
	bool truncated; /* it ended, and not at the root */
	bool forget;	/* depends on more than frames: not to be remembered */
	bool away;	/* on a goroutine's stack */
	uint8_t moves;	/* of the whole walk */
};

/* At the caller of the function with frame address @fp: its frame pointer, its return address. */
RT_INLINE struct rt_state rt_state_begin(const uintptr_t *fp)
{
	return (struct rt_state){
		.ra_at = (uintptr_t)(fp + 1),
		.sp = (uintptr_t)(fp + 2),
		.ra = fp[1],
		.fp = fp[0],
		.limit = ((uintptr_t)fp | 4095) + 1,
	};
}

RT_INLINE uintptr_t rt_word_at(uintptr_t address)
{
	return *(const uintptr_t *)address;
}

/* Is @cfa where the frame's end may be? One compare says sp < cfa <= sp + the plausible. */
RT_INLINE bool rt_step_is_plausible(uintptr_t sp, uintptr_t cfa)
{
	return RT_LIKELY(cfa - sp - 1 < RT_FRAME_BYTES_PLAUSIBLE && !(cfa & 7));
}

/* Nothing called the function into which @s returns: the stack has no room for its caller. */
bool rt_step_is_outermost(const struct rt_state *s);

/* By any rule. @stack: of the thread; NULL to follow no frame pointer without a rule. */
RT_APART void rt_step(struct rt_state *s, rt_rule rule, struct rt_stack *stack);

#endif
