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
enum { FRAME_BYTES_PLAUSIBLE = 1 << 20 };

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

static bool grow(struct rt_walk *walk)
{
	uint32_t capacity = walk->capacity * 2;
	size_t bytes = (size_t)capacity * sizeof(struct rt_frame);
	struct rt_frame *memory;

	if (capacity > RT_WALK_FRAMES_MAX)
		return false;
	memory = rt_mmap(bytes * 2);
	if (!memory)
		return false;
	memcpy(memory, walk->frames, walk->count * sizeof(struct rt_frame));
	memcpy(memory + capacity, walk->fresh, walk->fresh_count * sizeof(struct rt_frame));
	rt_munmap(walk->frames, (size_t)walk->capacity * sizeof(struct rt_frame) * 2);
	walk->frames = memory;
	walk->fresh = memory + capacity;
	walk->capacity = capacity;
	return true;
}

bool rt_walk_start(struct rt_walk *walk)
{
	if (!walk->frames) {
		walk->frames = rt_mmap(RT_WALK_FRAMES_FIRST * sizeof(struct rt_frame) * 2);
		walk->fresh = walk->frames + RT_WALK_FRAMES_FIRST;
		walk->capacity = RT_WALK_FRAMES_FIRST;
	}
	walk->count = 0;
	return walk->frames != NULL;
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

/*
 * A CFA that does not grow, or grows by more than a frame does: another stack, if the memory is
 * there at all. False ends the walk.
 */
static RT_COLD bool take_leap(struct cursor *c, uintptr_t cfa, uintptr_t fp_at, bool reads_fp)
{
	if (cfa & 7 || c->moves == MOVES_MAX || !is_readable(cfa - 8) ||
	    (reads_fp && !is_readable(fp_at)))
		return false;
	move(c);
	return true;
}

static RT_COLD void step_signal(struct cursor *c)
{
	uintptr_t ucontext = c->sp;

	move(c);
	c->frame.slot = ucontext + UCONTEXT_RIP;
	c->frame.ra = rt_word_at(c->frame.slot);
	c->frame.flags = RT_FRAME_EXACT;
	c->frame.fp_offset = 0;
	c->fp = rt_word_at(ucontext + UCONTEXT_RBP);
	c->frame.fp = c->fp;
	c->sp = rt_word_at(ucontext + UCONTEXT_RSP);
	if (c->moves > MOVES_MAX)
		end(c, true);
}

/* Take the frame that returns at @cfa - 8. */
static inline void step_to(struct cursor *c, uintptr_t cfa, uintptr_t fp_at, bool reads_fp)
{
	/* One compare: sp < cfa <= sp + FRAME_BYTES_PLAUSIBLE; misaligned ones leap too. */
	if (RT_UNLIKELY(cfa - c->sp - 1 >= FRAME_BYTES_PLAUSIBLE || cfa & 7) &&
	    !take_leap(c, cfa, fp_at, reads_fp)) {
		end(c, true);
		return;
	}
	c->frame.slot = cfa - 8;
	c->frame.ra = rt_word_at(cfa - 8);
	c->frame.flags = 0;
	c->frame.fp_offset = 0;
	if (reads_fp) {
		c->fp = rt_word_at(fp_at);
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
		end(c, true);
		return;
	}
	step_to(c, rt_word_at(cfa_at) + plus, fp_at, reads_fp);
	c->frame.flags |= RT_FRAME_STEP;
}

/* Step outward by the rule of the present frame; note in it what the rule depended on. */
static void step(struct cursor *c, struct rt_frame *from, cfi_rule rule)
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
			c->fp = rt_word_at(c->sp + (uintptr_t)(intptr_t)fp_offset);
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
 * Frames m - 1 to k + 1 of the remembered walk hold, frame k does not: they become part of the
 * new walk, innermost first, and the cursor stands at the last of them. The frame pointer is
 * followed along, since the rules from here on may need it where the old ones did not.
 */
static bool keep(struct rt_walk *walk, struct cursor *c, int64_t from, int64_t to)
{
	for (int64_t i = from; i > to; i--) {
		struct rt_frame *frame;

		if (walk->fresh_count == walk->capacity && !grow(walk))
			return false;
		frame = &walk->fresh[walk->fresh_count++];
		*frame = walk->frames[i];
		frame->flags &= RT_FRAME_USES_FP | RT_FRAME_SAVES_FP | RT_FRAME_STEP;
		if (frame->fp_offset)
			c->fp = rt_word_at(frame->slot + 8 + (uintptr_t)(intptr_t)frame->fp_offset);
		frame->fp = c->fp;
		c->sp = frame->slot + 8;
	}
	return true;
}

/* The same state, but reached on the new walk's way: those are the words to read again. */
static inline void land(struct rt_frame *frame, const struct cursor *c)
{
	frame->fp = c->fp;
	frame->fp_offset = c->frame.fp_offset;
	frame->flags = (frame->flags & ~(uint32_t)(RT_FRAME_STEP | RT_FRAME_READS_FP)) |
		       (c->frame.flags & RT_FRAME_STEP);
	if (frame->fp_offset && needs_fp(frame))
		frame->flags |= RT_FRAME_READS_FP;
}

static inline void put(struct rt_frame *into, const struct rt_frame *frame)
{
	into->slot = frame->slot;
	into->ra = frame->ra;
	into->hash = frame->hash;
	into->fp = frame->fp;
	into->fp_offset = frame->fp_offset;
	into->flags = frame->flags;
}

static uint64_t hash_frames(struct rt_walk *walk, uint64_t hash, uint32_t outer_flags,
			    struct rt_frame *into)
{
	bool needed = outer_flags & RT_FRAME_NEEDS_FP;

	for (uint32_t i = walk->fresh_count; i-- > 0;) {
		struct rt_frame *frame = &walk->fresh[i];

		hash = core_hash_step(hash, frame->ra ^ (uint64_t)(frame->flags & RT_FRAME_EXACT)
								<< 56);
		frame->hash = hash;
		if (frame->flags & RT_FRAME_USES_FP)
			needed = true;
		else if (frame->flags & RT_FRAME_SAVES_FP)
			needed = false;
		if (needed)
			frame->flags |= RT_FRAME_NEEDS_FP |
					(frame->fp_offset ? RT_FRAME_READS_FP : 0);
		if (into)
			put(into++, frame);
	}
	return hash;
}

/* Put the new frames upon the first @base remembered ones. */
static uint64_t finish(struct rt_walk *walk, const struct cursor *c, uint32_t base)
{
	uint64_t hash = rt_global.seed ^ walk->generation;
	uint32_t outer_flags = 0;

	walk->base = base;
	if (base) {
		hash = walk->frames[base - 1].hash;
		outer_flags = walk->frames[base - 1].flags;
		walk->truncated = walk->frames[0].flags & RT_FRAME_CUT;
	} else {
		walk->truncated = c->truncated;
		if (c->truncated && walk->fresh_count)
			walk->fresh[walk->fresh_count - 1].flags |= RT_FRAME_CUT;
	}
	walk->stored = !c->forget;
	if (walk->stored) {
		while (base + walk->fresh_count > walk->capacity)
			if (!grow(walk)) {
				walk->stored = false;
				break;
			}
	}
	hash = hash_frames(walk, hash, outer_flags, walk->stored ? walk->frames + base : NULL);
	/*
	 * Not kept: what lies inward of the landing frame was reached on another way, and the words
	 * of that way are not known any more.
	 */
	walk->count = walk->stored ? base + walk->fresh_count : base;
	return hash;
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

static inline bool lands(const struct rt_frame *frame, const struct cursor *c)
{
	return frame->slot == c->frame.slot && frame->ra == c->frame.ra &&
	       !(c->frame.flags & RT_FRAME_EXACT) && (!needs_fp(frame) || frame->fp == c->fp);
}

/* The common rules, without a call; false leaves the step to step(). */
static inline bool step_fast(struct cursor *c, struct rt_frame *from, cfi_rule rule)
{
	uintptr_t fp_offset = (uintptr_t)(intptr_t)cfi_rule_fp_offset(rule);
	uintptr_t cfa;

	if (RT_LIKELY(cfi_rule_kind(rule) == CFI_SP))
		cfa = c->sp + (uintptr_t)(intptr_t)cfi_rule_cfa_offset(rule);
	else if (cfi_rule_kind(rule) == CFI_FP)
		cfa = c->fp + (uintptr_t)(intptr_t)cfi_rule_cfa_offset(rule);
	else
		return false;
	if (RT_UNLIKELY(cfa - c->sp - 1 >= FRAME_BYTES_PLAUSIBLE || cfa & 7))
		return false;
	from->flags |= cfi_rule_kind(rule) == CFI_FP ? RT_FRAME_USES_FP
		       : fp_offset		     ? RT_FRAME_SAVES_FP
						     : 0;
	if (fp_offset)
		c->fp = rt_word_at(cfa + fp_offset);
	c->frame.slot = cfa - 8;
	c->frame.ra = rt_word_at(cfa - 8);
	c->frame.fp = c->fp;
	c->frame.fp_offset = (int32_t)fp_offset;
	c->frame.flags = 0;
	c->sp = cfa;
	c->ended = c->frame.ra == 0;
	return true;
}

static RT_COLD struct cursor step_rare(struct cursor c, struct rt_frame *from, cfi_rule rule)
{
	step(&c, from, rule);
	return c;
}

/* The cursor's frame becomes part of the new walk; false when there is no room. */
static inline bool push(struct rt_walk *walk, const struct cursor *c)
{
	struct rt_frame *frame;

	if (RT_UNLIKELY(walk->fresh_count == walk->capacity) && !grow(walk))
		return false;
	/*
	 * Field by field, out of registers: copied whole, the two halves of the last word would
	 * be stored apart and loaded together, which stalls every step.
	 */
	frame = &walk->fresh[walk->fresh_count++];
	frame->slot = c->frame.slot;
	frame->ra = c->frame.ra;
	frame->fp = c->frame.fp;
	frame->fp_offset = c->frame.fp_offset;
	frame->flags = c->frame.flags;
	return true;
}

uint64_t rt_walk_step(struct rt_walk *walk, const uintptr_t *fp, uint32_t generation)
{
	struct cursor c;
	int64_t m;

	if (RT_UNLIKELY(walk->generation != generation)) {
		walk->generation = generation;
		walk->count = 0;
	}
	begin(&c, fp);
	walk->fresh_count = 0;
	walk->landed = false;
	m = (int64_t)walk->count - 1;
	while (!c.ended) {
		struct rt_frame *from;
		cfi_rule rule;

		while (m >= 0 && walk->frames[m].slot < c.frame.slot)
			m--;
		if (m >= 0 && lands(&walk->frames[m], &c)) {
			int64_t k;

			walk->landed = true;
			land(&walk->frames[m], &c);
			k = rt_walk_reread(walk, m - 1);
			if (k < 0)
				return finish(walk, &c, (uint32_t)m + 1);
			if (!keep(walk, &c, m, k))
				c.truncated = c.ended = true;
			m = k;
		} else if (RT_UNLIKELY(!push(walk, &c))) {
			c.truncated = c.ended = true;
		}
		from = &walk->fresh[walk->fresh_count - 1];
		rule = rt_rule_find(from->ra, from->flags & RT_FRAME_EXACT, generation);
		if (RT_LIKELY(!c.ended) && !step_fast(&c, from, rule)) {
			c = step_rare(c, from, rule);
			if (c.moved)
				m = (int64_t)walk->count - 1;
			c.moved = false;
		}
	}
	if (!walk->landed)
		rt_add_own(walk->full_walks, 1);
	return finish(walk, &c, 0);
}
