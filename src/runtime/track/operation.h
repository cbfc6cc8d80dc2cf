/* SPDX-License-Identifier: MIT */
/*
 * What a hook says of its allocation or free. Constants but for alignments and sizes, so that where a
 * hook is inlined nothing of it is left that nobody reads.
 */
#ifndef SEEP_RUNTIME_OPERATION_H
#define SEEP_RUNTIME_OPERATION_H

#include "ledger/ledger_blocks.h"
#include "runtime/rt.h"

/*
 * What makes a context beside its call stack. From the lowest bit: enum ledger_kind 8, log2 of the
 * alignment 8, the label of the thread's name 16 (thread_names.h), the number of the scope 16 (scope.h),
 * of tiers d of what was taken 6, and two flags (tier.h). The first two are the hook's, those of name and
 * scope the thread's at that moment: its tag. One word: one compare says all.
 */
struct rt_key {
	uint64_t word;
};

enum { RT_KEY_NAME_SHIFT = 16, RT_KEY_SCOPE_SHIFT = 32, RT_KEY_SAMPLE_SHIFT = 48 };

/* As LEDGER_CONTEXT_SITE, LEDGER_CONTEXT_WEIGHTED. */
#define RT_KEY_SITE (UINT64_C(1) << 54)
#define RT_KEY_WEIGHTED (UINT64_C(1) << 55)

RT_INLINE unsigned rt_log2_of(size_t alignment)
{
	return alignment ? core_bit_width(alignment) - 1 : 0;
}

static inline enum ledger_kind rt_key_kind(struct rt_key key)
{
	return (enum ledger_kind)(uint8_t)key.word;
}

static inline uint8_t rt_key_align_log2(struct rt_key key)
{
	return (uint8_t)(key.word >> 8);
}

static inline uint16_t rt_key_name(struct rt_key key)
{
	return (uint16_t)(key.word >> RT_KEY_NAME_SHIFT);
}

static inline uint16_t rt_key_scope(struct rt_key key)
{
	return (uint16_t)(key.word >> RT_KEY_SCOPE_SHIFT);
}

static inline uint8_t rt_key_sample(struct rt_key key)
{
	return (uint8_t)(key.word >> RT_KEY_SAMPLE_SHIFT & 63);
}

/* The hook's part. */
static inline struct rt_key rt_key_untagged(struct rt_key key)
{
	return (struct rt_key){ key.word & ((1u << RT_KEY_NAME_SHIFT) - 1) };
}

static inline void rt_tag_set(uint64_t *tag, unsigned shift, uint32_t number)
{
	*tag = (*tag & ~(UINT64_C(0xffff) << shift)) | (uint64_t)number << shift;
}

/* @flags of a block whose usable size is not known. */
RT_INLINE uint32_t rt_flags_foreign(uint32_t flags)
{
	return (flags & ~(uint32_t)LEDGER_CELL_CLASSED) | LEDGER_CELL_FOREIGN;
}

struct rt_alloc {
	struct rt_key key; /* the hook's part */
	uint32_t flags;	   /* enum ledger_family, ledger_cell_flags, and marks (pagemap.h) */
};

RT_INLINE struct rt_alloc rt_alloc(enum ledger_kind kind, unsigned align_log2, uint32_t flags)
{
	return (struct rt_alloc){ { kind | (uint64_t)align_log2 << 8 },
				  ledger_kind_family(kind) | flags };
}

/* In two registers. */
struct rt_free {
	uint8_t freeing;    /* enum ledger_freeing */
	uint8_t align_log2; /* that the block was said to have, where the function is told */
	bool has_size;	    /* it is said how large the block is */
	/*
	 * By another definition of the operator, from which what lies under the block may come to free():
	 * then only an operator's block is taken notice of, and nothing is judged.
	 */
	bool is_others;
	size_t size;
};

RT_INLINE struct rt_free rt_free_by(enum ledger_freeing freeing)
{
	return (struct rt_free){ .freeing = (uint8_t)freeing };
}

RT_INLINE struct rt_free rt_free_sized(enum ledger_freeing freeing, size_t size)
{
	return (struct rt_free){ .freeing = (uint8_t)freeing, .has_size = true, .size = size };
}

/* @how, of a function that is told the alignment as well. */
RT_INLINE struct rt_free rt_free_aligned(struct rt_free how, size_t alignment)
{
	how.align_log2 = (uint8_t)rt_log2_of(alignment);
	return how;
}

RT_INLINE bool rt_free_is_aligned(struct rt_free how)
{
	return how.freeing == LEDGER_FREEING_FREE_ALIGNED_SIZED ||
	       how.freeing >= LEDGER_FREEING_DELETE_ALIGNED;
}

/* The bits of enum ledger_family that tell whose blocks it may free: free() takes memalign()'s, too. */
RT_INLINE uint32_t rt_free_families(struct rt_free how)
{
	return how.freeing <= LEDGER_FREEING_REALLOC ? LEDGER_CELL_FAMILY & ~1u
						     : LEDGER_CELL_FAMILY;
}

RT_INLINE bool rt_free_is_of_family(struct rt_free how, uint32_t family)
{
	return ((family ^ ledger_freeing_family((enum ledger_freeing)how.freeing)) &
		rt_free_families(how)) == 0;
}

#endif
