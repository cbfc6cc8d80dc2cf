/* SPDX-License-Identifier: MIT */
/*
 * What a hook says of its allocation. Constants but for alignments, so that where a hook is inlined
 * nothing of it is left that nobody reads.
 */
#ifndef SEEP_RUNTIME_OPERATION_H
#define SEEP_RUNTIME_OPERATION_H

#include "ledger/ledger_blocks.h"
#include "runtime/rt.h"

/*
 * What makes a context beside its call stack. From the lowest bit: enum ledger_kind 8, log2 of the
 * alignment 8, the number of the thread's name 16 (thread_names.h).
 * The first two are the hook's, the name is the thread's at that moment. One word: one compare says
 * all.
 */
struct rt_key {
	uint64_t word;
};

enum { RT_KEY_NAME_SHIFT = 16 };

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

#endif
