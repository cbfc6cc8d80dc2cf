/* SPDX-License-Identifier: MIT */
/*
 * Unwind rules, compiled once from .eh_frame and remembered by program counter and generation.
 */
#ifndef SEEP_RUNTIME_RULES_H
#define SEEP_RUNTIME_RULES_H

#include "cfi/cfi.h"
#include "runtime/rt.h"
#include "runtime/sys/memo.h"

enum { RT_PC_BITS = 47 };

extern RT_HIDDEN rt_memo rt_rules;
/* Advanced when a module may have gone: rules and remembered walks of older ones are void. */
extern RT_HIDDEN _Atomic uint32_t rt_generation;

/* Of generation 16 bits | exact 1 bit | pc 47 bits; pc >= 4096, so never 0. */
RT_INLINE uint64_t rt_rule_key(uintptr_t pc, bool exact, uint32_t generation)
{
	return rt_memo_key((uint64_t)generation << 48 | (uint64_t)exact << RT_PC_BITS | pc);
}

/*
 * A rule as the walker likes it: what can be known beforehand is a bit. Bits 0-2 the kind, 3-10
 * flags, 12-31 fp_offset, 32-63 cfa_offset, both signed, in bytes. Zero is no rule but a miss.
 */
typedef uint64_t rt_rule;

enum {
	RT_RULE_KIND = 7,	/* enum cfi_kind, or: */
	RT_RULE_FOLLOWS_FP = 7, /* no table covers the pc, but a call stands before it */
	RT_RULE_FAST = 1 << 3,	/* CFI_SP, aligned, and the frame is not implausibly large */
	RT_RULE_SAVES_FP =
		1 << 4, /* restores fp from memory; CFI_SP and CFI_FP: at CFA + fp_offset */
	RT_RULE_USES_FP = 1 << 5,    /* computes the CFA from fp */
	RT_RULE_READS_CFA = 1 << 6,  /* the CFA stands in memory */
	RT_RULE_AFTER_CALL = 1 << 9, /* a call stands before the pc */
	RT_RULE_NO_MODULE = 1 << 10, /* the pc was in none: one may be loaded there by now */
	RT_RULE_GO = 1 << 11,	     /* of a frame: on a goroutine's stack, or called from there */
	/* Of a frame, kept with its rule: */
	RT_RULE_NEEDS_FP = 1 << 7, /* the way outward from here depends on fp */
	RT_RULE_EXACT = 1 << 8,	   /* ra is where a signal interrupted */
	RT_RULE_FP_SHIFT = 12,
	RT_RULE_FP_OFFSET_MAX = 1 << 19,
};

/* A frame larger than this is looked at with the kernel's help before it is believed. */
enum { RT_FRAME_BYTES_PLAUSIBLE = 1 << 16 };

/* There is none for this pc. */
#define RT_RULE_NONE ((rt_rule)1 << 32)

static inline rt_rule rt_rule_pack(unsigned kind, uint32_t flags, int32_t cfa_offset,
				   int32_t fp_offset)
{
	return (uint64_t)(uint32_t)cfa_offset << 32 |
	       (uint64_t)((uint32_t)fp_offset << RT_RULE_FP_SHIFT) | flags | kind;
}

/* As if the hook were a frame like others: where its caller's fp is. */
#define RT_RULE_HOOK rt_rule_pack(CFI_SP, RT_RULE_SAVES_FP, 16, -16)

static inline unsigned rt_rule_kind(rt_rule rule)
{
	return rule & RT_RULE_KIND;
}

static inline uintptr_t rt_rule_cfa_offset(rt_rule rule)
{
	return (uintptr_t)((int64_t)rule >> 32);
}

static inline uintptr_t rt_rule_fp_offset(rt_rule rule)
{
	return (uintptr_t)(intptr_t)((int32_t)(uint32_t)rule >> RT_RULE_FP_SHIFT);
}

/* Compile the rule for @pc and add it. */
RT_COLD rt_rule rt_rule_make(uintptr_t pc, bool exact, uint32_t generation);

/* The same without adding it anywhere. */
RT_COLD rt_rule rt_rule_compile(uintptr_t pc, bool exact);

/* The rule for @pc in @generation. Any thread. */
RT_INLINE rt_rule rt_rule_find(uintptr_t pc, bool exact, uint32_t generation)
{
	rt_rule rule = rt_memo_find(&rt_rules, rt_rule_key(pc, exact, generation));

	return RT_LIKELY(rule != 0) ? rule : rt_rule_make(pc, exact, generation);
}

#endif
