/* SPDX-License-Identifier: MIT */
#include "runtime/unwind/walk.h"

#include "runtime/unwind/memory.h"
#include "runtime/unwind/modules.h"
#include "runtime/unwind/peek.h"
#include "runtime/unwind/step.h"

#include <dlfcn.h>

/* What a word points at that never holds. */
static const uintptr_t zero;

/* Note the words that were read on the way to @frame, by the rule @way; returns the next place. */
RT_INLINE struct rt_word *put_words(struct rt_word *word, const struct rt_frame *frame, rt_rule way)
{
	word->at = frame->ra_at;
	word->value = frame->ra;
	word++;
	if (RT_UNLIKELY(way & RT_RULE_READS_CFA)) {
		/* Never holds: the ra_at itself came from memory. Step again. */
		word->at = (uintptr_t)&zero;
		word->value = 1;
		return word + 1;
	}
	if (frame->rule & RT_RULE_NEEDS_FP && way & RT_RULE_SAVES_FP) {
		word->at = frame->ra_at + 8 + rt_rule_fp_offset(way);
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

/* The hash of no frames. Mixed: two generations differ in a few bits, as two addresses do. */
static inline uint64_t first_hash(const struct rt_memory *now)
{
	return core_hash_step(rt_global.seed, now->generation);
}

/*
 * Put the new frames upon the first @base remembered ones, whose words end before @word; returns
 * the hash of the path.
 */
RT_INLINE uint64_t append(struct rt_walk *walk, uint32_t base, struct rt_word *word)
{
	struct rt_memory *now = walk->now;
	const struct rt_fresh *fresh = walk->fresh + walk->fresh_count;
	struct rt_frame *into = now->frames + base;
	rt_rule needed = 0;
	uint64_t hash;

	if (RT_LIKELY(base != 0)) {
		hash = into[-1].hash;
		needed = into[-1].rule & RT_RULE_NEEDS_FP;
	} else {
		hash = first_hash(now);
	}
	for (; fresh-- != walk->fresh; into++) {
		needed = need_here(fresh->rule, needed);
		hash = core_hash_step(hash, fresh->ra);
		into->ra_at = fresh->ra_at;
		into->ra = fresh->ra;
		into->hash = hash;
		into->fp = fresh->fp;
		into->rule = fresh->rule | needed;
		into->words = (uint32_t)(word - now->words);
		into->node = 0;
		word = put_words(word, into, fresh[-1].rule);
	}
	now->count = base + walk->fresh_count;
	walk->leaf = into[-1].ra_at;
	walk->words = now->words;
	walk->last_word = word - now->words - 1;
	walk->hash = hash;
	walk->generation = now->generation;
	return hash;
}

/* The hash only: the walk is not kept. */
static RT_COLD uint64_t hash_only(struct rt_walk *walk, uint32_t base)
{
	struct rt_memory *now = walk->now;
	uint64_t hash = base ? now->frames[base - 1].hash : first_hash(now);

	for (uint32_t i = walk->fresh_count; i-- > 0;) {
		const struct rt_fresh *fresh = &walk->fresh[i];
		uint64_t exact = (fresh->rule & RT_RULE_EXACT) != 0;

		hash = core_hash_step(hash, fresh->ra ^ exact << 60);
	}
	walk->leaf = 0;
	return hash;
}

static inline uint64_t finish(struct rt_walk *walk, uint32_t base, struct rt_word *word,
			      bool forget)
{
	uint32_t count = base + walk->fresh_count;
	ptrdiff_t at = word - walk->now->words;

	walk->base = base;
	walk->stored = !forget && (RT_LIKELY(count <= walk->now->capacity) ||
				   rt_memory_grow(walk, count, base));
	if (RT_LIKELY(walk->stored))
		return append(walk, base, walk->now->words + at);
	return hash_only(walk, base);
}

/* The walk has met no remembered one that holds to the end. */
static RT_APART uint64_t finish_root(struct rt_walk *walk, struct rt_state s)
{
	uintptr_t root = s.root ? s.root : walk->fresh[walk->fresh_count - 1].ra_at;
	struct rt_word *word;
	uint64_t hash;

	if (!walk->landed)
		rt_add_own(walk->full_walks, 1);
	walk->truncated = s.truncated;
	if (!s.forget && walk->now->root && walk->now->root != root)
		rt_memory_take_oldest(walk);
	word = walk->now->words;
	if (!s.forget && s.ra == 0)
		/* The word beyond the outermost frame ended the walk by being zero. */
		*word++ = (struct rt_word){ s.ra_at, 0 };
	hash = finish(walk, 0, word, s.forget);
	if (walk->stored) {
		walk->now->root = root;
		walk->now->truncated = s.truncated;
		rt_memory_find_floor(walk);
	} else if (!s.forget) {
		/* No room, and the first word may be overwritten. */
		rt_memory_drop(walk->now);
	}
	return hash;
}

/*
 * The new walk is in the state of @mem, reached on another way. The words of @mem are those of
 * that way now, they end at *@ret_word, and what lies inward is no walk any more. Returns the index
 * of the first word further out that does not hold; -1 when all do.
 */
RT_INLINE int64_t land(struct rt_walk *walk, struct rt_frame *mem, uintptr_t fp,
		       struct rt_word **ret_word)
{
	struct rt_memory *now = walk->now;
	int64_t differs = rt_walk_reread(now->words, (int64_t)mem->words - 1);

	walk->landed = true;
	now->count = (uint32_t)(mem - now->frames) + 1;
	mem->fp = fp;
	*ret_word = put_words(now->words + mem->words, mem,
			      walk->fresh[(int64_t)walk->fresh_count - 1].rule);
	return differs;
}

/* The place of the next new frame; NULL when there is no room. */
RT_INLINE struct rt_fresh *next_fresh(struct rt_walk *walk)
{
	if (RT_UNLIKELY(walk->fresh_count == walk->fresh[-1].ra_at) && !rt_fresh_grow(walk))
		return NULL;
	return &walk->fresh[walk->fresh_count++];
}

/* Field by field, out of registers: words stored apart and loaded together stall every step. */
RT_INLINE void put_fresh(struct rt_fresh *fresh, uintptr_t ra_at, uintptr_t ra, uintptr_t fp,
			 rt_rule rule)
{
	fresh->ra_at = ra_at;
	fresh->ra = ra;
	fresh->fp = fp;
	fresh->rule = rule;
}

/*
 * The walk has landed on @mem, where the frame pointer is @fp, and word @differs is the first
 * further out that does not hold. The frames before it become part of the new walk. The frame
 * pointer is followed along, since the rules from there on may need it where the old ones did
 * not. *@limit is that of the state to go on from. Returns the remembered frame whose word it is;
 * NULL when there is no room.
 */
static inline struct rt_frame *keep(struct rt_walk *walk, struct rt_frame *mem, uintptr_t fp,
				    int64_t differs, uintptr_t *limit)
{
	struct rt_fresh *fresh;
	rt_rule way = 0;

	for (; mem->words > differs; mem--) {
		if (way & RT_RULE_SAVES_FP)
			fp = rt_word_at(mem->ra_at + 8 + rt_rule_fp_offset(way));
		if (RT_UNLIKELY(rt_rule_kind(way) == RT_RULE_FOLLOWS_FP) && !(way & RT_RULE_GO))
			*limit = walk->stack.end;
		way = mem->rule & ~(rt_rule)RT_RULE_NEEDS_FP;
		fresh = next_fresh(walk);
		if (!fresh)
			return NULL;
		put_fresh(fresh, mem->ra_at, mem->ra, fp, way);
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
	struct cfi_module module;
	rt_rule rule = from->rule;

	s->ra_at = from->ra_at;
	s->sp = from->ra_at + 8;
	s->ra = from->ra;
	s->fp = from->fp;
	if (rule & RT_RULE_NO_MODULE && rt_module_find(from->ra - 1, &module)) {
		/* What was generated code is a module now. */
		rt_modules_advance();
		rule = rt_rule_compile(from->ra, false);
		from->rule = rule;
	}
	*s = rt_step(*s, rule, &walk->stack);
	if (rt_rule_kind(rule) == RT_RULE_FOLLOWS_FP && !s->ended) {
		/* If it was a frame pointer, it leads to where somebody called from. */
		if (!(rt_rule_find(s->ra, false, generation) & RT_RULE_AFTER_CALL) &&
		    !rt_step_is_outermost(s))
			s->truncated = s->forget = s->ended = true;
		/* Which stack it led to was found in memory: looked at again each time. */
		from->rule &= ~(rt_rule)(RT_RULE_GO | RT_RULE_READS_CFA);
		from->rule |= (s->away ? RT_RULE_GO : 0) | (s->moved ? RT_RULE_READS_CFA : 0);
	}
	while (s->exact && !s->ended) {
		from = next_fresh(walk);
		if (!from) {
			s->truncated = s->ended = true;
			break;
		}
		rule = rt_rule_find(s->ra, true, generation);
		put_fresh(from, s->ra_at, s->ra, s->fp, rule | RT_RULE_EXACT);
		*s = rt_step(*s, rule, &walk->stack);
		s->moved = true;
	}
	return !s->ended;
}

/* Where to look for a frame to land on: the innermost one from @s outward on the same stack. */
static RT_APART struct rt_frame *first_on_stack(struct rt_memory *now, const struct rt_state *s)
{
	struct rt_frame *mem = now->frames + now->count - 1;

	while (mem >= now->frames && (mem->ra_at < s->ra_at || mem->ra_at >= s->limit))
		mem--;
	return mem;
}

static bool is_own_code(uintptr_t pc)
{
	/* By the linker: the library's first byte, and the end of its code. */
	extern const char __ehdr_start[], etext[] __attribute__((visibility("hidden")));

	return pc - (uintptr_t)__ehdr_start < (uintptr_t)(etext - __ehdr_start);
}

bool rt_walk_is_inside(const uintptr_t *fp, uintptr_t outer)
{
	uint32_t generation = rt_load(&rt_generation);
	struct rt_state s = rt_state_begin(fp);

	for (uint32_t i = 0; i < RT_WALK_FRAMES_MAX && (uintptr_t)fp != outer; i++) {
		uintptr_t ra_at = s.ra_at, pc = s.ra;

		s = rt_step(s, rt_rule_known(s.ra, s.exact, generation), NULL);
		if (s.ended)
			return s.truncated;
		/* What was interrupted has left @outer behind: go on, there may be another. */
		if (s.exact && s.sp > outer)
			continue;
		if (s.moved)
			return true;
		/* Another function's frame may lie where ours was. */
		if (ra_at < outer && s.ra_at >= outer)
			return s.ra_at == outer + sizeof(uintptr_t) && is_own_code(pc);
	}
	return false;
}

uintptr_t rt_walk_seek(const uintptr_t *fp, bool (*is_in)(uintptr_t pc))
{
	uint32_t generation = rt_load(&rt_generation);
	struct rt_state s = rt_state_begin(fp);
	bool found = false;

	for (uint32_t i = 0; i < RT_WALK_FRAMES_MAX && !found && !s.ended; i++) {
		/* It may call as its last instruction: what it would return to is behind it. */
		found = is_in(s.exact ? s.ra : s.ra - 1);
		s = rt_step(s, rt_rule_known(s.ra, s.exact, generation), NULL);
	}
	return found && !s.truncated ? s.ra_at : 0;
}

/* Go promises frame pointers; other code without rules does not. */
static bool trusts_fp(rt_rule rule)
{
	return rt_rule_kind(rule) == RT_RULE_FOLLOWS_FP && !(rule & RT_RULE_GO);
}

bool rt_walk_follows_fp(const struct rt_walk *walk)
{
	uint32_t remembered = walk->stored ? walk->now->count : walk->base;

	for (uint32_t i = 0; i < remembered; i++)
		if (trusts_fp(walk->now->frames[i].rule))
			return true;
	for (uint32_t i = 0; !walk->stored && i < walk->fresh_count; i++)
		if (trusts_fp(walk->fresh[i].rule))
			return true;
	return false;
}

uint64_t rt_walk_step(struct rt_walk *walk, const uintptr_t *hook, uint32_t generation)
{
	uintptr_t ra_at = (uintptr_t)(hook + 1), ra = hook[1], fp = hook[0];
	struct rt_state s = { .limit = UINTPTR_MAX };
	struct rt_memory *now;
	struct rt_frame *mem;

	if (RT_UNLIKELY(ra_at > walk->now->root || ra_at <= walk->floor))
		rt_memory_choose(walk, ra_at);
	if (RT_UNLIKELY(walk->now->generation != generation))
		rt_memory_renew(walk, generation);
	now = walk->now;
	walk->fresh_count = 0;
	walk->landed = false;
	mem = now->frames + now->count - 1;
	for (;;) {
		struct rt_fresh *fresh;
		rt_rule rule;
		uintptr_t cfa;

		while (mem->ra_at < ra_at)
			mem--;
		if (rt_frame_is(mem, ra_at, ra, fp)) {
			struct rt_word *word;
			int64_t differs = land(walk, mem, fp, &word);

			if (RT_LIKELY(differs < 0)) {
				walk->truncated = now->truncated;
				return finish(walk, now->count, word, s.forget);
			}
			mem = keep(walk, mem, fp, differs, &s.limit);
			if (RT_UNLIKELY(!mem))
				break;
			fresh = &walk->fresh[walk->fresh_count - 1];
			ra_at = fresh->ra_at;
			fp = fresh->fp;
			rule = fresh->rule;
		} else {
			fresh = next_fresh(walk);
			if (RT_UNLIKELY(!fresh))
				break;
			rule = rt_rule_find(ra, false, generation);
			put_fresh(fresh, ra_at, ra, fp, rule);
		}
		cfa = ra_at + 8 + rt_rule_cfa_offset(rule);
		if (RT_UNLIKELY(!(rule & RT_RULE_FAST))) {
			cfa = fp + rt_rule_cfa_offset(rule);
			if (rt_rule_kind(rule) != CFI_FP || !rt_step_is_plausible(ra_at + 8, cfa)) {
				if (!step_rare(walk, &s, generation))
					return finish_root(walk, s);
				if (s.moved)
					mem = first_on_stack(now, &s);
				ra_at = s.ra_at;
				ra = s.ra;
				fp = s.fp;
				continue;
			}
		}
		if (RT_UNLIKELY(cfa > s.limit)) {
			s.truncated = s.forget = true;
			break;
		}
		if (rule & RT_RULE_SAVES_FP)
			fp = rt_word_at(cfa + rt_rule_fp_offset(rule));
		ra_at = cfa - 8;
		ra = rt_word_at(ra_at);
		if (RT_UNLIKELY(ra == 0)) {
			s.ra_at = ra_at;
			s.ra = 0;
			return finish_root(walk, s);
		}
	}
	/* Deeper than can be remembered, or beyond the stack. */
	s.ra = ra;
	s.truncated = true;
	return finish_root(walk, s);
}
