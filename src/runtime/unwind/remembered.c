/* SPDX-License-Identifier: MIT */
#include "runtime/unwind/remembered.h"

#include "runtime/sys/sys.h"

#include <string.h>

/* What words point at that always hold. Not a constant: those lie in other pages. */
static uintptr_t zero;

enum { WORDS_PER_FRAME = 2 };

static size_t remembered_bytes(uint32_t capacity)
{
	/* One frame before the first, and one word more: a walk may have ended at a zero. */
	return sizeof(struct rt_remembered) + ((size_t)capacity + 1) * sizeof(struct rt_frame) +
	       ((size_t)capacity * WORDS_PER_FRAME + RT_WORDS_BEFORE + 1) * sizeof(struct rt_word);
}

/* Before the innermost new frame stands one with the hook's rule; its ra_at is the capacity. */
static size_t fresh_bytes(uint32_t capacity)
{
	return ((size_t)capacity + 1) * sizeof(struct rt_fresh);
}

/*
 * A thread's first remembered walk and new frames stand in its room, both with this capacity. What has a
 * larger one is a piece of memory of its own.
 */
enum {
	ROOM_FRAMES = (RT_WALK_ROOM_BYTES - sizeof(struct rt_remembered) - sizeof(struct rt_frame) -
		       (RT_WORDS_BEFORE + 1) * sizeof(struct rt_word) - sizeof(struct rt_fresh)) /
		      (sizeof(struct rt_frame) + WORDS_PER_FRAME * sizeof(struct rt_word) +
		       sizeof(struct rt_fresh)),
};

/*
 * The capacity of the next larger piece with room for @count, twice as large each time; 0: more
 * than is ever remembered. What a deep stack touches lies close together.
 */
static uint32_t capacity_for(uint32_t count, size_t (*bytes_of)(uint32_t), size_t per_frame)
{
	size_t bytes = LEDGER_PAGE_BYTES, capacity;

	if (count > RT_WALK_FRAMES_MAX)
		return 0;
	do {
		capacity = (bytes - bytes_of(0)) / per_frame;
		bytes *= 2;
	} while (capacity < count);
	return capacity < RT_WALK_FRAMES_MAX ? (uint32_t)capacity : RT_WALK_FRAMES_MAX;
}

static uint32_t remembered_capacity(uint32_t count)
{
	return capacity_for(count, remembered_bytes,
			    sizeof(struct rt_frame) + WORDS_PER_FRAME * sizeof(struct rt_word));
}

/* Make one of @map. */
static struct rt_remembered *remembered_init(void *map, uint32_t capacity)
{
	struct rt_remembered *it = map;

	if (!it)
		return NULL;
	it->capacity = capacity;
	it->frames = (struct rt_frame *)(it + 1) + 1;
	it->words = (struct rt_word *)(it->frames + capacity) + RT_WORDS_BEFORE;
	/*
	 * Beyond the outermost frame is a ra_at beyond any; before the first word, some that hold.
	 */
	it->frames[-1].ra_at = UINTPTR_MAX;
	for (int i = 1; i <= RT_WORDS_BEFORE; i++)
		it->words[-i] = (struct rt_word){ (uintptr_t)&zero, 0 };
	return it;
}

static struct rt_remembered *remembered_new(uint32_t capacity)
{
	return capacity ? remembered_init(rt_mmap(remembered_bytes(capacity)), capacity) : NULL;
}

bool rt_remembered_grow(struct rt_walk *walk, uint32_t count, uint32_t keep)
{
	struct rt_remembered *old = walk->now;
	struct rt_remembered *it = remembered_new(remembered_capacity(count));

	if (!it)
		return false;
	it->count = keep;
	it->generation = old->generation;
	it->truncated = old->truncated;
	it->root = old->root;
	memcpy(it->frames, old->frames, keep * sizeof(struct rt_frame));
	memcpy(it->words, old->words, (keep * WORDS_PER_FRAME + 1) * sizeof(struct rt_word));
	atomic_signal_fence(memory_order_seq_cst);
	for (unsigned i = 0; i < RT_STACKS; i++)
		if (walk->remembered[i] == old)
			walk->remembered[i] = it;
	walk->now = it;
	atomic_signal_fence(memory_order_seq_cst);
	if (old->capacity > ROOM_FRAMES)
		rt_munmap(old, remembered_bytes(old->capacity));
	return true;
}

static struct rt_fresh *fresh_init(void *map, uint32_t capacity)
{
	struct rt_fresh *first = map;

	if (!first)
		return NULL;
	first->ra_at = capacity;
	first->rule = RT_RULE_HOOK;
	return first + 1;
}

bool rt_fresh_grow(struct rt_walk *walk)
{
	struct rt_fresh *old = walk->fresh;
	uint32_t capacity = (uint32_t)old[-1].ra_at;
	uint32_t larger = capacity_for(capacity + 1, fresh_bytes, sizeof(struct rt_fresh));
	struct rt_fresh *fresh;

	fresh = larger ? fresh_init(rt_mmap(fresh_bytes(larger)), larger) : NULL;
	if (!fresh)
		return false;
	memcpy(fresh, old, capacity * sizeof(*old));
	atomic_signal_fence(memory_order_seq_cst);
	walk->fresh = fresh;
	atomic_signal_fence(memory_order_seq_cst);
	if (capacity > ROOM_FRAMES)
		rt_munmap(old - 1, fresh_bytes(capacity));
	return true;
}

void rt_remembered_drop(struct rt_remembered *it)
{
	it->count = 0;
	it->root = 0;
}

void rt_walk_start(struct rt_walk *walk, void *room)
{
	if (!walk->fresh || !walk->remembered[0]) {
		walk->remembered[0] = remembered_init(room, ROOM_FRAMES);
		walk->fresh = fresh_init((char *)room + remembered_bytes(ROOM_FRAMES), ROOM_FRAMES);
	}
	rt_walk_reset(walk);
	walk->stack = (struct rt_stack){ 0 };
	walk->drift_most = RT_PEEK_DRIFT;
}

void rt_walk_reset(struct rt_walk *walk)
{
	walk->leaf = 0;
	walk->floor = 0;
	walk->now = walk->remembered[0];
	for (unsigned i = 0; i < RT_STACKS; i++)
		if (walk->remembered[i])
			rt_remembered_drop(walk->remembered[i]);
}

static uintptr_t root_of(const struct rt_remembered *it)
{
	return it ? it->root : 0;
}

void rt_remembered_find_floor(struct rt_walk *walk)
{
	walk->floor = 0;
	for (unsigned i = 0; i < RT_STACKS; i++) {
		uintptr_t root = root_of(walk->remembered[i]);

		if (root < walk->now->root && root > walk->floor)
			walk->floor = root;
	}
}

/* Stacks do not overlap: the one that @ra_at is on has the next root above it. */
void rt_remembered_choose(struct rt_walk *walk, uintptr_t ra_at)
{
	uintptr_t next = UINTPTR_MAX;

	walk->leaf = 0;
	for (unsigned i = 0; i < RT_STACKS; i++) {
		uintptr_t root = root_of(walk->remembered[i]);

		if (root >= ra_at && root < next) {
			next = root;
			walk->now = walk->remembered[i];
		}
	}
	rt_remembered_find_floor(walk);
}

void rt_remembered_renew(struct rt_walk *walk, uint32_t generation)
{
	walk->leaf = 0;
	rt_remembered_drop(walk->now);
	walk->now->generation = generation;
}

void rt_remembered_take_oldest(struct rt_walk *walk)
{
	uint32_t generation = walk->now->generation;
	struct rt_remembered **place;

	do {
		walk->oldest = (walk->oldest + 1) % RT_STACKS;
		place = &walk->remembered[walk->oldest];
	} while (*place == walk->now);
	if (!*place)
		*place = remembered_new(remembered_capacity(1));
	if (*place)
		walk->now = *place;
	rt_remembered_renew(walk, generation);
}
