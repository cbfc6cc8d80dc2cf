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
	struct rt_block block; /* that it is about, freed or not; value = 0: not known */
	uint32_t freed_row;    /* where that was freed before; 0: not known */
	uint64_t expected, actual;
};

/*
 * Note @finding of the hook with frame address @frame. In bookkeeping or not; any thread, any
 * signal. What has no place is counted. With abort_on_error the program ends by SIGABRT.
 */
RT_COLD void rt_finding_note(const struct rt_finding *finding, const void *frame);

/* The row of where the hook at @frame, NULL: none, was called; 0: not known. Not in bookkeeping. */
uint32_t rt_finding_row(const void *frame);

/* After a finding the program is ended by abort(). */
extern RT_HIDDEN bool rt_finding_aborts;

#endif
