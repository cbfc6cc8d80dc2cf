/* SPDX-License-Identifier: MIT */
/*
 * Recording one operation: what every hook calls around the next allocator. Allocations are
 * recorded after they were made, frees forgotten before they happen. errno is never touched.
 * @control is everywhere the control line of this process's own ledger, not NULL.
 */
#ifndef SEEP_RUNTIME_RECORD_H
#define SEEP_RUNTIME_RECORD_H

#include "ledger/ledger_blocks.h"
#include "runtime/rt.h"

enum {
	RT_SORT_FOREIGN = 8 << 16, /* becomes the cell's foreign bit */
	/* Its usable size depends on nothing but the requested one; becomes the classed bit. */
	RT_SORT_CLASSED = 16 << 16,
};

/* The cell's foreign bit, for what comes from a function whose blocks are @foreign. */
static inline uint32_t rt_sort_foreign(bool foreign)
{
	return foreign ? RT_SORT_FOREIGN : 0;
}

/* What a hook allocates: ledger kind, log2 of the alignment, cell kind. */
#define RT_SORT(ledger_kind, align_log2, cell_kind) \
	((uint32_t)(ledger_kind) | (uint32_t)(align_log2) << 8 | (uint32_t)(cell_kind) << 16)

/* What of it makes a context. */
#define RT_SORT_MASK 0xffffu
#define RT_SORT_NONE UINT32_MAX

/* @block of @size requested bytes was allocated by a hook with frame address @frame; may be NULL. */
RT_HOT void rt_record_any(void *block, size_t size, uint32_t sort, const void *frame,
			  struct ledger_control *control);

/*
 * The same for a block that came from another definition of the operator. When that called malloc,
 * the books have its block already: @mark is what rt_record_mark() gave before the call. Here
 * @control may be NULL.
 */
RT_COLD void rt_record_from_other(void *block, size_t size, uint32_t sort, const void *frame,
				  uint64_t mark, struct ledger_control *control);
RT_COLD uint64_t rt_record_mark(void);

/* The block was recorded as an operator's; another's free, of what lies under it, comes by us. */
RT_COLD bool rt_is_operators(const void *block);

/* @block is about to be freed by a hook with frame address @frame. */
RT_HOT void rt_forget_any(void *block, const void *frame, struct ledger_control *control);

/* A realloc of a live block, begun before the next allocator is called, ended after. */
struct rt_resize {
	uint64_t cell; /* value before; 0: the block was not known */
	uint64_t size;
	uint64_t usable;
};

void rt_resize_begin(struct ledger_control *control, void *block, struct rt_resize *ret_resize);
/* @size: as requested. @after = NULL: it failed, or freed the block when @size is 0. */
void rt_resize_end(struct ledger_control *control, const struct rt_resize *resize, void *before,
		   void *after, size_t size, const void *frame);

/* Objects may have been unloaded: a hook with frame address @frame comes from dlclose or the loader. */
RT_COLD void rt_record_unload(const void *frame);

#endif
