/* SPDX-License-Identifier: MIT */
/*
 * operator new and delete. Where the next provider is the C++ standard library (or none is loaded
 * yet), or the allocator whose malloc is the next one, blocks come straight from that malloc; only
 * when it has none does the provider's form run, which calls the new-handler or throws, with no
 * state of ours held. Any other provider is the program's own and is called.
 */
#include "runtime/hook/hook.h"

#include "runtime/track/guarded.h"

static inline void *plain_block(size_t size)
{
	size_t least = rt_min_request ? rt_min_request : 1;

	return rt_next.malloc(size < least ? least : size);
}

/* As libstdc++ asks: C11 wants a multiple of the alignment. NULL also for a strange alignment. */
static void *aligned_block(size_t size, size_t alignment)
{
	size_t least = rt_min_request ? rt_min_request : 1;
	size_t wanted = size < least ? least : size;
	/* Guards begin behind what was asked for. */
	size_t bytes = rt_guard_front_bytes ? wanted : (wanted + alignment - 1) & ~(alignment - 1);

	if (!alignment || alignment & (alignment - 1) || bytes < size)
		return NULL;
	return rt_next.aligned_alloc(alignment, bytes);
}

#define PLAIN(kind) rt_alloc(LEDGER_KIND_##kind, 0, LEDGER_CELL_CLASSED)
#define ALIGNED(kind)                                       \
	rt_alloc(LEDGER_KIND_##kind, rt_log2_of(alignment), \
		 rt_aligned_foreign ? LEDGER_CELL_FOREIGN : 0)

#define BARE(...) __VA_ARGS__

/*
 * The library's form is called without memory at hand, apart, so that the hook saves no registers
 * for it. It is looked for only then: it may have been loaded after us, and privately.
 */
#define NEW(symbol, alloc, take, parameters, arguments)                                     \
	static RT_COLD void *symbol##_other(BARE parameters, const void *frame)             \
	{                                                                                   \
		void *(*other)parameters = rt_next.symbol;                                  \
		uint64_t before = rt_record_fingerprint();                                  \
		void *block;                                                                \
                                                                                            \
		if (!other)                                                                 \
			other = (void *(*)parameters)(uintptr_t)rt_find_elsewhere(#symbol); \
		block = other ? other arguments : NULL;                                     \
		rt_record_other(block, size, alloc, frame, before);                         \
		return block;                                                               \
	}                                                                                   \
                                                                                            \
	RT_EXPORT RT_HOT void *symbol parameters                                            \
	{                                                                                   \
		void *block = RT_LIKELY(!rt_next.symbol) ? take : NULL;                     \
                                                                                            \
		if (RT_LIKELY(block != NULL))                                               \
			return rt_record(block, size, alloc, FRAME);                        \
		return symbol##_other(BARE arguments, FRAME);                               \
	}
#define NEW_USUAL(form, parameters, arguments)                                 \
	NEW(_Znwm##form, PLAIN(NEW), plain_block(size), parameters, arguments) \
	NEW(_Znam##form, PLAIN(NEW_ARRAY), plain_block(size), parameters, arguments)
#define NEW_OVERALIGNED(form, parameters, arguments)                                             \
	NEW(_Znwm##form, ALIGNED(NEW_ALIGNED), aligned_block(size, alignment), parameters,       \
	    arguments)                                                                           \
	NEW(_Znam##form, ALIGNED(NEW_ARRAY_ALIGNED), aligned_block(size, alignment), parameters, \
	    arguments)

/* The names: Itanium C++ ABI, 5.1. */
NEW_USUAL(, (size_t size), (size))
NEW_USUAL(RKSt9nothrow_t, (size_t size, const void *tag), (size, tag))
NEW_OVERALIGNED(St11align_val_t, (size_t size, size_t alignment), (size, alignment))
NEW_OVERALIGNED(St11align_val_tRKSt9nothrow_t, (size_t size, size_t alignment, const void *tag),
		(size, alignment, tag))

#define DELETE(symbol, parameters, arguments, how_)        \
	RT_EXPORT RT_HOT void symbol parameters            \
	{                                                  \
		struct rt_free how = how_;                 \
                                                           \
		if (!block)                                \
			return;                            \
		if (RT_LIKELY(!rt_next.symbol)) {          \
			rt_free(block, how, FRAME);        \
		} else {                                   \
			how.is_others = true;              \
			rt_forget_slow(block, how, FRAME); \
			rt_next.symbol arguments;          \
		}                                          \
	}

#define BY(freeing) rt_free_by(LEDGER_FREEING_##freeing)
#define SIZED(freeing) rt_free_sized(LEDGER_FREEING_##freeing, size)
#define BY_ALIGNED(freeing) rt_free_aligned(BY(freeing##_ALIGNED), alignment)
#define SIZED_ALIGNED(freeing) rt_free_aligned(SIZED(freeing##_ALIGNED), alignment)
#define DELETE_BOTH(form, parameters, arguments, how)            \
	DELETE(_ZdlPv##form, parameters, arguments, how(DELETE)) \
	DELETE(_ZdaPv##form, parameters, arguments, how(DELETE_ARRAY))

DELETE_BOTH(, (void *block), (block), BY)
DELETE_BOTH(RKSt9nothrow_t, (void *block, const void *tag), (block, tag), BY)
DELETE_BOTH(m, (void *block, size_t size), (block, size), SIZED)
DELETE_BOTH(St11align_val_t, (void *block, size_t alignment), (block, alignment), BY_ALIGNED)
DELETE_BOTH(St11align_val_tRKSt9nothrow_t, (void *block, size_t alignment, const void *tag),
	    (block, alignment, tag), BY_ALIGNED)
DELETE_BOTH(mSt11align_val_t, (void *block, size_t size, size_t alignment),
	    (block, size, alignment), SIZED_ALIGNED)
