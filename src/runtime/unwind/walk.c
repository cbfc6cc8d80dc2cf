/* SPDX-License-Identifier: MIT */
#include "runtime/unwind/walk.h"

#include "runtime/life/sys.h"
#include "runtime/unwind/step.h"

#include <string.h>

enum { WORDS_PER_FRAME = 2 };

/* ---- memory -------------------------------------------------------------------------------- */

/* What words point at that always hold, or never. */
static const uintptr_t zero;

static size_t memory_bytes(uint32_t capacity)
{
	return ((size_t)capacity + 1) * sizeof(struct rt_frame) +
	       /* One more: a walk may have ended at a word of zero. */
	       ((size_t)capacity * WORDS_PER_FRAME + RT_WORDS_BEFORE + 1) * sizeof(struct rt_word);
}

/* Before the outermost frame stands one beyond any slot, before the first word some that hold. */
static bool memory_make(struct rt_memory *memory, uint32_t capacity)
{
	struct rt_frame *map = rt_mmap(memory_bytes(capacity));

	if (!map)
		return false;
	map->slot = UINTPTR_MAX;
	*memory = (struct rt_memory){
		.frames = map + 1,
		.words = (struct rt_word *)(map + 1 + capacity) + RT_WORDS_BEFORE,
		.capacity = capacity,
	};
	for (int i = 1; i <= RT_WORDS_BEFORE; i++)
		memory->words[-i] = (struct rt_word){ (uintptr_t)&zero, 0 };
	return true;
}

/* Room for @count frames, keeping the first @keep and their words. */
static RT_COLD bool memory_grow(struct rt_memory *memory, uint32_t count, uint32_t keep)
{
	struct rt_memory before = *memory;
	uint32_t capacity = before.capacity;

	while (capacity < count)
		capacity *= 2;
	if (capacity > RT_WALK_FRAMES_MAX || !memory_make(memory, capacity))
		return false;
	memcpy(memory->frames, before.frames, keep * sizeof(struct rt_frame));
	memcpy(memory->words, before.words, (keep * WORDS_PER_FRAME + 1) * sizeof(struct rt_word));
	memory->generation = before.generation;
	memory->count = keep;
	memory->root = before.root;
	memory->truncated = before.truncated;
	rt_munmap(before.frames - 1, memory_bytes(before.capacity));
	return true;
}

/* Before the innermost new frame stands one with the hook's rule. */
static bool fresh_make(struct rt_walk *walk, uint32_t capacity)
{
	struct rt_fresh *map = rt_mmap((capacity + 1) * sizeof(*map));

	if (!map)
		return false;
	map->rule = RT_RULE_HOOK;
	walk->fresh = map + 1;
	walk->fresh_capacity = capacity;
	return true;
}

static RT_COLD bool fresh_grow(struct rt_walk *walk)
{
	struct rt_fresh *before = walk->fresh;
	uint32_t capacity = walk->fresh_capacity;

	if (capacity * 2 > RT_WALK_FRAMES_MAX || !fresh_make(walk, capacity * 2))
		return false;
	memcpy(walk->fresh, before, capacity * sizeof(*before));
	rt_munmap(before - 1, (capacity + 1) * sizeof(*before));
	return true;
}

bool rt_walk_start(struct rt_walk *walk)
{
	if (!walk->fresh && !fresh_make(walk, RT_WALK_FRAMES_FIRST))
		return false;
	if (!walk->now.frames && !memory_make(&walk->now, RT_WALK_FRAMES_FIRST))
		return false;
	rt_walk_drop(walk);
	for (unsigned i = 0; i < RT_WALKS_PARKED; i++) {
		walk->parked[i].count = 0;
		walk->parked[i].root = 0;
	}
	walk->floor = 0;
	walk->stack = (struct rt_stack){ 0 };
	return true;
}

/* ---- several stacks ------------------------------------------------------------------------ */

static void exchange(struct rt_walk *walk, struct rt_memory *parked)
{
	struct rt_memory other = *parked;

	*parked = walk->now;
	walk->now = other;
}

static void find_floor(struct rt_walk *walk)
{
	walk->floor = 0;
	for (unsigned i = 0; i < RT_WALKS_PARKED; i++) {
		uintptr_t root = walk->parked[i].root;

		if (root < walk->now.root && root > walk->floor)
			walk->floor = root;
	}
}

/* Stacks do not overlap: the one that @slot is on, if remembered, has the next root above it. */
static RT_COLD void choose_stack(struct rt_walk *walk, uintptr_t slot)
{
	uintptr_t next = walk->now.root >= slot ? walk->now.root : UINTPTR_MAX;
	struct rt_memory *best = NULL;

	for (unsigned i = 0; i < RT_WALKS_PARKED; i++) {
		uintptr_t root = walk->parked[i].root;

		if (root >= slot && root < next) {
			next = root;
			best = &walk->parked[i];
		}
	}
	if (best)
		exchange(walk, best);
	find_floor(walk);
}

/* A whole walk on a stack other than the remembered one: keep that one, in place of the oldest. */
static RT_COLD void park(struct rt_walk *walk)
{
	struct rt_memory *into = &walk->parked[walk->next_parked];

	if (!into->frames && !memory_make(into, RT_WALK_FRAMES_FIRST))
		return;
	walk->next_parked = (walk->next_parked + 1) % RT_WALKS_PARKED;
	exchange(walk, into);
	walk->now.generation = into->generation;
	walk->now.count = 0;
	walk->now.root = 0;
}

/* ---- remembering --------------------------------------------------------------------------- */

/* Note the words that were read on the way to @frame, by the rule @way; returns the next place. */
RT_INLINE struct rt_word *put_words(struct rt_word *word, const struct rt_frame *frame, rt_rule way)
{
	word->at = frame->slot;
	word->value = frame->ra;
	word++;
	if (RT_UNLIKELY(way & RT_RULE_READS_CFA)) {
		/* Never holds: the slot itself came from memory. Step again. */
		word->at = (uintptr_t)&zero;
		word->value = 1;
		return word + 1;
	}
	if (frame->rule & RT_RULE_NEEDS_FP && way & RT_RULE_SAVES_FP) {
		word->at = frame->slot + 8 + rt_rule_fp_offset(way);
		word->value = frame->fp;
		word++;
	}
	return word;
}

/* Does the way outward from a frame with @rule depend on its fp? */
RT_INLINE rt_rule need_here(rt_rule rule, rt_rule needed_outside)
{
	if (rule & RT_RULE_USES_FP)
		return RT_RULE_NEEDS_FP;
	return rule & RT_RULE_SAVES_FP ? 0 : needed_outside;
}

/*
 * Put the new frames upon the first @base remembered ones, whose words end before @word; returns
 * the hash of the path.
 */
static inline uint64_t append(struct rt_walk *walk, uint32_t base, struct rt_word *word)
{
	struct rt_memory *now = &walk->now;
	uint64_t hash = rt_global.seed ^ now->generation;
	const struct rt_fresh *fresh = walk->fresh + walk->fresh_count;
	struct rt_frame *into = now->frames + base;
	rt_rule needed = 0;

	if (RT_LIKELY(base != 0)) {
		hash = into[-1].hash;
		needed = into[-1].rule & RT_RULE_NEEDS_FP;
	}
	for (; fresh-- != walk->fresh; into++) {
		needed = need_here(fresh->rule, needed);
		hash = core_hash_step(hash, fresh->ra);
		into->slot = fresh->slot;
		into->ra = fresh->ra;
		into->hash = hash;
		into->fp = fresh->fp;
		into->rule = fresh->rule | needed;
		into->words = (uint32_t)(word - now->words);
		into->node = 0;
		word = put_words(word, into, fresh[-1].rule);
	}
	now->count = base + walk->fresh_count;
	walk->leaf = into[-1].slot;
	walk->last_word = word - now->words - 1;
	walk->hash = hash;
	return hash;
}

/*
 * The hash only: the walk is not kept. What lies inward of a landing frame was reached on another
 * way, and the words of that way are not known any more, so it goes too.
 */
static RT_COLD uint64_t hash_only(struct rt_walk *walk, uint32_t base, bool keeps_memory)
{
	struct rt_memory *now = &walk->now;
	uint64_t hash = base ? now->frames[base - 1].hash : rt_global.seed ^ now->generation;

	for (uint32_t i = walk->fresh_count; i-- > 0;) {
		const struct rt_fresh *fresh = &walk->fresh[i];
		uint64_t exact = (fresh->rule & RT_RULE_EXACT) != 0;

		hash = core_hash_step(hash, fresh->ra ^ exact << 60);
	}
	walk->leaf = 0;
	if (!keeps_memory) {
		now->count = base;
		now->root = base ? now->root : 0;
	}
	return hash;
}

static inline uint64_t finish(struct rt_walk *walk, uint32_t base, struct rt_word *word,
			      bool forget)
{
	uint32_t count = base + walk->fresh_count;
	ptrdiff_t at = word - walk->now.words;

	walk->base = base;
	walk->stored = !forget && (RT_LIKELY(count <= walk->now.capacity) ||
				   memory_grow(&walk->now, count, base));
	if (RT_LIKELY(walk->stored))
		return append(walk, base, walk->now.words + at);
	return hash_only(walk, base, forget && !walk->landed);
}

/* The walk has met no remembered one that holds to the end. */
static RT_APART uint64_t finish_root(struct rt_walk *walk, struct rt_state s)
{
	uintptr_t root = walk->fresh[walk->fresh_count - 1].slot;
	struct rt_word *word;
	uint64_t hash;

	if (!walk->landed)
		rt_add_own(walk->full_walks, 1);
	walk->truncated = s.truncated;
	if (!s.forget && walk->now.root && walk->now.root != root)
		park(walk);
	word = walk->now.words;
	if (!s.forget && s.ra == 0)
		/* The word beyond the outermost frame ended the walk by being zero. */
		*word++ = (struct rt_word){ s.slot, 0 };
	hash = finish(walk, 0, word, s.forget);
	if (walk->stored) {
		walk->now.root = root;
		walk->now.truncated = s.truncated;
		find_floor(walk);
	}
	return hash;
}

/* ---- the walk ------------------------------------------------------------------------------ */

/* Is @mem the state that the new walk is in? */
RT_INLINE bool lands(const struct rt_frame *mem, uintptr_t slot, uintptr_t ra, uintptr_t fp)
{
	return mem->slot == slot && mem->ra == ra &&
	       (!(mem->rule & RT_RULE_NEEDS_FP) || mem->fp == fp);
}

/* The place of the next new frame; NULL when there is no room. */
RT_INLINE struct rt_fresh *next_fresh(struct rt_walk *walk)
{
	if (RT_UNLIKELY(walk->fresh_count == walk->fresh_capacity) && !fresh_grow(walk))
		return NULL;
	return &walk->fresh[walk->fresh_count++];
}

/* Field by field, out of registers: words stored apart and loaded together stall every step. */
RT_INLINE void put_fresh(struct rt_fresh *fresh, uintptr_t slot, uintptr_t ra, uintptr_t fp,
			 rt_rule rule)
{
	fresh->slot = slot;
	fresh->ra = ra;
	fresh->fp = fp;
	fresh->rule = rule;
}

/*
 * The walk has landed on @mem, where the frame pointer is @fp, and word @differs is the first
 * further out that does not hold. The frames before it become part of the new walk. The frame
 * pointer is followed along, since the rules from there on may need it where the old ones did
 * not. Returns the remembered frame whose word it is; NULL when there is no room.
 */
static inline struct rt_frame *keep(struct rt_walk *walk, struct rt_frame *mem, uintptr_t fp,
				    int64_t differs)
{
	struct rt_fresh *fresh;
	rt_rule way = 0;

	for (; mem->words > differs; mem--) {
		if (way & RT_RULE_SAVES_FP)
			fp = rt_word_at(mem->slot + 8 + rt_rule_fp_offset(way));
		way = mem->rule & ~(rt_rule)RT_RULE_NEEDS_FP;
		fresh = next_fresh(walk);
		if (!fresh)
			return NULL;
		put_fresh(fresh, mem->slot, mem->ra, fp, way);
	}
	return mem;
}

/*
 * A step that is not a common one, from the last new frame; across a signal frame also the next.
 * False: the walk has ended, as @s says.
 */
static RT_APART bool step_rare(struct rt_walk *walk, struct rt_state *s, uint32_t generation)
{
	struct rt_fresh *from = &walk->fresh[walk->fresh_count - 1];
	rt_rule rule = from->rule;

	s->slot = from->slot;
	s->sp = from->slot + 8;
	s->ra = from->ra;
	s->fp = from->fp;
	if (rt_rule_kind(rule) == CFI_NONE && rt_rule_kind(from[-1].rule) == RT_RULE_FOLLOWS_FP) {
		/* The frame pointer was none: it led to something that is not code. */
		walk->fresh_count--;
		s->truncated = s->forget = s->ended = true;
		return false;
	}
	*s = rt_step(*s, rule, &walk->stack);
	while (s->exact && !s->ended) {
		from = next_fresh(walk);
		if (!from) {
			s->truncated = s->ended = true;
			break;
		}
		rule = rt_rule_find(s->ra, true, generation);
		put_fresh(from, s->slot, s->ra, s->fp, rule | RT_RULE_EXACT);
		*s = rt_step(*s, rule, &walk->stack);
		s->moved = true;
	}
	return !s->ended;
}

bool rt_walk_meets_signal(const uintptr_t *fp, uintptr_t outer)
{
	uint32_t generation = rt_load(&rt_generation);
	struct rt_state s = {
		.slot = (uintptr_t)(fp + 1), .sp = (uintptr_t)(fp + 2), .ra = fp[1], .fp = fp[0]
	};

	for (uint32_t i = 0; i < RT_WALK_FRAMES_MAX; i++) {
		uintptr_t slot = s.slot;

		s = rt_step(s, rt_rule_peek(s.ra, s.exact, generation), NULL);
		if (s.moved)
			return true;
		if (s.ended)
			return s.truncated;
		if (slot < outer && s.slot >= outer)
			return false;
	}
	return false;
}

static RT_COLD void new_generation(struct rt_walk *walk, uint32_t generation)
{
	rt_walk_drop(walk);
	walk->now.generation = generation;
}

uint64_t rt_walk_step(struct rt_walk *walk, const uintptr_t *hook, uint32_t generation)
{
	uintptr_t slot = (uintptr_t)(hook + 1), ra = hook[1], fp = hook[0];
	struct rt_state s = { .ended = false };
	struct rt_frame *mem;

	if (RT_UNLIKELY(slot > walk->now.root || slot <= walk->floor))
		choose_stack(walk, slot);
	if (RT_UNLIKELY(walk->now.generation != generation))
		new_generation(walk, generation);
	walk->fresh_count = 0;
	walk->landed = false;
	mem = walk->now.frames + walk->now.count - 1;
	for (;;) {
		struct rt_fresh *fresh;
		rt_rule rule;
		uintptr_t cfa;

		while (mem->slot < slot)
			mem--;
		if (lands(mem, slot, ra, fp)) {
			rt_rule way = walk->fresh[(int64_t)walk->fresh_count - 1].rule;
			struct rt_word *word = walk->now.words + mem->words;
			int64_t differs = rt_walk_reread(walk->now.words, (int64_t)mem->words - 1);

			/* The same state, reached on another way: those are its words now. */
			walk->landed = true;
			mem->fp = fp;
			word = put_words(word, mem, way);
			if (RT_LIKELY(differs < 0)) {
				walk->truncated = walk->now.truncated;
				return finish(walk, (uint32_t)(mem - walk->now.frames) + 1, word,
					      s.forget);
			}
			mem = keep(walk, mem, fp, differs);
			if (RT_UNLIKELY(!mem))
				break;
			fresh = &walk->fresh[walk->fresh_count - 1];
			slot = fresh->slot;
			fp = fresh->fp;
			rule = fresh->rule;
		} else {
			fresh = next_fresh(walk);
			if (RT_UNLIKELY(!fresh))
				break;
			rule = rt_rule_find(ra, false, generation);
			put_fresh(fresh, slot, ra, fp, rule);
		}
		cfa = slot + 8 + rt_rule_cfa_offset(rule);
		if (RT_UNLIKELY(!(rule & RT_RULE_FAST))) {
			cfa = fp + rt_rule_cfa_offset(rule);
			if (rt_rule_kind(rule) != CFI_FP || !rt_step_is_plausible(slot + 8, cfa)) {
				if (!step_rare(walk, &s, generation))
					return finish_root(walk, s);
				if (s.moved)
					mem = walk->now.frames + walk->now.count - 1;
				slot = s.slot;
				ra = s.ra;
				fp = s.fp;
				continue;
			}
		}
		if (rule & RT_RULE_SAVES_FP)
			fp = rt_word_at(cfa + rt_rule_fp_offset(rule));
		slot = cfa - 8;
		ra = rt_word_at(slot);
		if (RT_UNLIKELY(ra == 0)) {
			s.slot = slot;
			s.ra = 0;
			return finish_root(walk, s);
		}
	}
	/* Deeper than can be remembered. */
	s.ra = ra;
	s.truncated = true;
	return finish_root(walk, s);
}
