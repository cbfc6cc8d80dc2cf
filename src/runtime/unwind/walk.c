/* SPDX-License-Identifier: MIT */
#include "runtime/unwind/walk.h"

#include "runtime/life/sys.h"
#include "runtime/unwind/rules.h"

#include <string.h>

/* x86-64 Linux: offsets of saved registers in the ucontext that a signal-return frame points at. */
enum { UCONTEXT_RBP = 120, UCONTEXT_RSP = 160, UCONTEXT_RIP = 168 };

/* A frame larger than this is looked at with the kernel's help before it is believed. */
enum { FRAME_BYTES_PLAUSIBLE = 1 << 16, FRAME_BYTES_MAX = 1 << 20 };

/* Signal frames and stack switches on one walk: more mean that it goes in circles. */
enum { MOVES_MAX = 64 };

enum { WORDS_PER_FRAME = 3 };

/* The walk in progress: the state to step from, which lives in registers, and how it came there. */
struct state {
	uintptr_t slot;
	uintptr_t sp;
	uintptr_t ra;
	uintptr_t fp;
	int32_t fp_offset;
	uint32_t flags;	     /* of this state */
	uint32_t from_flags; /* what the step here found out about the state before */
	uint8_t moves;
	bool moved; /* just now: remembered frames are to be searched from the innermost again */
	bool ended;
	bool truncated;
	bool forget; /* crossed a signal frame or onto another stack: not to be remembered */
};

static inline uintptr_t word_at(uintptr_t address)
{
	return *(const uintptr_t *)address;
}

/* ---- memory -------------------------------------------------------------------------------- */

/* What words point at that always hold, or never. */
static const uintptr_t zero;

static size_t memory_bytes(uint32_t capacity)
{
	return ((size_t)capacity + 1) * sizeof(struct rt_frame) +
	       ((size_t)capacity * WORDS_PER_FRAME + RT_WORDS_BEFORE) * sizeof(struct rt_word);
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
	memcpy(memory->words, before.words, keep * WORDS_PER_FRAME * sizeof(struct rt_word));
	memory->generation = before.generation;
	memory->count = keep;
	memory->root = before.root;
	rt_munmap(before.frames - 1, memory_bytes(before.capacity));
	return true;
}

static RT_COLD bool fresh_grow(struct rt_walk *walk)
{
	size_t bytes = walk->fresh_capacity * sizeof(struct rt_frame);
	struct rt_frame *more;

	if (walk->fresh_capacity * 2 > RT_WALK_FRAMES_MAX)
		return false;
	more = rt_mmap(bytes * 2);
	if (!more)
		return false;
	memcpy(more, walk->fresh, bytes);
	rt_munmap(walk->fresh, bytes);
	walk->fresh = more;
	walk->fresh_capacity *= 2;
	return true;
}

bool rt_walk_start(struct rt_walk *walk)
{
	if (!walk->fresh) {
		walk->fresh = rt_mmap(RT_WALK_FRAMES_FIRST * sizeof(struct rt_frame));
		if (!walk->fresh)
			return false;
		walk->fresh_capacity = RT_WALK_FRAMES_FIRST;
	}
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

/* ---- the step ------------------------------------------------------------------------------ */

static void move(struct state *s)
{
	s->forget = true;
	s->moved = true;
	s->moves++;
}

static inline void end(struct state *s, bool truncated)
{
	s->ended = true;
	s->truncated = truncated;
}

/* Truncated because of what memory held or did not: not to be remembered. */
static inline void end_unsure(struct state *s)
{
	s->forget = true;
	end(s, true);
}

/* Most frames: one compare says sp < cfa <= sp + FRAME_BYTES_PLAUSIBLE. Misaligned ones leap. */
static inline bool is_plausible(uintptr_t sp, uintptr_t cfa)
{
	return RT_LIKELY(cfa - sp - 1 < FRAME_BYTES_PLAUSIBLE && !(cfa & 7));
}

/*
 * A CFA further out than most, or not further out at all: is the memory there? A wrong rule, or a
 * return address that is none, could lead anywhere. Beyond what a frame can be it is another
 * stack. False ends the walk.
 */
static bool take_leap(struct state *s, uintptr_t cfa, uintptr_t fp_at, bool reads_fp)
{
	if (cfa & 7 || s->moves == MOVES_MAX || !rt_is_readable(cfa - 8) ||
	    (reads_fp && !rt_is_readable(fp_at)))
		return false;
	if (cfa - s->sp - 1 >= FRAME_BYTES_MAX)
		move(s);
	return true;
}

/* Take the frame that returns at @cfa - 8. */
RT_INLINE void take(struct state *s, uintptr_t cfa, int32_t fp_offset)
{
	s->slot = cfa - 8;
	s->ra = word_at(cfa - 8);
	if (fp_offset)
		s->fp = word_at(cfa + (uintptr_t)(intptr_t)fp_offset);
	s->fp_offset = fp_offset;
	s->flags = 0;
	s->sp = cfa;
}

static void step_to(struct state *s, uintptr_t cfa, int32_t fp_offset)
{
	if (!is_plausible(s->sp, cfa) &&
	    !take_leap(s, cfa, cfa + (uintptr_t)(intptr_t)fp_offset, fp_offset != 0)) {
		end_unsure(s);
		return;
	}
	take(s, cfa, fp_offset);
	if (s->ra == 0)
		end(s, false);
}

/* The CFA, less @plus, stands in memory at @cfa_at: a word that must be looked at again too. */
static bool step_by_memory(struct state *s, uintptr_t cfa_at, uintptr_t plus)
{
	/* Within a frame's reach of the stack pointer it is the stack; else ask. */
	if (cfa_at & 7 ||
	    (cfa_at - (s->sp - 8) > FRAME_BYTES_PLAUSIBLE && !rt_is_readable(cfa_at))) {
		end_unsure(s);
		return false;
	}
	step_to(s, word_at(cfa_at) + plus, 0);
	s->flags |= RT_FRAME_STEP;
	return true;
}

/* fp stands at @at: within a frame's reach of the stack pointer it is the stack; else ask. */
static void read_fp(struct state *s, uintptr_t was_sp, uintptr_t at)
{
	if (s->ended && s->truncated)
		return;
	if (at & 7 || (at - (was_sp - 8) > FRAME_BYTES_PLAUSIBLE && !rt_is_readable(at))) {
		end_unsure(s);
		return;
	}
	s->fp = word_at(at);
	s->fp_offset = (int32_t)(at - s->sp);
}

static void step_signal(struct state *s)
{
	uintptr_t ucontext = s->sp;

	move(s);
	s->slot = ucontext + UCONTEXT_RIP;
	s->ra = word_at(s->slot);
	s->flags = RT_FRAME_EXACT;
	s->fp_offset = 0;
	s->fp = word_at(ucontext + UCONTEXT_RBP);
	s->sp = word_at(ucontext + UCONTEXT_RSP);
	if (s->moves > MOVES_MAX)
		end(s, true);
}

/*
 * Code without unwind information, called from where it can be seen: a frame pointer that points
 * into this thread's own stack is believed. What it leads to must have a rule in turn.
 */
static void step_by_frame_pointer(struct state *s, struct rt_stack *stack)
{
	s->from_flags = RT_FRAME_USES_FP;
	if (s->sp == rt_stack_main_end()) {
		end(s, false);
		return;
	}
	if (!stack || s->fp & 7 || s->fp - s->sp >= FRAME_BYTES_MAX ||
	    !rt_stack_holds(stack, s->sp, s->fp, 2 * sizeof(uintptr_t))) {
		end_unsure(s);
		return;
	}
	take(s, s->fp + 2 * sizeof(uintptr_t), -2 * (int32_t)sizeof(uintptr_t));
	s->flags = RT_FRAME_GUESSED;
	if (s->ra == 0)
		end(s, false);
}

/* Step outward by any rule. @stack: of the thread, NULL to trust no frame pointer. */
static RT_COLD struct state step_by(struct state s, cfi_rule rule, struct rt_stack *stack)
{
	uintptr_t cfa_offset = (uintptr_t)(intptr_t)cfi_rule_cfa_offset(rule);
	int32_t fp_offset = cfi_rule_fp_offset(rule);
	uintptr_t fp_by_offset = (uintptr_t)(intptr_t)fp_offset;
	uintptr_t sp = s.sp, fp = s.fp;

	s.from_flags = 0;
	if (rt_rule_trusts_fp(rule)) {
		step_by_frame_pointer(&s, stack);
		return s;
	}
	switch (cfi_rule_kind(rule)) {
	case CFI_SP:
		s.from_flags = fp_offset ? RT_FRAME_SAVES_FP : 0;
		step_to(&s, sp + cfa_offset, fp_offset);
		break;
	case CFI_FP:
		s.from_flags = RT_FRAME_USES_FP;
		step_to(&s, fp + cfa_offset, fp_offset);
		break;
	case CFI_DRAP:
		s.from_flags = RT_FRAME_USES_FP;
		if (step_by_memory(&s, fp + cfa_offset, 0))
			read_fp(&s, sp, fp + fp_by_offset);
		break;
	case CFI_SP_MEMORY:
		s.from_flags = fp_offset ? RT_FRAME_SAVES_FP : 0;
		if (step_by_memory(&s, sp + cfa_offset, 8) && fp_offset)
			read_fp(&s, sp, s.sp + fp_by_offset);
		break;
	case CFI_SIGNAL:
		step_signal(&s);
		break;
	case CFI_STOP:
		end(&s, false);
		break;
	case CFI_NONE:
	default:
		/* The loader's entry has no rule, and nothing beyond it. */
		end(&s, sp != rt_stack_main_end());
	}
	return s;
}

/* The common rules, without a call; false leaves the step to step_by(). */
RT_INLINE bool step_fast(struct state *s, cfi_rule rule)
{
	int32_t fp_offset = cfi_rule_fp_offset(rule);
	uintptr_t cfa = (uintptr_t)(intptr_t)cfi_rule_cfa_offset(rule);
	uint32_t from_flags;

	if (RT_LIKELY(cfi_rule_kind(rule) == CFI_SP)) {
		cfa += s->sp;
		from_flags = fp_offset ? RT_FRAME_SAVES_FP : 0;
	} else if (RT_LIKELY(cfi_rule_kind(rule) == CFI_FP)) {
		cfa += s->fp;
		from_flags = RT_FRAME_USES_FP;
	} else {
		return false;
	}
	if (!is_plausible(s->sp, cfa))
		return false;
	s->from_flags = from_flags;
	take(s, cfa, fp_offset);
	return true;
}

/* ---- remembering --------------------------------------------------------------------------- */

static inline bool needs_fp(const struct rt_frame *frame)
{
	return frame->flags & RT_FRAME_NEEDS_FP;
}

/* Note the words that were read on the way to @frame; returns the index after them. */
static inline uint32_t put_words(struct rt_word *words, uint32_t at, const struct rt_frame *frame)
{
	words[at].at = frame->slot;
	words[at++].value = frame->ra;
	if (frame->flags & (RT_FRAME_STEP | RT_FRAME_NEEDS_FP)) {
		if (frame->flags & RT_FRAME_NEEDS_FP && frame->fp_offset) {
			words[at].at = frame->slot + 8 + (uintptr_t)(intptr_t)frame->fp_offset;
			words[at++].value = frame->fp;
		}
		if (frame->flags & RT_FRAME_STEP) {
			/* Never holds: the slot itself came from memory. */
			words[at].at = (uintptr_t)&zero;
			words[at++].value = 1;
		}
	}
	return at;
}

/* What the rule of a frame makes of the need for the frame pointer further out. */
static inline uint32_t need_here(uint32_t flags, uint32_t needed_outside)
{
	if (flags & RT_FRAME_USES_FP)
		return RT_FRAME_NEEDS_FP;
	return flags & RT_FRAME_SAVES_FP ? 0 : needed_outside;
}

/* Put the new frames upon the first @base remembered ones; returns the hash of the path. */
static inline uint64_t append(struct rt_walk *walk, uint32_t base, uintptr_t end_slot)
{
	struct rt_memory *now = &walk->now;
	uint64_t hash = rt_global.seed ^ now->generation;
	const struct rt_frame *frame = walk->fresh + walk->fresh_count;
	struct rt_frame *into = now->frames + base;
	uint32_t needed = 0;
	uint32_t at = 0;

	if (RT_LIKELY(base != 0)) {
		hash = into[-1].hash;
		needed = into[-1].flags & RT_FRAME_NEEDS_FP;
		at = put_words(now->words, into[-1].words, &into[-1]);
	} else if (end_slot) {
		/* The word beyond the outermost frame ended the walk by being zero. */
		now->words[at].at = end_slot;
		now->words[at++].value = 0;
	}
	for (; frame-- != walk->fresh; into++) {
		needed = need_here(frame->flags, needed);
		hash = core_hash_step(hash, frame->ra);
		into->slot = frame->slot;
		into->ra = frame->ra;
		into->hash = hash;
		into->fp = frame->fp;
		into->fp_offset = frame->fp_offset;
		into->flags = frame->flags | needed;
		into->words = at;
		into->node = 0;
		at = put_words(now->words, at, into);
	}
	now->count = base + walk->fresh_count;
	walk->leaf = into[-1].slot;
	walk->last_word = (int64_t)at - 1;
	walk->hash = hash;
	return hash;
}

/*
 * The hash only: the walk is not kept. What lies inward of a landing frame was reached on another
 * way, and the words of that way are not known any more, so it goes too.
 */
static RT_COLD uint64_t hash_only(struct rt_walk *walk, uint32_t base)
{
	struct rt_memory *now = &walk->now;
	uint64_t hash = base ? now->frames[base - 1].hash : rt_global.seed ^ now->generation;

	for (uint32_t i = walk->fresh_count; i-- > 0;) {
		const struct rt_frame *frame = &walk->fresh[i];
		uint64_t exact = frame->flags & RT_FRAME_EXACT;

		hash = core_hash_step(hash, frame->ra ^ exact << 56);
	}
	walk->leaf = 0;
	if (walk->landed) {
		now->count = base;
		now->root = base ? now->root : 0;
	}
	return hash;
}

static inline uint64_t finish(struct rt_walk *walk, uint32_t base, bool forget, uintptr_t end_slot)
{
	uint32_t count = base + walk->fresh_count;

	walk->base = base;
	walk->stored = !forget && (RT_LIKELY(count <= walk->now.capacity) ||
				   memory_grow(&walk->now, count, base));
	return RT_LIKELY(walk->stored) ? append(walk, base, end_slot) : hash_only(walk, base);
}

/* The walk has met no remembered one that holds to the end. */
static RT_COLD uint64_t finish_root(struct rt_walk *walk, const struct state *s)
{
	uintptr_t root = walk->fresh[walk->fresh_count - 1].slot;
	uint64_t hash;

	if (!walk->landed)
		rt_add_own(walk->full_walks, 1);
	walk->truncated = s->truncated;
	if (s->truncated)
		walk->fresh[walk->fresh_count - 1].flags |= RT_FRAME_CUT;
	if (!s->forget && walk->now.root && walk->now.root != root)
		park(walk);
	hash = finish(walk, 0, s->forget, s->ra == 0 ? s->slot : 0);
	if (walk->stored) {
		walk->now.root = root;
		find_floor(walk);
	}
	return hash;
}

/* ---- the walk ------------------------------------------------------------------------------ */

RT_INLINE bool lands(const struct rt_frame *mem, const struct state *s)
{
	return mem->slot == s->slot && mem->ra == s->ra && !(s->flags & RT_FRAME_EXACT) &&
	       (!needs_fp(mem) || mem->fp == s->fp);
}

/* Flags that say how a frame was reached. */
enum { OF_THE_WAY = RT_FRAME_STEP | RT_FRAME_GUESSED };

/* The same state, but reached on the new walk's way: those are the words to read again. */
static inline void land(struct rt_memory *now, struct rt_frame *frame, const struct state *s)
{
	frame->fp = s->fp;
	frame->fp_offset = s->fp_offset;
	frame->flags = (frame->flags & ~(uint32_t)OF_THE_WAY) | (s->flags & OF_THE_WAY);
	(void)put_words(now->words, frame->words, frame);
}

/* Room for one more new frame; NULL when there is none. */
RT_INLINE struct rt_frame *fresh_next(struct rt_walk *walk)
{
	if (RT_UNLIKELY(walk->fresh_count == walk->fresh_capacity) && !fresh_grow(walk))
		return NULL;
	return &walk->fresh[walk->fresh_count++];
}

/* The state becomes part of the new walk. */
RT_INLINE struct rt_frame *push(struct rt_walk *walk, const struct state *s)
{
	struct rt_frame *frame = fresh_next(walk);

	if (RT_UNLIKELY(!frame))
		return NULL;
	/*
	 * Field by field, out of registers: copied whole, words stored apart would be loaded
	 * together, which stalls every step.
	 */
	frame->slot = s->slot;
	frame->ra = s->ra;
	frame->fp = s->fp;
	frame->fp_offset = s->fp_offset;
	frame->flags = s->flags;
	return frame;
}

/*
 * The walk has landed on @mem, and word @differs is the first further out that does not hold. The
 * frames before it become part of the new walk, the last of them the state to step from; the
 * frame pointer is followed along, since the rules from there on may need it where the old ones
 * did not. Returns the remembered frame whose word it is; NULL when there is no room.
 */
static inline struct rt_frame *keep(struct rt_walk *walk, struct state *s, struct rt_frame *mem,
				    int64_t differs)
{
	for (; mem->words > differs; mem--) {
		struct rt_frame *frame = fresh_next(walk);

		if (RT_UNLIKELY(!frame))
			return NULL;
		frame->slot = mem->slot;
		frame->ra = mem->ra;
		frame->fp_offset = mem->fp_offset;
		frame->flags = mem->flags & (RT_FRAME_USES_FP | RT_FRAME_SAVES_FP | OF_THE_WAY);
		if (mem->fp_offset)
			s->fp = word_at(mem->slot + 8 + (uintptr_t)(intptr_t)mem->fp_offset);
		frame->fp = s->fp;
		s->sp = mem->slot + 8;
	}
	return mem;
}

static void begin(struct state *s, const uintptr_t *hook)
{
	/* The hook's caller's frame pointer is the word before its return address. */
	*s = (struct state){
		.slot = (uintptr_t)(hook + 1),
		.sp = (uintptr_t)(hook + 2),
		.ra = hook[1],
		.fp = hook[0],
		.fp_offset = -2 * (int32_t)sizeof(uintptr_t),
	};
}

bool rt_walk_meets_signal(const uintptr_t *fp, uintptr_t outer)
{
	uint32_t generation = rt_load(&rt_generation);
	struct state s;

	begin(&s, fp);
	for (uint32_t i = 0; i < RT_WALK_FRAMES_MAX; i++) {
		uintptr_t slot = s.slot;

		s = step_by(s, rt_rule_peek(s.ra, s.flags & RT_FRAME_EXACT, generation), NULL);
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
	struct state s;
	struct rt_frame *mem;

	begin(&s, hook);
	if (RT_UNLIKELY(s.slot > walk->now.root || s.slot <= walk->floor))
		choose_stack(walk, s.slot);
	if (RT_UNLIKELY(walk->now.generation != generation))
		new_generation(walk, generation);
	walk->fresh_count = 0;
	walk->landed = false;
	mem = walk->now.frames + walk->now.count - 1;
	while (!s.ended) {
		struct rt_frame *from;
		cfi_rule rule;

		while (mem->slot < s.slot)
			mem--;
		if (lands(mem, &s)) {
			int64_t differs;

			walk->landed = true;
			land(&walk->now, mem, &s);
			differs = rt_walk_reread(walk->now.words, (int64_t)mem->words - 1);
			if (RT_LIKELY(differs < 0)) {
				walk->truncated = walk->now.frames[0].flags & RT_FRAME_CUT;
				return finish(walk, (uint32_t)(mem - walk->now.frames) + 1,
					      s.forget, 0);
			}
			mem = keep(walk, &s, mem, differs);
			from = mem ? &walk->fresh[walk->fresh_count - 1] : NULL;
		} else {
			from = push(walk, &s);
		}
		if (RT_UNLIKELY(!from)) {
			/* Deeper than can be remembered. */
			s.truncated = true;
			break;
		}
		rule = rt_rule_find(from->ra, from->flags & RT_FRAME_EXACT, generation);
		if (RT_LIKELY(step_fast(&s, rule))) {
			from->flags |= s.from_flags;
			s.ended = s.ra == 0;
			continue;
		}
		if (cfi_rule_kind(rule) == CFI_NONE && from->flags & RT_FRAME_GUESSED) {
			/* The frame pointer was none: it led to something that is not code. */
			walk->fresh_count--;
			end_unsure(&s);
			break;
		}
		s = step_by(s, rule, &walk->stack);
		from->flags |= s.from_flags;
		if (s.moved)
			mem = walk->now.frames + walk->now.count - 1;
		s.moved = false;
	}
	return finish_root(walk, &s);
}
