/* SPDX-License-Identifier: MIT */
#include "runtime/unwind/walk.h"

#include "runtime/unwind/remembered.h"
#include "runtime/unwind/modules.h"
#include "runtime/unwind/step.h"

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
static inline uint64_t first_hash(const struct rt_remembered *now)
{
	return core_hash_step(rt_global.seed, now->generation);
}

/*
 * Put the new frames upon the first @base remembered ones, whose words end before @word; returns
 * the hash of the path.
 */
RT_INLINE uint64_t append(struct rt_walk *walk, uint32_t base, struct rt_word *word)
{
	struct rt_remembered *now = walk->now;
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
	walk->generation = now->generation;
	return hash;
}

/* The hash only: the walk is not kept. */
static RT_COLD uint64_t hash_only(struct rt_walk *walk, uint32_t base)
{
	struct rt_remembered *now = walk->now;
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
				   rt_remembered_grow(walk, count, base));
	if (RT_LIKELY(walk->stored))
		return append(walk, base, walk->now->words + at);
	return hash_only(walk, base);
}

/* The walk has met no remembered one that holds to the end. */
static RT_APART uint64_t finish_root(struct rt_walk *walk)
{
	const struct rt_state *s = &walk->state;
	uintptr_t root = s->root ? s->root : walk->fresh[walk->fresh_count - 1].ra_at;
	struct rt_word *word;
	uint64_t hash;

	walk->truncated = s->truncated;
	if (!s->forget && walk->now->root && walk->now->root != root)
		rt_remembered_take_oldest(walk);
	word = walk->now->words;
	if (!s->forget && s->ra == 0)
		/* The word beyond the outermost frame ended the walk by being zero. */
		*word++ = (struct rt_word){ s->ra_at, 0 };
	hash = finish(walk, 0, word, s->forget);
	if (walk->stored) {
		walk->now->root = root;
		walk->now->truncated = s->truncated;
		rt_remembered_find_floor(walk);
	} else if (!s->forget) {
		/* No room, and the first word may be overwritten. */
		rt_remembered_drop(walk->now);
	}
	return hash;
}

/*
 * The new walk is in the state of @mem, reached on another way. The words of @mem are those of
 * that way now, and what lies inward is no walk any more. Returns where they end.
 */
RT_INLINE struct rt_word *land(struct rt_walk *walk, struct rt_frame *mem, uintptr_t fp)
{
	struct rt_remembered *now = walk->now;

	walk->landed = true;
	now->count = (uint32_t)(mem - now->frames) + 1;
	mem->fp = fp;
	return put_words(now->words + mem->words, mem,
			 walk->fresh[(int64_t)walk->fresh_count - 1].rule);
}

/* The place of the next new frame; NULL when there is no room. */
RT_INLINE struct rt_fresh *next_fresh(struct rt_walk *walk)
{
	if (RT_UNLIKELY(walk->fresh_count == walk->fresh[-1].ra_at) && !rt_fresh_grow(walk))
		return NULL;
	return &walk->fresh[walk->fresh_count++];
}

/* Where the loop of a walk is: the new frames up to @next, and the last one's fields. */
struct cursor {
	struct rt_fresh *next, *end;
	uintptr_t ra_at, ra, fp, fp_at; /* fp_at: where the frame pointer was read */
	rt_rule rule;
	uint32_t words; /* that a peek has noted; more than RT_PEEK_WORDS: not all */
};

/* Goes on behind the walk's last new frame. */
RT_INLINE void resume(struct cursor *at, const struct rt_walk *walk, bool peeks)
{
	uintptr_t most = walk->fresh[-1].ra_at;

	if (peeks && most > RT_PEEK_STEPS)
		most = RT_PEEK_STEPS;
	at->next = walk->fresh + walk->fresh_count;
	at->end = walk->fresh + most;
}

/* For who looks at the walk beside the loop. */
RT_INLINE void settle(struct rt_walk *walk, const struct cursor *at)
{
	walk->fresh_count = (uint32_t)(at->next - walk->fresh);
}

/* False: there is no room for a new frame, or it would be too many for a peek. */
RT_INLINE bool has_room(struct cursor *at, struct rt_walk *walk, bool peeks)
{
	if (at->next != at->end)
		return true;
	settle(walk, at);
	if (peeks || !rt_fresh_grow(walk))
		return false;
	resume(at, walk, peeks);
	return true;
}

/* Field by field, out of registers: words stored apart and loaded together stall every step. */
RT_INLINE void put_fresh(struct cursor *at, bool peeks)
{
	at->next->ra = at->ra;
	/* A peek needs no more: it puts no frames upon others. */
	if (!peeks) {
		at->next->ra_at = at->ra_at;
		at->next->fp = at->fp;
		at->next->rule = at->rule;
	}
	at->next++;
}

/*
 * The walk has landed on @mem, and word @differs is the first further out that does not hold. The
 * frames before it become part of the new walk. The frame pointer is followed along, since the
 * rules from there on may need it where the old ones did not. *@limit is that of the state to go on
 * from. Returns the remembered frame whose word it is; NULL when there is no room, or when who
 * peeks has to walk in full.
 */
RT_INLINE struct rt_frame *take_over(struct cursor *at, struct rt_walk *walk, struct rt_frame *mem,
				     int64_t differs, bool peeks, uintptr_t *limit)
{
	at->rule = 0;
	for (; mem->words > differs; mem--) {
		if (at->rule & RT_RULE_SAVES_FP)
			at->fp = rt_word_at(mem->ra_at + 8 + rt_rule_fp_offset(at->rule));
		if (rt_rule_kind(at->rule) == RT_RULE_FOLLOWS_FP) {
			if (peeks)
				return NULL;
			if (!(at->rule & RT_RULE_GO))
				*limit = walk->stack.end;
		}
		if (!has_room(at, walk, peeks))
			return NULL;
		at->rule = mem->rule & ~(rt_rule)RT_RULE_NEEDS_FP;
		at->ra_at = mem->ra_at;
		at->ra = mem->ra;
		put_fresh(at, peeks);
	}
	return mem;
}

/*
 * A step that is not a common one, from the last new frame; across a signal frame also the next.
 * False: the walk has ended, as its state says.
 */
static RT_APART bool step_rare(struct rt_walk *walk, uint32_t generation)
{
	struct rt_state *s = &walk->state;
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
	rt_step(s, rule, &walk->stack);
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
		*from = (struct rt_fresh){ s->ra_at, s->ra, s->fp, rule | RT_RULE_EXACT };
		rt_step(s, rule, &walk->stack);
		s->moved = true;
	}
	return !s->ended;
}

/*
 * How far out the stack is readable that @at is on: the thread's own to its end; of another, a
 * coroutine's, the page in which it is used is known to be there, and no more.
 */
RT_INLINE uintptr_t limit_of(struct rt_walk *walk, uintptr_t at)
{
	const uint32_t page = (uint32_t)(at >> 12);

	if (walk->other != page && rt_stack_holds(&walk->stack, at, at, sizeof(at)))
		return walk->stack.end;
	walk->other = page;
	return (at | 4095) + 1;
}

/* A frame up to @cfa, within a frame's reach: does the stack go on so far? */
static RT_APART bool reaches(struct rt_walk *walk, uintptr_t cfa)
{
	struct rt_state *s = &walk->state;

	if (s->away || s->limit == walk->stack.end || !rt_pages_are_readable(s->limit, cfa))
		return false;
	s->limit = ((cfa - 8) | 4095) + 1;
	return true;
}

/* On another stack: how far it goes, and the innermost frame to land on there. */
static RT_APART struct rt_frame *first_on_stack(struct rt_walk *walk)
{
	struct rt_remembered *now = walk->now;
	struct rt_frame *mem = now->frames + now->count - 1;
	struct rt_state *s = &walk->state;

	if (!s->away)
		s->limit = limit_of(walk, s->ra_at);
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

		rt_step(&s, rt_rule_find(s.ra, s.exact, generation), NULL);
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

/* Outward from our function with frame address @fp, to the caller of the first that @is_in. */
static bool seek(const uintptr_t *fp, bool (*is_in)(uintptr_t pc), struct rt_state *ret_state)
{
	const uint32_t generation = rt_load(&rt_generation);
	struct rt_state *s = ret_state;
	bool found = false;

	*s = rt_state_begin(fp);
	for (uint32_t i = 0; i < RT_WALK_FRAMES_MAX && !found && !s->ended; i++) {
		/* It may call as its last instruction: what it would return to is behind it. */
		found = is_in(s->exact ? s->ra : s->ra - 1);
		rt_step(s, rt_rule_find(s->ra, s->exact, generation), NULL);
	}
	return found;
}

uintptr_t rt_walk_seek(const uintptr_t *fp, bool (*is_in)(uintptr_t pc))
{
	struct rt_state s;

	return seek(fp, is_in, &s) && !s.truncated ? s.ra_at : 0;
}

bool rt_walk_is_from_us(const uintptr_t *fp)
{
	struct rt_state s;

	return seek(fp, is_own_code, &s) || !s.ended || s.truncated;
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

RT_INLINE void note(struct cursor *at, struct rt_peek *peek, uintptr_t where, uintptr_t value)
{
	if (at->words < RT_PEEK_WORDS)
		peek->word[at->words] = (struct rt_word){ where, value };
	at->words++;
}

RT_INLINE void end_peek(struct cursor *at, const struct rt_walk *walk, const struct rt_frame *mem,
			struct rt_peek *peek)
{
	uint64_t hash = mem->hash;

	if (mem->rule & RT_RULE_NEEDS_FP)
		note(at, peek, at->fp_at, at->fp);
	for (const struct rt_fresh *fresh = at->next; fresh-- != walk->fresh;)
		hash = core_hash_step(hash, fresh->ra);
	peek->hash = hash;
	peek->steps = (uint32_t)(at->next - walk->fresh);
	peek->landing = (uint32_t)(mem - walk->now->frames);
	peek->words = at->words;
}

/*
 * The walk is in the state of @mem. Returns the first word further out that does not hold; -1: all
 * hold, and the walk has ended.
 */
RT_INLINE int64_t meet(struct cursor *at, struct rt_walk *walk, struct rt_frame *mem, bool forget,
		       bool peeks, struct rt_peek *peek, uint64_t *ret_hash)
{
	struct rt_remembered *now = walk->now;
	int64_t differs = rt_walk_reread(now->words, (int64_t)mem->words - 1);
	struct rt_word *word = NULL;

	if (!peeks) {
		settle(walk, at);
		word = land(walk, mem, at->fp);
	}
	if (differs >= 0)
		return differs;
	if (peeks) {
		end_peek(at, walk, mem, peek);
	} else {
		walk->truncated = now->truncated;
		*ret_hash = finish(walk, now->count, word, forget);
	}
	return -1;
}

/* A frame that no remembered one is like. False: no room. */
RT_INLINE bool put_new(struct cursor *at, struct rt_walk *walk, uint32_t generation, bool peeks)
{
	if (!has_room(at, walk, peeks))
		return false;
	at->rule = peeks ? rt_memo_find(&rt_rules, rt_rule_key(at->ra, false, generation))
			 : rt_rule_find(at->ra, false, generation);
	put_fresh(at, peeks);
	return true;
}

/*
 * The loop of every walk from frame @hook. One that @peeks, constant where this is inlined, notes in
 * @peek what was read, leaves the remembered walk as it is, and ends at anything that is not common:
 * false then, and nothing is known. Otherwise true, and *@ret_hash is that of the path.
 */
RT_INLINE bool walk_from(struct rt_walk *walk, const uintptr_t *hook, uint32_t generation,
			 bool peeks, struct rt_peek *peek, uint64_t *ret_hash)
{
	struct cursor at = { .ra_at = (uintptr_t)(hook + 1),
			     .ra = hook[1],
			     .fp = hook[0],
			     .fp_at = (uintptr_t)hook };
	struct rt_state *s = &walk->state;
	struct rt_remembered *now = walk->now;
	struct rt_frame *mem = now->frames + (int64_t)now->count - 1;

	walk->fresh_count = 0;
	resume(&at, walk, peeks);
	for (;;) {
		uintptr_t cfa;

		if (peeks)
			note(&at, peek, at.ra_at, at.ra);
		while (mem->ra_at < at.ra_at)
			mem--;
		if (rt_frame_is(mem, at.ra_at, at.ra, at.fp)) {
			int64_t differs = meet(&at, walk, mem, s->forget, peeks, peek, ret_hash);

			if (differs < 0)
				return true;
			/* As far as words hold, the frames of then are those of now. */
			at.words = RT_PEEK_WORDS + 1;
			mem = take_over(&at, walk, mem, differs, peeks, &s->limit);
			if (!mem)
				break;
		} else if (!put_new(&at, walk, generation, peeks)) {
			break;
		}
		cfa = at.ra_at + 8 + rt_rule_cfa_offset(at.rule);
		if (!(at.rule & RT_RULE_FAST)) {
			cfa = at.fp + rt_rule_cfa_offset(at.rule);
			if (rt_rule_kind(at.rule) != CFI_FP ||
			    !rt_step_is_plausible(at.ra_at + 8, cfa)) {
				if (peeks)
					return false;
				settle(walk, &at);
				if (!step_rare(walk, generation)) {
					*ret_hash = finish_root(walk);
					return true;
				}
				resume(&at, walk, peeks);
				if (s->moved)
					mem = first_on_stack(walk);
				at.ra_at = s->ra_at;
				at.ra = s->ra;
				at.fp = s->fp;
				continue;
			}
			if (peeks)
				note(&at, peek, at.fp_at, at.fp);
		}
		if (RT_UNLIKELY(cfa > s->limit) && (peeks || !reaches(walk, cfa))) {
			s->truncated = s->forget = true;
			break;
		}
		if (at.rule & RT_RULE_SAVES_FP) {
			at.fp_at = cfa + rt_rule_fp_offset(at.rule);
			at.fp = rt_word_at(at.fp_at);
		}
		at.ra_at = cfa - 8;
		at.ra = rt_word_at(at.ra_at);
		if (!peeks && RT_UNLIKELY(at.ra == 0)) {
			s->ra_at = at.ra_at;
			s->ra = 0;
			settle(walk, &at);
			*ret_hash = finish_root(walk);
			return true;
		}
	}
	if (peeks)
		return false;
	/* Deeper than can be remembered, or beyond the stack. */
	settle(walk, &at);
	s->ra = at.ra;
	s->truncated = true;
	*ret_hash = finish_root(walk);
	return true;
}

uint64_t rt_walk(struct rt_walk *walk, const uintptr_t *hook)
{
	const uint32_t generation = rt_load(&rt_generation);
	const uintptr_t ra_at = (uintptr_t)(hook + 1);
	uint64_t hash;

	if (RT_UNLIKELY(ra_at > walk->now->root || ra_at <= walk->floor))
		rt_remembered_choose(walk, ra_at);
	if (RT_UNLIKELY(walk->now->generation != generation))
		rt_remembered_renew(walk, generation);
	walk->landed = false;
	walk->state = (struct rt_state){ .limit = limit_of(walk, ra_at) };
	(void)walk_from(walk, hook, generation, false, NULL, &hash);
	return hash;
}

bool rt_walk_peek(struct rt_walk *walk, const uintptr_t *hook, struct rt_peek *peek)
{
	const uint32_t generation = rt_load(&rt_generation), length = walk->fresh_count;
	const uintptr_t ra_at = (uintptr_t)(hook + 1);
	bool found;

	/* On another stack, no frame is found, or its words do not follow from this walk's. */
	if (RT_UNLIKELY(ra_at > walk->now->root) || RT_UNLIKELY(ra_at <= walk->floor) ||
	    RT_UNLIKELY(walk->now->generation != generation) || RT_UNLIKELY(walk->now->truncated))
		return false;
	walk->state.limit = limit_of(walk, ra_at);
	found = walk_from(walk, hook, generation, true, peek, NULL);
	walk->fresh_count = length;
	return found;
}
