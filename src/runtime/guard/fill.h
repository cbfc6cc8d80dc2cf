/* SPDX-License-Identifier: MIT */
/*
 * Memory is filled with a byte, if an option asks for it. New memory: what the last owner left in it
 * would pass for pointers until it is overwritten, and hide leaks. calloc gives zeros, and a
 * program's own operator new may give what is to stay as it is. Freed memory: so that who goes on to
 * use it notices.
 */
#ifndef SEEP_RUNTIME_FILL_H
#define SEEP_RUNTIME_FILL_H

#include "ledger/ledger_blocks.h"
#include "runtime/rt.h"
#include "runtime/track/usable.h"

/* From so many on it is cheaper to ask which pages are there. */
enum { RT_FILL_ASKED_BYTES = 4 * LEDGER_PAGE_BYTES };

/* For new and for freed memory; LEDGER_FILL_NONE: it stays as it is. Set at the start. */
extern RT_HIDDEN unsigned rt_fill_fresh, rt_fill_freed;

/* The bytes @from to @to of @block. Of many, only those of pages that are there. */
void rt_fill(void *block, size_t from, size_t to, unsigned byte);

/* From so many bytes on @block, which is the next malloc's, is as the kernel gave it, if it is alone. */
static inline bool rt_fill_is_fresh(const void *block, size_t size)
{
	/* With a mapping of its own. */
	return size >= RT_FILL_ASKED_BYTES && rt_global.glibc &&
	       ((const uint64_t *)block)[-1] & RT_CHUNK_MMAPPED;
}

#endif
