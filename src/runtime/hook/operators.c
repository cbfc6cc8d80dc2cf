/* SPDX-License-Identifier: MIT */
/*
 * operator new and delete. Where the next provider is the C++ standard library (or none is loaded
 * yet), or the allocator whose malloc is the next one, blocks come straight from that malloc; only
 * when it has none does the provider's form run, which calls the new-handler or throws, with no
 * state of ours held. Any other provider is the program's own and is called.
 */
#include "runtime/hook/hook.h"

/* The operators have reserved names (Itanium C++ ABI, 5.1) and no header in C. */
#define RT_HOOK(symbol, field, type, parameters)
#define RT_OPERATOR(symbol, field, type, parameters) type symbol parameters;
#define RT_WRAP(symbol)
#include "runtime/next/hooks.def"
#undef RT_HOOK
#undef RT_OPERATOR
#undef RT_WRAP

static inline void *plain_block(size_t size)
{
	size_t least = rt_min_request ? rt_min_request : 1;

	return rt_next.malloc(size < least ? least : size);
}

/* As libstdc++ asks: C11 wants a multiple of the alignment. NULL also for a strange alignment. */
static void *aligned_block(size_t size, size_t alignment)
{
	size_t least = rt_min_request ? rt_min_request : 1;
	size_t bytes = ((size < least ? least : size) + alignment - 1) & ~(alignment - 1);

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
#define NEW(symbol, field, what, take, parameters, arguments)                               \
	static RT_COLD void *symbol##_other(BARE parameters, const void *frame)             \
	{                                                                                   \
		void *(*other)parameters = rt_next.field;                                   \
		uint64_t mark = rt_record_mark();                                           \
		void *block;                                                                \
                                                                                            \
		if (!other)                                                                 \
			other = (void *(*)parameters)(uintptr_t)rt_find_elsewhere(#symbol); \
		block = other ? other arguments : NULL;                                     \
		rt_record_other(block, size, what, frame, mark);                            \
		return block;                                                               \
	}                                                                                   \
                                                                                            \
	RT_EXPORT RT_HOT void *symbol parameters                                            \
	{                                                                                   \
		void *block = RT_LIKELY(!rt_next.field) ? take : NULL;                      \
                                                                                            \
		if (RT_LIKELY(block != NULL))                                               \
			return rt_record(block, size, what, FRAME);                         \
		return symbol##_other(BARE arguments, FRAME);                               \
	}
#define NEW_OVERALIGNED(symbol, field, kind, parameters, arguments) \
	NEW(symbol, field, ALIGNED(kind), aligned_block(size, alignment), parameters, arguments)

NEW(_Znwm, new_, PLAIN(NEW), plain_block(size), (size_t size), (size))
NEW(_ZnwmRKSt9nothrow_t, new_nothrow, PLAIN(NEW), plain_block(size), (size_t size, const void *tag),
    (size, tag))
NEW(_Znam, new_array, PLAIN(NEW_ARRAY), plain_block(size), (size_t size), (size))
NEW(_ZnamRKSt9nothrow_t, new_array_nothrow, PLAIN(NEW_ARRAY), plain_block(size),
    (size_t size, const void *tag), (size, tag))
NEW_OVERALIGNED(_ZnwmSt11align_val_t, new_aligned, NEW_ALIGNED, (size_t size, size_t alignment),
		(size, alignment))
NEW_OVERALIGNED(_ZnwmSt11align_val_tRKSt9nothrow_t, new_aligned_nothrow, NEW_ALIGNED,
		(size_t size, size_t alignment, const void *tag), (size, alignment, tag))
NEW_OVERALIGNED(_ZnamSt11align_val_t, new_array_aligned, NEW_ARRAY_ALIGNED,
		(size_t size, size_t alignment), (size, alignment))
NEW_OVERALIGNED(_ZnamSt11align_val_tRKSt9nothrow_t, new_array_aligned_nothrow, NEW_ARRAY_ALIGNED,
		(size_t size, size_t alignment, const void *tag), (size, alignment, tag))

/* What the caller says beside the block comes last. */
#define DELETE(symbol, field, which, parameters, arguments, ...)             \
	RT_EXPORT RT_HOT void symbol parameters                              \
	{                                                                    \
		struct rt_free how = { .by = RT_BY_##which, ##__VA_ARGS__ }; \
                                                                             \
		if (!block)                                                  \
			return;                                              \
		if (RT_LIKELY(!rt_next.field)) {                             \
			rt_free(block, how, FRAME);                          \
		} else {                                                     \
			how.is_others = true;                                \
			rt_forget_rest(block, how, FRAME);                   \
			rt_next.field arguments;                             \
		}                                                            \
	}
#define SIZE .is_sized = true, .size = size
#define ALIGNMENT .is_aligned = true, .align_log2 = rt_log2_of(alignment)

DELETE(_ZdlPv, delete_, DELETE, (void *block), (block))
DELETE(_ZdlPvRKSt9nothrow_t, delete_nothrow, DELETE, (void *block, const void *tag), (block, tag))
DELETE(_ZdlPvm, delete_sized, DELETE, (void *block, size_t size), (block, size), SIZE)
DELETE(_ZdlPvSt11align_val_t, delete_aligned, DELETE, (void *block, size_t alignment),
       (block, alignment), ALIGNMENT)
DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t, delete_aligned_nothrow, DELETE,
       (void *block, size_t alignment, const void *tag), (block, alignment, tag), ALIGNMENT)
DELETE(_ZdlPvmSt11align_val_t, delete_sized_aligned, DELETE,
       (void *block, size_t size, size_t alignment), (block, size, alignment), SIZE, ALIGNMENT)
DELETE(_ZdaPv, delete_array, DELETE_ARRAY, (void *block), (block))
DELETE(_ZdaPvRKSt9nothrow_t, delete_array_nothrow, DELETE_ARRAY, (void *block, const void *tag),
       (block, tag))
DELETE(_ZdaPvm, delete_array_sized, DELETE_ARRAY, (void *block, size_t size), (block, size), SIZE)
DELETE(_ZdaPvSt11align_val_t, delete_array_aligned, DELETE_ARRAY, (void *block, size_t alignment),
       (block, alignment), ALIGNMENT)
DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t, delete_array_aligned_nothrow, DELETE_ARRAY,
       (void *block, size_t alignment, const void *tag), (block, alignment, tag), ALIGNMENT)
DELETE(_ZdaPvmSt11align_val_t, delete_array_sized_aligned, DELETE_ARRAY,
       (void *block, size_t size, size_t alignment), (block, size, alignment), SIZE, ALIGNMENT)
