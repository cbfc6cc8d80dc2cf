/* SPDX-License-Identifier: MIT */
/*
 * What a program did wrong with a block of its heap: the only list of it, and of the functions that
 * may do so.
 */
#ifndef SEEP_LEDGER_FINDING_H
#define SEEP_LEDGER_FINDING_H

#include "ledger/kind.h"

/*
 * FINDING(constant, name in reports). Numbered in this order from 1 on, which is part of ledgers and
 * recordings: a new one goes to the end.
 */
#define LEDGER_FINDINGS(FINDING)                                                         \
	FINDING(MISMATCHED_FREE, "mismatched-free") /* by another family's function */   \
	FINDING(SIZE_MISMATCH, "size-mismatch")	    /* the size that it was given */     \
	FINDING(ALIGN_MISMATCH, "align-mismatch")   /* the alignment */                  \
	FINDING(DOUBLE_FREE, "double-free")	    /* it was freed before */            \
	FINDING(UNKNOWN_FREE, "unknown-free")	    /* of what is no block */            \
	FINDING(INTERIOR_FREE, "interior-free")	    /* of a place inside a block */      \
	FINDING(REAR_GUARD, "rear-guard")	    /* written behind the block */       \
	FINDING(FRONT_GUARD, "front-guard")	    /* written in front of it */         \
	FINDING(USE_AFTER_FREE, "use-after-free")   /* read or written after its free */ \
	FINDING(OUT_OF_BOUNDS, "out-of-bounds")	    /* read or written outside of it */

/* FREEING(constant, name in reports, the family whose blocks it frees) */
#define LEDGER_FREEINGS(FREEING)                                    \
	FREEING(FREE, "free", MALLOC)                               \
	FREEING(REALLOC, "realloc", MALLOC)                         \
	FREEING(FREE_SIZED, "free_sized", MALLOC)                   \
	FREEING(FREE_ALIGNED_SIZED, "free_aligned_sized", MEMALIGN) \
	FREEING(DELETE, "delete", NEW)                              \
	FREEING(DELETE_ARRAY, "delete[]", NEW_ARRAY)                \
	FREEING(DELETE_ALIGNED, "aligned delete", NEW_ALIGNED)      \
	FREEING(DELETE_ARRAY_ALIGNED, "aligned delete[]", NEW_ARRAY_ALIGNED)

#define LEDGER_FINDING_CONSTANT(constant, name) LEDGER_FINDING_##constant,
#define LEDGER_FREEING_CONSTANT(constant, name, family) LEDGER_FREEING_##constant,
#define LEDGER_FREEING_FAMILY(constant, name, family) LEDGER_FAMILY_##family,

enum ledger_finding_kind {
	LEDGER_FINDING_NONE = 0,
	LEDGER_FINDINGS(LEDGER_FINDING_CONSTANT) LEDGER_FINDING_COUNT
};

enum ledger_freeing {
	LEDGER_FREEING_NONE = 0, /* no free: an access, or a look at guards */
	LEDGER_FREEINGS(LEDGER_FREEING_CONSTANT) LEDGER_FREEING_COUNT
};

/* Of a freeing function, the first family whose blocks it frees: free() frees memalign()'s, too. */
static inline enum ledger_family ledger_freeing_family(enum ledger_freeing freeing)
{
	static const uint8_t families[] = { LEDGER_FAMILY_MALLOC,
					    LEDGER_FREEINGS(LEDGER_FREEING_FAMILY) };

	return (enum ledger_family)families[freeing];
}

#endif
