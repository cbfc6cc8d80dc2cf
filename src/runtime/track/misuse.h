/* SPDX-License-Identifier: MIT */
/*
 * The verdict on a wrong free, and the table of findings. Off the hot path: quick.h has seen that
 * something is not as it should be, or guards have.
 */
#ifndef SEEP_RUNTIME_MISUSE_H
#define SEEP_RUNTIME_MISUSE_H

#include "runtime/rt.h"
#include "runtime/track/operation.h"
#include "runtime/track/pagemap.h"

/* What is to be told of a finding, beside its kind and where the program is now. */
struct rt_finding {
	enum ledger_finding_kind kind;
	enum ledger_freeing freeing;
	uintptr_t pointer;
	const struct rt_block *block; /* it is about; NULL: not known. It may be freed by now */
	uint32_t freed_row;	      /* where that was freed before; 0: not known */
	uint64_t expected, actual;
};

/*
 * Note @finding of the hook with frame address @frame. In bookkeeping or not; any thread, any
 * signal. What has no place is counted. With abort_on_error the program ends by SIGABRT.
 */
RT_COLD void rt_finding_note(const struct rt_finding *finding, const void *frame);

/* Judge a free that is about to happen. @at: what rt_block_at() says of the pointer. */
RT_COLD void rt_misuse_judge(void *block, const struct rt_block *at, struct rt_free how,
			     const void *frame);

/* Some findings were noted: a small forked child is to keep its ledger. */
bool rt_misuse_met(void);

void rt_misuse_forked(void);

#endif
