/* SPDX-License-Identifier: MIT */
#include "runtime/unwind/walk.h"

#include "runtime/life/sys.h"
#include "runtime/unwind/rules.h"

#include <string.h>
#include <sys/uio.h>

/* Where the kernel put argc: the end of the main thread's stack. Exported by the loader. */
extern void *__libc_stack_end;

/* x86-64 Linux: offsets of saved registers in the ucontext that a signal-return frame points at. */
enum { UCONTEXT_RBP = 120, UCONTEXT_RSP = 160, UCONTEXT_RIP = 168 };

/* A frame larger than this is looked at with the kernel's help before it is believed. */
enum { FRAME_BYTES_PLAUSIBLE = 1 << 16, FRAME_BYTES_MAX = 1 << 20 };

/* Signal frames and stack switches on one walk: more mean that it goes in circles. */
enum { MOVES_MAX = 64 };

/* The walk in progress: the state to step from, and what is known about the way so far. */
struct cursor {
	uintptr_t sp;
	uintptr_t fp;
	struct rt_frame frame; /* the state, as it will be remembered */
	bool ended;
	bool truncated;
	bool forget; /* crossed a signal frame or onto another stack: not to be remembered */
	bool moved;  /* just now: remembered frames are to be searched from the innermost again */
	uint32_t moves;
};

static RT_COLD bool is_readable(uintptr_t address)
{
	uintptr_t word;
	struct iovec local = { &word, sizeof(word) };
	struct iovec remote = { (void *)address, sizeof(word) };

	return rt_syscall6(SYS_process_vm_readv, rt_getpid(), (long)&local, 1, (long)&remote, 1,
			   0) == sizeof(word);
}

static inline uintptr_t word_at(uintptr_t address)
{
	return *(const uintptr_t *)address;
}

enum { WORDS_PER_FRAME = 3 };

/* What words point at that always hold, or never. */
static const uintptr_t zero;

static size_t bytes_for(uint32_t capacity)
{
	return (2 * (size_t)capacity + 1) * sizeof(struct rt_frame) +
	       ((size_t)capacity * WORDS_PER_FRAME + RT_WORDS_BEFORE) * sizeof(struct rt_word);
}

/* Point @walk at @memory for @capacity frames; before the outermost stands one beyond any slot. */
static void lay_out(struct rt_walk *walk, void *memory, uint32_t capacity)
{
	walk->frames = (struct rt_frame *)memory + 1;
	walk->frames[-1].slot = UINTPTR_MAX;
	walk->frames[-1].words = 0;
	walk->fresh = walk->frames + capacity;
	walk->words = (struct rt_word *)(walk->fresh + capacity) + RT_WORDS_BEFORE;
	for (int i = 1; i <= RT_WORDS_BEFORE; i++)
		walk->words[-i] = (struct rt_word){ (uintptr_t)&zero, 0 };
	walk->capacity = capacity;
}

static RT_COLD bool grow(struct rt_walk *walk)
{
	struct rt_walk before = *walk;
	void *memory;

	if (before.capacity * 2 > RT_WALK_FRAMES_MAX)
		return false;
	memory = rt_mmap(bytes_for(before.capacity * 2));
	if (!memory)
		return false;
	lay_out(walk, memory, before.capacity * 2);
	memcpy(walk->frames, before.frames, before.count * sizeof(struct rt_frame));
	memcpy(walk->fresh, before.fresh, before.fresh_count * sizeof(struct rt_frame));
	memcpy(walk->words, before.words, before.count * WORDS_PER_FRAME * sizeof(struct rt_word));
	rt_munmap(before.frames - 1, bytes_for(before.capacity));
	return true;
}

bool rt_walk_start(struct rt_walk *walk)
{
	if (!walk->frames) {
		void *memory = rt_mmap(bytes_for(RT_WALK_FRAMES_FIRST));

		if (!memory)
			return false;
		lay_out(walk, memory, RT_WALK_FRAMES_FIRST);
	}
	walk->count = 0;
	return true;
}

static inline bool needs_fp(const struct rt_frame *frame)
{
	return frame->flags & RT_FRAME_NEEDS_FP;
}

static void move(struct cursor *c)
{
	c->forget = true;
	c->moved = true;
	c->moves++;
}

static inline void end(struct cursor *c, bool truncated)
{
	c->ended = true;
	c->truncated = truncated;
}

/* Truncated because of what memory held or did not: not to be remembered. */
static inline void end_unsure(struct cursor *c)
{
	c->forget = true;
	end(c, true);
}

/*
 * A CFA further out than most, or not further out at all: is the memory there? A wrong rule, or a
 * return address that is none, could lead anywhere. Beyond what a frame can be it is another
 * stack. False ends the walk.
 */
static RT_COLD bool take_leap(struct cursor *c, uintptr_t cfa, uintptr_t fp_at, bool reads_fp)
{
	if (cfa & 7 || c->moves == MOVES_MAX || !is_readable(cfa - 8) ||
	    (reads_fp && !is_readable(fp_at)))
		return false;
	if (cfa - c->sp - 1 >= FRAME_BYTES_MAX)
		move(c);
	return true;
}

static RT_COLD void step_signal(struct cursor *c)
{
	uintptr_t ucontext = c->sp;

	move(c);
	c->frame.slot = ucontext + UCONTEXT_RIP;
	c->frame.ra = word_at(c->frame.slot);
	c->frame.flags = RT_FRAME_EXACT;
	c->frame.fp_offset = 0;
	c->fp = word_at(ucontext + UCONTEXT_RBP);
	c->frame.fp = c->fp;
	c->sp = word_at(ucontext + UCONTEXT_RSP);
	if (c->moves > MOVES_MAX)
		end(c, true);
}

/* Take the frame that returns at @cfa - 8. */
static inline void step_to(struct cursor *c, uintptr_t cfa, uintptr_t fp_at, bool reads_fp)
{
	/* One compare: sp < cfa <= sp + FRAME_BYTES_PLAUSIBLE; misaligned ones leap too. */
	if (RT_UNLIKELY(cfa - c->sp - 1 >= FRAME_BYTES_PLAUSIBLE || cfa & 7) &&
	    !take_leap(c, cfa, fp_at, reads_fp)) {
		end_unsure(c);
		return;
	}
	c->frame.slot = cfa - 8;
	c->frame.ra = word_at(cfa - 8);
	c->frame.flags = 0;
	c->frame.fp_offset = 0;
	if (reads_fp) {
		c->fp = word_at(fp_at);
		c->frame.fp_offset = (int32_t)(fp_at - cfa);
	}
	c->frame.fp = c->fp;
	c->sp = cfa;
	if (c->frame.ra == 0)
		end(c, false);
}

/* The CFA, less @plus, stands in memory at @cfa_at: a word that must be looked at again too. */
static RT_COLD void step_by_memory(struct cursor *c, uintptr_t cfa_at, uintptr_t plus,
				   uintptr_t fp_at, bool reads_fp)
{
	/* Within a frame's reach of the stack pointer it is the stack; else ask. */
	if (cfa_at & 7 || (cfa_at - (c->sp - 8) > FRAME_BYTES_PLAUSIBLE && !is_readable(cfa_at))) {
		end_unsure(c);
		return;
	}
	step_to(c, word_at(cfa_at) + plus, fp_at, reads_fp);
	c->frame.flags |= RT_FRAME_STEP;
}

/* Step outward by the rule of the present frame; note in it what the rule depended on. */
static RT_COLD void step(struct cursor *c, struct rt_frame *from, cfi_rule rule)
{
	int32_t cfa_offset = cfi_rule_cfa_offset(rule);
	int32_t fp_offset = cfi_rule_fp_offset(rule);
	uintptr_t cfa;

	switch (cfi_rule_kind(rule)) {
	case CFI_SP:
		cfa = c->sp + (uintptr_t)(intptr_t)cfa_offset;
		if (fp_offset)
			from->flags |= RT_FRAME_SAVES_FP;
		step_to(c, cfa, cfa + (uintptr_t)(intptr_t)fp_offset, fp_offset != 0);
		return;
	case CFI_FP:
		cfa = c->fp + (uintptr_t)(intptr_t)cfa_offset;
		from->flags |= RT_FRAME_USES_FP;
		step_to(c, cfa, cfa + (uintptr_t)(intptr_t)fp_offset, fp_offset != 0);
		return;
	case CFI_DRAP:
		from->flags |= RT_FRAME_USES_FP;
		step_by_memory(c, c->fp + (uintptr_t)(intptr_t)cfa_offset, 0,
			       c->fp + (uintptr_t)(intptr_t)fp_offset, true);
		return;
	case CFI_SP_MEMORY:
		if (fp_offset)
			from->flags |= RT_FRAME_SAVES_FP;
		step_by_memory(c, c->sp + (uintptr_t)(intptr_t)cfa_offset, 8, 0, false);
		if (fp_offset && !c->ended) {
			c->fp = word_at(c->sp + (uintptr_t)(intptr_t)fp_offset);
			c->frame.fp = c->fp;
			c->frame.fp_offset = fp_offset;
		}
		return;
	case CFI_SIGNAL:
		step_signal(c);
		return;
	case CFI_STOP:
		end(c, false);
		return;
	case CFI_NONE:
	default:
		/* The loader's entry has no rule, and nothing beyond it. */
		end(c, c->sp != (uintptr_t)__libc_stack_end);
	}
}

/*
 * Frames @from to @to + 1 of the remembered walk hold, frame @to does not: they become part of
 * the new walk, innermost first, and the cursor stands at the last of them. The frame pointer is
 * followed along, since the rules from here on may need it where the old ones did not.
 */
static inline bool keep(struct rt_walk *walk, struct cursor *c, int64_t from, int64_t to)
{
	uintptr_t fp = c->fp;

	for (int64_t i = from; i > to; i--) {
		const struct rt_frame *old;
		struct rt_frame *frame;

		if (RT_UNLIKELY(walk->fresh_count == walk->capacity) && !grow(walk))
			return false;
		frame = &walk->fresh[walk->fresh_count++];
		old = &walk->frames[i];
		frame->slot = old->slot;
		frame->ra = old->ra;
		frame->fp_offset = old->fp_offset;
		frame->flags = old->flags & (RT_FRAME_USES_FP | RT_FRAME_SAVES_FP | RT_FRAME_STEP);
		if (old->fp_offset)
			fp = word_at(old->slot + 8 + (uintptr_t)(intptr_t)old->fp_offset);
		frame->fp = fp;
	}
	c->fp = fp;
	c->sp = walk->frames[to + 1].slot + 8;
	return true;
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

/* The same state, but reached on the new walk's way: those are the words to read again. */
static inline void land(struct rt_walk *walk, struct rt_frame *frame, uintptr_t fp,
			int32_t fp_offset, uint32_t flags)
{
	frame->fp = fp;
	frame->fp_offset = fp_offset;
	frame->flags = (frame->flags & ~(uint32_t)RT_FRAME_STEP) | (flags & RT_FRAME_STEP);
	(void)put_words(walk->words, frame->words, frame);
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
	uint64_t hash = rt_global.seed ^ walk->generation;
	const struct rt_frame *frame = walk->fresh + walk->fresh_count;
	struct rt_frame *into = walk->frames + base;
	uint32_t needed = 0;
	uint32_t at = 0;

	if (RT_LIKELY(base != 0)) {
		hash = into[-1].hash;
		needed = into[-1].flags & RT_FRAME_NEEDS_FP;
		at = put_words(walk->words, into[-1].words, &into[-1]);
	} else if (end_slot) {
		/* The word beyond the outermost frame ended the walk by being zero. */
		walk->words[at].at = end_slot;
		walk->words[at++].value = 0;
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
		at = put_words(walk->words, at, into);
	}
	walk->count = base + walk->fresh_count;
	return hash;
}

/*
 * The hash only: the walk is not kept. What lies inward of the landing frame was reached on
 * another way, and the words of that way are not known any more, so it goes too.
 */
static RT_COLD uint64_t hash_only(struct rt_walk *walk, uint32_t base)
{
	uint64_t hash = base ? walk->frames[base - 1].hash : rt_global.seed ^ walk->generation;

	for (uint32_t i = walk->fresh_count; i-- > 0;) {
		const struct rt_frame *frame = &walk->fresh[i];
		uint64_t exact = frame->flags & RT_FRAME_EXACT;

		hash = core_hash_step(hash, frame->ra ^ exact << 56);
	}
	walk->count = base;
	return hash;
}

static inline uint64_t finish(struct rt_walk *walk, uint32_t base, bool forget, uintptr_t end_slot)
{
	walk->base = base;
	walk->stored = !forget;
	while (RT_UNLIKELY(base + walk->fresh_count > walk->capacity) && walk->stored)
		walk->stored = grow(walk);
	return RT_LIKELY(walk->stored) ? append(walk, base, end_slot) : hash_only(walk, base);
}

static void begin(struct cursor *c, const uintptr_t *fp)
{
	c->frame = (struct rt_frame){ .slot = (uintptr_t)(fp + 1), .ra = fp[1], .fp = fp[0] };
	c->sp = (uintptr_t)(fp + 2);
	c->fp = fp[0];
	c->ended = c->truncated = c->forget = c->moved = false;
	c->moves = 0;
}

bool rt_walk_meets_signal(const uintptr_t *fp, uintptr_t outer)
{
	uint32_t generation = rt_load(&rt_generation);
	struct cursor c;

	begin(&c, fp);
	for (uint32_t i = 0; i < RT_WALK_FRAMES_MAX; i++) {
		struct rt_frame from = c.frame;

		step(&c, &from, rt_rule_peek(from.ra, from.flags & RT_FRAME_EXACT, generation));
		if (c.moved)
			return true;
		if (c.ended)
			return c.truncated;
		if (from.slot < outer && c.frame.slot >= outer)
			return false;
	}
	return false;
}

/* The walk has met no remembered one that holds to the end. */
static RT_COLD uint64_t finish_root(struct rt_walk *walk, const struct cursor *c,
				    uintptr_t end_slot)
{
	if (!walk->landed)
		rt_add_own(walk->full_walks, 1);
	walk->truncated = c->truncated;
	if (c->truncated && walk->fresh_count)
		walk->fresh[walk->fresh_count - 1].flags |= RT_FRAME_CUT;
	return finish(walk, 0, c->forget, end_slot);
}

/*
 * The new walk has landed on @mem: re-read what lies outward. True when all holds. Otherwise the
 * frames up to the difference join the new walk, and *@ret_mem is the frame that differs.
 */
static inline bool holds(struct rt_walk *walk, struct cursor *c, struct rt_frame *mem,
			 struct rt_frame **ret_mem)
{
	int64_t word = rt_walk_reread(walk->words, (int64_t)mem->words - 1);
	struct rt_frame *differs = mem - 1;
	ptrdiff_t at;

	if (RT_LIKELY(word < 0))
		return true;
	while (differs->words > word)
		differs--;
	/* By index: keeping may move the frames. */
	at = differs - walk->frames;
	c->ended = !keep(walk, c, mem - walk->frames, at);
	*ret_mem = walk->frames + at;
	return false;
}

/* The state of the walk while it is in registers; the cursor holds it across rare steps only. */
struct state {
	uintptr_t slot;
	uintptr_t sp;
	uintptr_t ra;
	uintptr_t fp;
	int32_t fp_offset;
	uint32_t flags;
};

RT_INLINE bool lands(const struct rt_frame *mem, const struct state *s)
{
	return mem->slot == s->slot && mem->ra == s->ra && !(s->flags & RT_FRAME_EXACT) &&
	       (!needs_fp(mem) || mem->fp == s->fp);
}

/* The state becomes part of the new walk. NULL when there is no room. */
RT_INLINE struct rt_frame *push(struct rt_walk *walk, const struct state *s,
				struct rt_frame **in_mem)
{
	struct rt_frame *frame;

	if (RT_UNLIKELY(walk->fresh_count == walk->capacity)) {
		ptrdiff_t at = *in_mem - walk->frames;

		if (!grow(walk))
			return NULL;
		*in_mem = walk->frames + at;
	}
	/*
	 * Field by field, out of registers: copied whole, words stored apart would be loaded
	 * together, which stalls every step.
	 */
	frame = &walk->fresh[walk->fresh_count++];
	frame->slot = s->slot;
	frame->ra = s->ra;
	frame->fp = s->fp;
	frame->fp_offset = s->fp_offset;
	frame->flags = s->flags;
	return frame;
}

/* The common rules, without a call; false leaves the step to step_rare(). */
RT_INLINE bool step_fast(struct state *s, struct rt_frame *from, cfi_rule rule)
{
	int32_t fp_offset = cfi_rule_fp_offset(rule);
	uintptr_t cfa = (uintptr_t)(intptr_t)cfi_rule_cfa_offset(rule);
	uint32_t flag;

	if (RT_LIKELY(cfi_rule_kind(rule) == CFI_SP)) {
		cfa += s->sp;
		flag = fp_offset ? RT_FRAME_SAVES_FP : 0;
	} else if (RT_LIKELY(cfi_rule_kind(rule) == CFI_FP)) {
		cfa += s->fp;
		flag = RT_FRAME_USES_FP;
	} else {
		return false;
	}
	if (RT_UNLIKELY(cfa - s->sp - 1 >= FRAME_BYTES_PLAUSIBLE || cfa & 7))
		return false;
	from->flags |= flag;
	if (fp_offset)
		s->fp = word_at(cfa + (uintptr_t)(intptr_t)fp_offset);
	s->fp_offset = fp_offset;
	s->slot = cfa - 8;
	s->ra = word_at(cfa - 8);
	s->flags = 0;
	s->sp = cfa;
	return true;
}

RT_INLINE void step_rare(struct state *s, struct cursor *c, struct rt_frame *from, cfi_rule rule)
{
	c->sp = s->sp;
	c->fp = s->fp;
	step(c, from, rule);
	s->slot = c->frame.slot;
	s->ra = c->frame.ra;
	s->fp = c->fp;
	s->fp_offset = c->frame.fp_offset;
	s->flags = c->frame.flags;
	s->sp = c->sp;
}

uint64_t rt_walk_step(struct rt_walk *walk, const uintptr_t *hook, uint32_t generation)
{
	struct state s = {
		.slot = (uintptr_t)(hook + 1),
		.sp = (uintptr_t)(hook + 2),
		.ra = hook[1],
		.fp = hook[0],
	};
	struct cursor c = { .ended = false };
	struct rt_frame *mem;

	if (RT_UNLIKELY(walk->generation != generation)) {
		walk->generation = generation;
		walk->count = 0;
	}
	walk->fresh_count = 0;
	walk->landed = false;
	mem = walk->frames + walk->count - 1;
	while (!c.ended) {
		struct rt_frame *from;
		cfi_rule rule;

		while (mem->slot < s.slot)
			mem--;
		if (lands(mem, &s)) {
			walk->landed = true;
			land(walk, mem, s.fp, s.fp_offset, s.flags);
			c.fp = s.fp;
			if (RT_LIKELY(holds(walk, &c, mem, &mem))) {
				walk->truncated = walk->frames[0].flags & RT_FRAME_CUT;
				return finish(walk, (uint32_t)(mem - walk->frames) + 1, c.forget,
					      0);
			}
			s.fp = c.fp;
			s.sp = c.sp;
			from = &walk->fresh[walk->fresh_count - 1];
		} else {
			from = push(walk, &s, &mem);
		}
		if (RT_UNLIKELY(!from || c.ended)) {
			/* Deeper than can be remembered. */
			c.truncated = true;
			break;
		}
		rule = rt_rule_find(from->ra, from->flags & RT_FRAME_EXACT, generation);
		if (RT_LIKELY(step_fast(&s, from, rule))) {
			c.ended = s.ra == 0;
			continue;
		}
		step_rare(&s, &c, from, rule);
		if (c.moved)
			mem = walk->frames + walk->count - 1;
		c.moved = false;
	}
	return finish_root(walk, &c, s.ra == 0 ? s.slot : 0);
}
