/* SPDX-License-Identifier: MIT */
/*
 * Tiers below "exact": which allocations are walked, and where the others are counted.
 * docs/internals/tiers.md has the method, and why its estimates have no bias.
 *
 * In tier "counts" every block has a cell and a row, most often the row of its site: the return address
 * of the hook, and what a key says. In "sampled" what is not taken passes: it is counted, and has no
 * cell. How many taken blocks lie at addresses that end alike stands in rt_taken, so that most frees
 * look at one byte.
 */
#ifndef SEEP_RUNTIME_TIER_H
#define SEEP_RUNTIME_TIER_H

#include "ledger/ledger_tier.h"
#include "runtime/rt.h"
#include "runtime/track/guarded.h"
#include "runtime/track/operation.h"
#include "runtime/track/pagemap.h"
#include "runtime/track/sampled.h"
#include "runtime/track/thread.h"
#include "runtime/track/usable.h"

enum {
	RT_SITES = 64,
	RT_TAKEN_BYTES = 1 << 16,
	RT_TAKEN_SHIFT =
		11, /* log2 of the address space that has one count: few lines of cache for a heap */
	RT_TAKEN_MANY = 255, /* so many or more: nobody knows, and it stays */
};

/* The row of one site, for as long as the rest of its thread's tier stays what it is. */
struct rt_site {
	uintptr_t ra;
	uint64_t key;
	struct ledger_slot *slot;
	uint32_t row;
};

/* A thread's, in a page of its own. */
struct rt_tier {
	uint64_t begun; /* mode and epoch of the control line that the rest is for */
	uint64_t random;
	uint32_t generation; /* of modules */
	struct rt_site sites[RT_SITES];
};

RT_INLINE struct rt_site *rt_site_place(struct rt_tier *tier, uintptr_t ra, uint64_t key)
{
	return &tier->sites[(ra ^ ra >> 6 ^ key) % RT_SITES];
}

/* By which an allocation lowers what is left, by the bits of its size. */
extern RT_HIDDEN int64_t rt_tier_steps[65];

/* By address: so many blocks were taken there, RT_TAKEN_MANY or less. */
extern RT_HIDDEN _Atomic uint8_t rt_taken[RT_TAKEN_BYTES];

/* Before the first allocation: one is taken of 2^rt_header.sample_log2 bytes; @passes: the tier is "sampled". */
void rt_tier_start(bool passes);

/* Nothing is noted of blocks any more. */
void rt_tier_forget(void);

/* log2 of what a block of @size stands for, with flags as those of rt_cell_flags(). */
RT_INLINE unsigned rt_weight_log2(uint32_t flags, uint64_t size)
{
	return RT_UNLIKELY(flags & RT_CELL_TAKEN) ? ledger_sample_of(size, rt_header.sample_log2)
						  : 0;
}

RT_INLINE _Atomic uint8_t *rt_taken_at(uintptr_t address)
{
	/* Heaps of threads begin at multiples of 64 MB: each has its own part. */
	return &rt_taken[((address >> RT_TAKEN_SHIFT) + (address >> 26) * 2111) &
			 (RT_TAKEN_BYTES - 1)];
}

/* Surely the block at @address has no cell: nobody need look for it, where nothing else is near. */
RT_INLINE bool rt_has_passed(const struct rt_thread *thread, uintptr_t address)
{
	const struct ledger_control *control = rt_mine.control;

	return thread && thread->passes && control && !rt_load(rt_taken_at(address)) &&
	       rt_mode_and_epoch(control) == rt_load(&thread->tier_quick);
}

/*
 * By what the live total changes. Where the process was seen from its start and glibc serves it, what
 * passes is in it with the bytes that its header says, and what was taken with as many: if those were
 * fewer, the total would be highest where few were taken. Else it is an estimate: what was taken
 * stands for what was not.
 */
RT_INLINE uint64_t rt_live_bytes(uint32_t flags, uint64_t size)
{
	if (RT_LIKELY(!(flags & RT_CELL_TAKEN)))
		return size;
	if (!rt_load(&rt_global.adds_passed))
		return size << rt_weight_log2(flags, size);
	return rt_guard_front_bytes ? size : rt_chunk_bytes_for(size);
}

/* From now on the live total is an estimate. */
static inline void rt_tier_add_no_more(void)
{
	if (RT_UNLIKELY(rt_load(&rt_global.adds_passed)))
		rt_store(&rt_global.adds_passed, false);
}

/*
 * Of one that passes, with @flags as its hook has them. In front of what lies in the region, or came from
 * others, is no chunk's header; in front of what has guards is one of ours.
 */
RT_INLINE uint64_t rt_passed_bytes(const void *block, uint32_t flags)
{
	if (RT_UNLIKELY(rt_is_sampled(block)))
		return rt_chunk_bytes_for(rt_sampled_at((uintptr_t)block)->size);
	if (RT_UNLIKELY(flags & LEDGER_CELL_FOREIGN) && !ledger_flags_are_guarded(flags))
		rt_tier_add_no_more();
	if (!rt_load(&rt_global.adds_passed))
		return 0;
	return RT_LIKELY(!rt_guard_front_bytes) ? rt_chunk_bytes((uintptr_t)block)
						: rt_guarded_bytes(block);
}

/* By how much what passes in a thread may change the live total before it has to tell. */
extern RT_HIDDEN _Atomic int64_t rt_tier_kept_most;

/* In bookkeeping, as those below: it tells all, and looks whether that is the peak. */
RT_COLD void rt_tier_look(struct rt_thread *thread, struct ledger_control *control);

/* The same where its bookkeeping is over. Gives @block. */
RT_COLD void *rt_tier_tell(struct rt_thread *thread, void *block, const void *frame);

/* After n or T of docs/internals/ledger.md, "peak", has changed. */
void rt_tier_set_kept(uint64_t threshold_bytes, uint32_t threads);

/* What passes changes the live total by so much. */
void rt_tier_keep(struct rt_thread *thread, struct ledger_control *control, int64_t bytes);

/*
 * Look before a block is taken: who looks at each arrival of a Poisson process, and does not count what
 * arrives, sees what is there at any moment. A block that was sure to be taken is no such arrival, and
 * stands for itself: look when it has come.
 */
RT_INLINE bool rt_tier_looks_after(uint32_t flags, uint64_t size)
{
	return rt_weight_log2(flags, size) == 0;
}

/* A taken block of @bytes in the live total comes, or goes. */
RT_COLD void rt_tier_rise(struct rt_thread *thread, struct ledger_control *control, uint64_t bytes);
RT_COLD void rt_tier_fall(struct rt_thread *thread, struct ledger_control *control, uint64_t bytes);

/* A block with these @flags begins at @address, or does so no more. */
RT_COLD void rt_taken_add(uintptr_t address);
RT_COLD void rt_taken_remove(uintptr_t address);

/* All that @thread knows of its tier is of another ledger. */
static inline void rt_tier_void(struct rt_thread *thread)
{
	if (!thread->tier)
		return;
	thread->tier->begun = UINT64_MAX;
	rt_store(&thread->tier_quick, UINT64_MAX);
}

/* The row of one that passes: it is counted, but for the live total. */
#define RT_ROW_PASSED UINT32_MAX

/**
 * rt_tier_row - the row of an allocation of @size bytes while a tier below "exact" is in force, or was
 * @now: mode and epoch of the control line
 * @flags: RT_CELL_TAKEN is added where the block is taken
 *
 * In bookkeeping. Never fails, as rt_place_row().
 */
RT_APART uint32_t rt_tier_row(struct rt_thread *thread, uint64_t now, struct rt_key key,
			      size_t size, uint32_t *flags, const void *frame);

#endif
