/* SPDX-License-Identifier: MIT */
/*
 * Usable bytes of a block without a call: glibc keeps the chunk's size in the word before the
 * block, with flags in the three lowest bits (malloc.c, "malloc_chunk details").
 */
#ifndef SEEP_RUNTIME_USABLE_H
#define SEEP_RUNTIME_USABLE_H

#include "runtime/hook/next.h"
#include "runtime/rt.h"

enum { RT_CHUNK_MMAPPED = 2, RT_CHUNK_FLAGS = 7 };

RT_INLINE uint64_t rt_usable_of_glibc(uintptr_t address)
{
	uint64_t word = *(const uint64_t *)(address - 8);

	/* Less the size word, and for a mapped chunk the one before it: 2 << 2 is 8. */
	return (word & ~(uint64_t)RT_CHUNK_FLAGS) - 8 - ((word & RT_CHUNK_MMAPPED) << 2);
}

/* By asking another allocator; 0 where it cannot be asked. */
RT_COLD uint64_t rt_usable_ask(uintptr_t address);

/* Before the first block is entered in the books: the first answer may allocate. Not of a foreign one. */
RT_COLD void rt_usable_ask_first(uintptr_t address, bool is_foreign);

RT_INLINE uint64_t rt_usable(uintptr_t address)
{
	if (RT_UNLIKELY(!rt_global.glibc))
		return rt_usable_ask(address);
	return rt_usable_of_glibc(address);
}

#endif
