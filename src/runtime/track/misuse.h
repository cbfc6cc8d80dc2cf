/* SPDX-License-Identifier: MIT */
/*
 * The verdict on a wrong free, and the table of findings. Off the way of what is right: quick.h looks at
 * a block's family and size anyway, and whatever is not as usual comes here.
 *
 * Nothing is noted that might be right. A block that these hooks did not see allocated (before the start,
 * with a filter, by another allocator) may be freed here; that a pointer is no block is said only where
 * its memory cannot be a chunk of glibc's.
 */
#ifndef SEEP_RUNTIME_MISUSE_H
#define SEEP_RUNTIME_MISUSE_H

#include "ledger/finding.h"
#include "runtime/rt.h"
#include "runtime/track/operation.h"
#include "runtime/track/pagemap.h"

/* After a finding the program is ended by abort(). */
extern RT_HIDDEN bool rt_finding_aborts;

/* Something was noted: a forked child is to keep its ledger. */
extern RT_HIDDEN _Atomic bool rt_finding_met;

/* What is to be told of a finding, beside where the program is. */
struct rt_finding {
	enum ledger_finding_kind kind;
	enum ledger_freeing freeing;
	uintptr_t pointer;
	struct rt_block
		block; /* that it is about, freed or not; value = 0: who allocated it is not known */
	uint32_t freed_row; /* where that was freed before; 0: not known */
	uint64_t expected, actual;
	bool is_doubtful; /* see ledger_finding */
};

/*
 * Note @finding, made by the hook with frame address @frame, NULL: by none. Not in bookkeeping; any
 * thread, any signal. What has no place in the ledger is counted there.
 */
RT_COLD void rt_finding_note(const struct rt_finding *finding, const void *frame);

/* The row of where the hook at @frame, NULL: none, was called; 0: not known. Not in bookkeeping. */
RT_COLD uint32_t rt_finding_row(const void *frame);

/* Has @block this alignment, or is it not known? */
RT_COLD bool rt_misuse_is_aligned(const struct rt_block *block, uint8_t align_log2);

/* @at: what rt_block_at() says of the block that is about to be freed. */
RT_INLINE bool rt_free_is_right(const struct rt_block *at, struct rt_free how)
{
	if (RT_UNLIKELY(how.is_others) || RT_UNLIKELY(!how.freeing))
		return true;
	return RT_LIKELY(at->value != 0) &&
	       RT_LIKELY(rt_free_is_of_family(how, ledger_cell_family(at->value))) &&
	       (!how.has_size || RT_LIKELY(at->size == how.size)) &&
	       (!rt_free_is_aligned(how) || RT_LIKELY(rt_misuse_is_aligned(at, how.align_log2)));
}

/* It is not: note what is wrong, if that is certain. False: it is not. Not in bookkeeping. */
RT_COLD bool rt_misuse_judge(void *pointer, const struct rt_block *at, struct rt_free how,
			     const void *frame);

/* In a forked child, whose ledger is another one. */
RT_COLD void rt_findings_forked(void);

#endif
