/* SPDX-License-Identifier: MIT */
/* Whenever the last p entries equal the p before them, they are dropped and those marked. */
#include "analysis/fold.h"

#include <string.h>

static bool tail_repeats(const struct seep_sites *sites, enum seep_fold_by by,
			 const struct seep_profile_stack_entry *stack, uint32_t count,
			 uint32_t period)
{
	for (uint32_t i = 1; i <= period; i++)
		if (seep_fold_id(sites, by, stack[count - i].frame) !=
		    seep_fold_id(sites, by, stack[count - period - i].frame))
			return false;
	return true;
}

uint64_t seep_fold_frames(const struct seep_profile_stack_entry *stack, uint32_t count)
{
	uint64_t frames = 0;

	for (uint32_t i = 0; i < count; i++) {
		if (stack[i].period > 0 && stack[i].repeats == SEEP_FOLD_REPEATS_MAX)
			return UINT32_MAX;
		frames += (uint64_t)stack[i].period * stack[i].repeats;
	}
	return frames;
}

/* The last @period entries repeat those before: mark the innermost that stays. */
static void mark(struct seep_profile_stack_entry *stack, uint32_t count, uint32_t period)
{
	struct seep_profile_stack_entry *kept = &stack[count - 2 * period];
	const uint64_t frames = period + seep_fold_frames(kept, 2 * period);
	const uint64_t repeats = (frames + period - 1) / period;

	for (uint32_t i = 1; i < period; i++) {
		kept[i].period = 0;
		kept[i].repeats = 0;
	}
	kept->period = (uint8_t)period;
	kept->repeats = (uint16_t)(repeats < SEEP_FOLD_REPEATS_MAX ? repeats
								   : SEEP_FOLD_REPEATS_MAX);
}

/*
 * Whether some frame comes again within the longest period: without that nothing folds. Most stacks
 * have no recursion, and this is a quarter of the work.
 */
static bool may_repeat(const struct seep_sites *sites, enum seep_fold_by by,
		       const struct seep_profile_stack_entry *stack, uint32_t count)
{
	uint32_t recent[SEEP_FOLD_PERIOD_MAX];

	for (uint32_t k = 0; k < SEEP_FOLD_PERIOD_MAX; k++)
		recent[k] = UINT32_MAX;
	for (uint32_t i = 0; i < count; i++) {
		const uint32_t id = seep_fold_id(sites, by, stack[i].frame);
		uint32_t same = 0;

		for (uint32_t k = 0; k < SEEP_FOLD_PERIOD_MAX; k++)
			same |= recent[k] == id;
		if (same)
			return true;
		recent[i % SEEP_FOLD_PERIOD_MAX] = id;
	}
	return false;
}

uint32_t seep_fold(const struct seep_sites *sites, enum seep_fold_by by,
		   const struct seep_profile_stack_entry *stack, uint32_t count,
		   struct seep_profile_stack_entry *ret_stack)
{
	uint32_t kept = 0;

	if (!may_repeat(sites, by, stack, count)) {
		if (count)
			memcpy(ret_stack, stack, count * sizeof(*stack));
		return count;
	}
	for (uint32_t i = 0; i < count; i++) {
		ret_stack[kept++] = stack[i];
		for (uint32_t period = 1; period <= SEEP_FOLD_PERIOD_MAX && 2 * period <= kept;
		     period++) {
			if (!tail_repeats(sites, by, ret_stack, kept, period))
				continue;
			mark(ret_stack, kept, period);
			kept -= period;
			break;
		}
	}
	return kept;
}

bool seep_fold_equal(const struct seep_sites *sites, enum seep_fold_by by,
		     const struct seep_profile_stack_entry *a, uint32_t a_count,
		     const struct seep_profile_stack_entry *b, uint32_t b_count)
{
	if (a_count != b_count)
		return false;
	for (uint32_t i = 0; i < a_count; i++)
		if (seep_fold_id(sites, by, a[i].frame) != seep_fold_id(sites, by, b[i].frame))
			return false;
	return true;
}

void seep_fold_deepen(struct seep_profile_stack_entry *known,
		      const struct seep_profile_stack_entry *other)
{
	if (other->period == 0 || (known->period > 0 && known->repeats >= other->repeats))
		return;
	known->period = other->period;
	known->repeats = other->repeats;
}
