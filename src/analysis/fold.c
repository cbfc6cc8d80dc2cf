/* SPDX-License-Identifier: MIT */
/* Whenever the last p entries equal the p before them, they are dropped and those marked. */
#include "analysis/fold.h"

#include <stdlib.h>

#include "base/xalloc.h"

void seep_folder_init(struct seep_folder *folder, const struct seep_sites *sites,
		      enum seep_fold_by by)
{
	*folder = (struct seep_folder){ .sites = sites, .by = by };
	folder->last = seep_xcalloc(by == SEEP_FOLD_BY_LINE ? sites->line_count
							    : sites->function_count,
				    sizeof(*folder->last));
}

void seep_folder_done(struct seep_folder *folder)
{
	free(folder->last);
	free(folder->ids);
	free(folder->room);
}

static bool tail_repeats(const struct seep_fold_id *ids, uint32_t count, uint32_t period)
{
	for (uint32_t i = 1; i <= period; i++)
		if (ids[count - i].id != ids[count - period - i].id)
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

/* Fill in ids. False where nothing comes again within the longest period: in most stacks. */
static bool may_repeat(struct seep_folder *folder, const struct seep_profile_stack_entry *stack,
		       uint32_t count)
{
	bool again = false;

	for (uint32_t i = 0; i < count; i++) {
		const struct seep_site *site = &folder->sites->of_frame[stack[i].frame];
		const uint32_t id = folder->by == SEEP_FOLD_BY_LINE ? site->line : site->function;
		const uint64_t since = ++folder->position - folder->last[id];

		folder->last[id] = folder->position;
		folder->ids[i].id = id;
		folder->ids[i].since = since <= i ? (uint32_t)since : UINT32_MAX;
		again |= since <= i && since <= SEEP_FOLD_PERIOD_MAX;
	}
	return again;
}

uint32_t seep_fold(struct seep_folder *folder, const struct seep_profile_stack_entry **stack,
		   uint32_t count)
{
	struct seep_profile_stack_entry *room;
	struct seep_fold_id *ids;
	uint32_t kept = 0;

	folder->ids = ids = seep_xgrow(folder->ids, &folder->id_capacity, count, sizeof(*ids));
	if (!may_repeat(folder, *stack, count))
		return count;
	folder->room = room = seep_xgrow(folder->room, &folder->room_capacity, count,
					 sizeof(*room));
	for (uint32_t i = 0; i < count; i++) {
		/* What is folded brings those closer together that it stands between. */
		const uint32_t dropped = i - kept;
		uint32_t period = ids[i].since > dropped ? ids[i].since - dropped : 1;

		room[kept] = (*stack)[i];
		ids[kept++] = ids[i];
		for (; period <= SEEP_FOLD_PERIOD_MAX && 2 * period <= kept; period++) {
			if (!tail_repeats(ids, kept, period))
				continue;
			mark(room, kept, period);
			kept -= period;
			break;
		}
	}
	if (kept < count)
		*stack = room;
	return kept;
}
