/* SPDX-License-Identifier: MIT */
#include "recording/recording_segments.h"

#include "base/xalloc.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
	PLACES_MIN = 4096,
	ENTRIES_MAX = 4096, /* of one segment, so that no row is very long */
};

#define SEGMENTS_MAX (1u << 31)

void seep_recording_segments_init(struct seep_recording_segments *segments)
{
	memset(segments, 0, sizeof(*segments));
	segments->places = seep_xcalloc(PLACES_MIN, sizeof(*segments->places));
	segments->mask = PLACES_MIN - 1;
}

void seep_recording_segments_done(struct seep_recording_segments *segments)
{
	free(segments->items);
	free(segments->places);
	free(segments->path);
}

static bool same_entry(const struct seep_profile_stack_entry *a,
		       const struct seep_profile_stack_entry *b)
{
	return a->frame == b->frame && a->period == b->period && a->repeats == b->repeats;
}

static const struct seep_profile_stack_entry *outermost(
	const struct seep_recording_segment *segment)
{
	return &segment->entries[segment->count - 1];
}

/* Segments under one parent differ in their outermost entry. */
static uint64_t hash_start(uint32_t parent, const struct seep_profile_stack_entry *entry)
{
	uint64_t mixed = (uint64_t)parent << 32 | entry->frame;

	mixed ^= (uint64_t)entry->period << 56 ^ (uint64_t)entry->repeats << 40;
	mixed *= 0x9e3779b97f4a7c15ull;
	mixed ^= mixed >> 32;
	mixed *= 0xd6e8feb86659fd93ull;
	return mixed ^ mixed >> 32;
}

/* The place of the segment under @parent that starts with @entry, or the free one for it. */
static uint32_t *find(struct seep_recording_segments *segments, uint32_t parent,
		      const struct seep_profile_stack_entry *entry)
{
	uint64_t at = hash_start(parent, entry) & segments->mask;

	while (segments->places[at]) {
		const struct seep_recording_segment *segment;

		segment = &segments->items[segments->places[at] - 1];
		if (segment->parent == parent && same_entry(outermost(segment), entry))
			break;
		at = (at + 1) & segments->mask;
	}
	return &segments->places[at];
}

static void grow_places(struct seep_recording_segments *segments)
{
	free(segments->places);
	segments->mask = segments->mask * 2 + 1;
	segments->places = seep_xcalloc(segments->mask + 1, sizeof(*segments->places));
	for (uint32_t i = 0; i < segments->count; i++) {
		const struct seep_recording_segment *segment = &segments->items[i];

		*find(segments, segment->parent, outermost(segment)) = i + 1;
	}
}

/* A new segment, not yet to be found. Returns index + 1. */
static uint32_t append(struct seep_recording_segments *segments,
		       const struct seep_recording_segment *segment)
{
	segments->items = seep_xgrow(segments->items, &segments->capacity,
				     (size_t)segments->count + 1, sizeof(*segments->items));
	segments->items[segments->count] = *segment;
	return ++segments->count;
}

static void make_room(struct seep_recording_segments *segments)
{
	/* Both that a split can add. */
	if (segments->count + 2 > segments->mask / 2)
		grow_places(segments);
}

/* Let the first @outer entries of the segment at @place be one of their own. Returns its index + 1. */
static uint32_t split(struct seep_recording_segments *segments, uint32_t *place, uint32_t outer)
{
	const uint32_t inner = *place;
	struct seep_recording_segment *segment = &segments->items[inner - 1];
	const struct seep_recording_segment start = {
		.entries = segment->entries + (segment->count - outer),
		.count = outer,
		.parent = segment->parent,
	};
	uint32_t made;

	segment->count -= outer;
	made = append(segments, &start);
	segment = &segments->items[inner - 1];
	segment->parent = made;
	*place = made;
	*find(segments, made, outermost(segment)) = inner;
	return made;
}

static void step_to(struct seep_recording_segments *segments, uint32_t segment, uint32_t end)
{
	segments->path = seep_xgrow(segments->path, &segments->path_capacity,
				    (size_t)segments->path_count + 1, sizeof(*segments->path));
	segments->path[segments->path_count++] = (struct seep_recording_step){ segment, end };
}

/* Go back to where @stack leaves the path of the last one. Returns the entries that are left. */
static uint32_t resume(struct seep_recording_segments *segments,
		       const struct seep_profile_stack_entry *stack, uint32_t count)
{
	uint32_t shared = 0;
	uint32_t kept = 0;

	while (shared < count && shared < segments->last_count &&
	       same_entry(&stack[count - 1 - shared],
			  &segments->last[segments->last_count - 1 - shared]))
		shared++;
	while (kept < segments->path_count && segments->path[kept].end <= shared)
		kept++;
	segments->path_count = kept;
	return kept ? count - segments->path[kept - 1].end : count;
}

/* How many entries of @segment, from the root, are the next ones of a stack of which @left remain. */
static uint32_t match(const struct seep_recording_segment *segment,
		      const struct seep_profile_stack_entry *stack, uint32_t left)
{
	uint32_t matched = 0;

	while (matched < segment->count && matched < left &&
	       same_entry(&segment->entries[segment->count - 1 - matched],
			  &stack[left - 1 - matched]))
		matched++;
	return matched;
}

/* Enter the next piece of @stack under @parent. Returns how many entries that were. */
static uint32_t enter(struct seep_recording_segments *segments, uint32_t parent,
		      const struct seep_profile_stack_entry *stack, uint32_t left, uint32_t depth)
{
	uint32_t *place = find(segments, parent, &stack[left - 1]);
	uint32_t taken = left < ENTRIES_MAX ? left : ENTRIES_MAX;
	uint32_t segment = *place;

	if (!segment) {
		const struct seep_recording_segment start = { .entries = stack + (left - taken),
							      .count = taken,
							      .parent = parent };

		segment = *place = append(segments, &start);
	} else {
		taken = match(&segments->items[segment - 1], stack, left);
		if (taken < segments->items[segment - 1].count)
			segment = split(segments, place, taken);
	}
	step_to(segments, segment, depth + taken);
	return taken;
}

int seep_recording_segments_add(struct seep_recording_segments *segments,
				const struct seep_profile_stack_entry *stack, uint32_t count,
				uint32_t *ret_leaf, struct seep_error *err)
{
	uint32_t left = resume(segments, stack, count);
	uint32_t parent = 0;

	segments->last = stack;
	segments->last_count = count;
	while (left > 0) {
		if (segments->count >= SEGMENTS_MAX - 2)
			return seep_fail(err, SEEP_ELIMIT,
					 "more than %u pieces in the tree of stacks", SEGMENTS_MAX);
		make_room(segments);
		parent = segments->path_count ? segments->path[segments->path_count - 1].segment
					      : 0;
		left -= enter(segments, parent, stack, left, count - left);
	}
	*ret_leaf = segments->path_count ? segments->path[segments->path_count - 1].segment : 0;
	return 0;
}

/* Number those on the way from @segment to the root that have no id yet, outermost first. */
static void number_path(struct seep_recording_segments *segments, uint32_t segment, uint32_t *order,
			uint32_t *numbered)
{
	uint32_t missing = 0;

	for (uint32_t at = segment; at && !segments->items[at - 1].id;
	     at = segments->items[at - 1].parent)
		missing++;
	*numbered += missing;
	for (uint32_t i = 0; i < missing; i++) {
		order[*numbered - 1 - i] = segment - 1;
		segments->items[segment - 1].id = *numbered - i;
		segment = segments->items[segment - 1].parent;
	}
}

uint32_t *seep_recording_segments_number(struct seep_recording_segments *segments)
{
	uint32_t *order = seep_xcalloc(segments->count, sizeof(*order));
	uint32_t numbered = 0;

	for (uint32_t i = 0; i < segments->count; i++)
		number_path(segments, i + 1, order, &numbered);
	return order;
}
