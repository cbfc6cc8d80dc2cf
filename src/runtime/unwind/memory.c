/* SPDX-License-Identifier: MIT */
#include "runtime/unwind/memory.h"

#include "runtime/sys/sys.h"
#include "runtime/unwind/peek.h"

#include <string.h>

/* What words point at that always hold. */
static const uintptr_t zero;

enum { WORDS_PER_FRAME = 2 };

static size_t memory_bytes(uint32_t capacity)
{
	/* One frame before the first, and one word more: a walk may have ended at a zero. */
	return sizeof(struct rt_memory) + ((size_t)capacity + 1) * sizeof(struct rt_frame) +
	       ((size_t)capacity * WORDS_PER_FRAME + RT_WORDS_BEFORE + 1) * sizeof(struct rt_word);
}

static struct rt_memory *memory_new(uint32_t capacity)
{
	struct rt_memory *memory = rt_mmap(memory_bytes(capacity));

	if (!memory)
		return NULL;
	memory->capacity = capacity;
	memory->frames = (struct rt_frame *)(memory + 1) + 1;
	memory->words = (struct rt_word *)(memory->frames + capacity) + RT_WORDS_BEFORE;
	/*
	 * Beyond the outermost frame is a ra_at beyond any; before the first word, some that hold.
	 */
	memory->frames[-1].ra_at = UINTPTR_MAX;
	for (int i = 1; i <= RT_WORDS_BEFORE; i++)
		memory->words[-i] = (struct rt_word){ (uintptr_t)&zero, 0 };
	return memory;
}

bool rt_memory_grow(struct rt_walk *walk, uint32_t count, uint32_t keep)
{
	struct rt_memory *old = walk->now;
	struct rt_memory *memory;
	uint32_t capacity = old->capacity;

	while (capacity < count)
		capacity *= 2;
	memory = capacity <= RT_WALK_FRAMES_MAX ? memory_new(capacity) : NULL;
	if (!memory)
		return false;
	memory->count = keep;
	memory->generation = old->generation;
	memory->truncated = old->truncated;
	memory->root = old->root;
	memcpy(memory->frames, old->frames, keep * sizeof(struct rt_frame));
	memcpy(memory->words, old->words, (keep * WORDS_PER_FRAME + 1) * sizeof(struct rt_word));
	atomic_signal_fence(memory_order_seq_cst);
	for (unsigned i = 0; i < RT_STACKS; i++)
		if (walk->memories[i] == old)
			walk->memories[i] = memory;
	walk->now = memory;
	atomic_signal_fence(memory_order_seq_cst);
	rt_munmap(old, memory_bytes(old->capacity));
	return true;
}

/*
 * New frames stand in a mapping of their own. Before the innermost stands one with the hook's
 * rule; its ra_at is the capacity.
 */
static struct rt_fresh *fresh_new(uint32_t capacity)
{
	struct rt_fresh *map = rt_mmap((capacity + 1) * sizeof(*map));

	if (!map)
		return NULL;
	map->ra_at = capacity;
	map->rule = RT_RULE_HOOK;
	return map + 1;
}

bool rt_fresh_grow(struct rt_walk *walk)
{
	struct rt_fresh *old = walk->fresh;
	uint32_t capacity = (uint32_t)old[-1].ra_at;
	struct rt_fresh *fresh;

	fresh = capacity * 2 <= RT_WALK_FRAMES_MAX ? fresh_new(capacity * 2) : NULL;
	if (!fresh)
		return false;
	memcpy(fresh, old, capacity * sizeof(*old));
	atomic_signal_fence(memory_order_seq_cst);
	walk->fresh = fresh;
	atomic_signal_fence(memory_order_seq_cst);
	rt_munmap(old - 1, (capacity + 1) * sizeof(*old));
	return true;
}

void rt_memory_drop(struct rt_memory *memory)
{
	memory->count = 0;
	memory->root = 0;
}

bool rt_walk_start(struct rt_walk *walk)
{
	if (!walk->fresh)
		walk->fresh = fresh_new(RT_WALK_FRAMES_FIRST);
	if (!walk->memories[0])
		walk->memories[0] = memory_new(RT_WALK_FRAMES_FIRST);
	if (!walk->fresh || !walk->memories[0])
		return false;
	rt_walk_reset(walk);
	walk->stack = (struct rt_stack){ 0 };
	walk->drift_most = RT_PEEK_DRIFT;
	return true;
}

void rt_walk_reset(struct rt_walk *walk)
{
	walk->leaf = 0;
	walk->floor = 0;
	walk->now = walk->memories[0];
	for (unsigned i = 0; i < RT_STACKS; i++)
		if (walk->memories[i])
			rt_memory_drop(walk->memories[i]);
}

static uintptr_t root_of(const struct rt_memory *memory)
{
	return memory ? memory->root : 0;
}

void rt_memory_find_floor(struct rt_walk *walk)
{
	walk->floor = 0;
	for (unsigned i = 0; i < RT_STACKS; i++) {
		uintptr_t root = root_of(walk->memories[i]);

		if (root < walk->now->root && root > walk->floor)
			walk->floor = root;
	}
}

/* Stacks do not overlap: the one that @ra_at is on has the next root above it. */
void rt_memory_choose(struct rt_walk *walk, uintptr_t ra_at)
{
	uintptr_t next = UINTPTR_MAX;

	walk->leaf = 0;
	for (unsigned i = 0; i < RT_STACKS; i++) {
		uintptr_t root = root_of(walk->memories[i]);

		if (root >= ra_at && root < next) {
			next = root;
			walk->now = walk->memories[i];
		}
	}
	rt_memory_find_floor(walk);
}

void rt_memory_renew(struct rt_walk *walk, uint32_t generation)
{
	walk->leaf = 0;
	rt_memory_drop(walk->now);
	walk->now->generation = generation;
}

void rt_memory_take_oldest(struct rt_walk *walk)
{
	uint32_t generation = walk->now->generation;
	struct rt_memory **place;

	do {
		walk->oldest = (walk->oldest + 1) % RT_STACKS;
		place = &walk->memories[walk->oldest];
	} while (*place == walk->now);
	if (!*place)
		*place = memory_new(RT_WALK_FRAMES_FIRST);
	if (*place)
		walk->now = *place;
	rt_memory_renew(walk, generation);
}
