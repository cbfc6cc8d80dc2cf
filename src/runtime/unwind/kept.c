/* SPDX-License-Identifier: MIT */
#include "runtime/unwind/kept.h"

#include "runtime/unwind/memory.h"

#define EXACT (1ull << 63)
#define FOLLOWS_FP (1ull << 62)
#define FLAGS (EXACT | FOLLOWS_FP)

bool rt_walk_keep(const struct rt_walk *walk, rt_kept_frame *ret_frames)
{
	uint32_t length = rt_walk_length(walk);
	uint64_t all = 0;

	for (uint32_t i = 0; i < length; i++) {
		bool remembered = walk->stored || i < walk->base;
		rt_rule rule = remembered ? walk->now->frames[i].rule
					  : walk->fresh[length - 1 - i].rule;
		bool follows = rt_rule_kind(rule) == RT_RULE_FOLLOWS_FP && !(rule & RT_RULE_GO);
		bool exact;
		uintptr_t ra = rt_walk_address(walk, i, &exact);

		all |= ra;
		ret_frames[i] = ra | (exact ? EXACT : 0) | (follows ? FOLLOWS_FP : 0);
	}
	return !(all & FLAGS);
}

static rt_rule rule_of(rt_kept_frame frame)
{
	return (frame & FOLLOWS_FP ? RT_RULE_FOLLOWS_FP : 0) | (frame & EXACT ? RT_RULE_EXACT : 0);
}

/* A walk that crossed a signal frame is not remembered: as new frames. */
static bool recall_apart(struct rt_walk *walk, const rt_kept_frame *frames, uint32_t count)
{
	while (walk->fresh[-1].ra_at < count)
		if (!rt_fresh_grow(walk))
			return false;
	for (uint32_t i = 0; i < count; i++)
		walk->fresh[count - 1 - i] = (struct rt_fresh){ .ra = frames[i] & ~FLAGS,
								.rule = rule_of(frames[i]) };
	walk->stored = false;
	walk->base = 0;
	walk->fresh_count = count;
	return true;
}

bool rt_walk_recall(struct rt_walk *walk, const rt_kept_frame *frames, uint32_t count,
		    bool truncated)
{
	uint64_t all = 0;
	uint32_t same = 0;

	for (uint32_t i = 0; i < count; i++)
		all |= frames[i];
	walk->leaf = 0;
	walk->truncated = truncated;
	while (same < count && same < walk->now->count &&
	       walk->now->frames[same].ra == frames[same])
		same++;
	if (all & FLAGS || (count > walk->now->capacity && !rt_memory_grow(walk, count, same)))
		return recall_apart(walk, frames, count);
	for (uint32_t i = same; i < count; i++)
		walk->now->frames[i] = (struct rt_frame){ .ra = frames[i] };
	walk->now->count = count;
	walk->stored = true;
	walk->base = same;
	walk->fresh_count = count - same;
	return true;
}
