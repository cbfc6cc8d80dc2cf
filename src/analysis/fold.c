/* SPDX-License-Identifier: MIT */
/* Whenever the last p entries equal the p before them, they are dropped and those marked. */
#include "analysis/fold.h"

#include <stdlib.h>

#include "base/xalloc.h"

void seep_folder_done(struct seep_folder *folder)
{
	free(folder->ids);
	free(folder->room);
}

static bool tail_repeats(const uint32_t *ids, uint32_t count, uint32_t period)
{
	for (uint32_t i = 1; i <= period; i++)
		if (ids[count - i] != ids[count - period - i])
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

uint32_t seep_fold(struct seep_folder *folder, const struct seep_profile_stack_entry **stack,
		   uint32_t count)
{
	struct seep_profile_stack_entry *room;
	uint32_t *ids, kept = 0;

	folder->ids = ids = seep_xgrow(folder->ids, &folder->id_capacity, count, sizeof(*ids));
	folder->room = room = seep_xgrow(folder->room, &folder->room_capacity, count,
					 sizeof(*room));
	for (uint32_t i = 0; i < count; i++) {
		const struct seep_site *site = &folder->sites->of_frame[(*stack)[i].frame];

		room[kept] = (*stack)[i];
		ids[kept++] = folder->by == SEEP_FOLD_BY_LINE ? site->line : site->function;
		for (uint32_t p = 1; p <= SEEP_FOLD_PERIOD_MAX && 2 * p <= kept; p++) {
			if (!tail_repeats(ids, kept, p))
				continue;
			mark(room, kept, p);
			kept -= p;
			break;
		}
	}
	if (kept < count)
		*stack = room;
	return kept;
}
