/* SPDX-License-Identifier: MIT */
/*
 * Usable bytes of a block. glibc keeps the chunk's size in the word before the block, with flags
 * in the three lowest bits (malloc.c, "malloc_chunk details"). Other allocators round a request up
 * to the size of a class; those that tell which one are asked for the small ones once.
 */
#ifndef SEEP_RUNTIME_USABLE_H
#define SEEP_RUNTIME_USABLE_H

#include "runtime/next/next.h"
#include "runtime/rt.h"

enum { RT_CHUNK_MMAPPED = 2, RT_CHUNK_FLAGS = 7 };

/* Requests below this many bytes, in rt_usable_class. */
enum { RT_CLASSED_BYTES = 2048 };

/* By the requested size; 0: not known. */
extern RT_HIDDEN uint16_t rt_usable_class[RT_CLASSED_BYTES];

/* What is to be known of the allocator is: rt_usable_meet() need not be called any more. */
extern RT_HIDDEN _Atomic uint32_t rt_usable_met;

/* Of one of glibc's, with its size word. */
RT_INLINE uint64_t rt_chunk_bytes(uintptr_t address)
{
	return *(const uint64_t *)(address - 8) & ~(uint64_t)RT_CHUNK_FLAGS;
}

/*
 * What that says of a new one of @size. Some have more: where what was left of a hole was too small for
 * another one, and those that are mapped.
 */
RT_INLINE uint64_t rt_chunk_bytes_for(uint64_t size)
{
	return core_larger((size + 8 + 15) & ~UINT64_C(15), 32);
}

RT_INLINE uint64_t rt_usable_of_glibc(uintptr_t address)
{
	uint64_t word = *(const uint64_t *)(address - 8);

	/* Less the size word, and for a mapped chunk the one before it: 2 << 2 is 8. */
	return (word & ~(uint64_t)RT_CHUNK_FLAGS) - 8 - ((word & RT_CHUNK_MMAPPED) << 2);
}

/*
 * Of blocks that came from a function whose blocks depend on nothing but the requested @size
 * (LEDGER_CELL_CLASSED). 0: not known.
 */
RT_INLINE uint64_t rt_usable_by_class(uint64_t size)
{
	return size < RT_CLASSED_BYTES ? rt_usable_class[size] : 0;
}

/* By asking another allocator; 0 where it cannot be asked. */
RT_COLD uint64_t rt_usable_ask(uintptr_t address);

/*
 * A block of @size bytes with flags @cell is about to be recorded, perhaps the first. Asks the
 * allocator before that, since its first answer may allocate.
 */
RT_COLD void rt_usable_meet(uintptr_t address, size_t size, uint32_t cell);

/* Without asking; 0: not known. */
RT_INLINE uint64_t rt_usable_at_hand(uintptr_t address, uint64_t size, bool classed)
{
	if (RT_LIKELY(rt_global.glibc))
		return rt_usable_of_glibc(address);
	return classed ? rt_usable_by_class(size) : 0;
}

RT_INLINE uint64_t rt_usable(uintptr_t address, uint64_t size, bool classed)
{
	uint64_t bytes = rt_usable_at_hand(address, size, classed);

	return RT_LIKELY(bytes != 0) ? bytes : rt_usable_ask(address);
}

#endif
