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

/*
 * The library's form, called without memory at hand. It is looked for only now: it may have been
 * loaded after us, and privately.
 */
#define NEW_BODY(symbol, field, what, take, parameters, arguments)                          \
	void *block = NULL;                                                                 \
                                                                                            \
	if (RT_LIKELY(!rt_next.field))                                                      \
		block = take;                                                               \
	if (RT_LIKELY(block != NULL)) {                                                     \
		rt_record(block, size, what, FRAME);                                        \
	} else {                                                                            \
		void *(*other)parameters = rt_next.field;                                   \
		uint64_t mark = rt_record_mark();                                           \
                                                                                            \
		if (!other)                                                                 \
			other = (void *(*)parameters)(uintptr_t)rt_find_elsewhere(#symbol); \
		block = other ? other arguments : NULL;                                     \
		rt_record_from_other(block, size, what, FRAME, mark, rt_control());         \
	}                                                                                   \
	return block

RT_EXPORT RT_HOT void *_Znwm(size_t size)
{
	NEW_BODY(_Znwm, new_, PLAIN(NEW), plain_block(size), (size_t), (size));
}

RT_EXPORT void *_ZnwmRKSt9nothrow_t(size_t size, const void *tag)
{
	NEW_BODY(_ZnwmRKSt9nothrow_t, new_nothrow, PLAIN(NEW), plain_block(size),
		 (size_t, const void *), (size, tag));
}

RT_EXPORT void *_Znam(size_t size)
{
	NEW_BODY(_Znam, new_array, PLAIN(NEW_ARRAY), plain_block(size), (size_t), (size));
}

RT_EXPORT void *_ZnamRKSt9nothrow_t(size_t size, const void *tag)
{
	NEW_BODY(_ZnamRKSt9nothrow_t, new_array_nothrow, PLAIN(NEW_ARRAY), plain_block(size),
		 (size_t, const void *), (size, tag));
}

RT_EXPORT void *_ZnwmSt11align_val_t(size_t size, size_t alignment)
{
	NEW_BODY(_ZnwmSt11align_val_t, new_aligned, ALIGNED(NEW_ALIGNED),
		 aligned_block(size, alignment), (size_t, size_t), (size, alignment));
}

RT_EXPORT void *_ZnwmSt11align_val_tRKSt9nothrow_t(size_t size, size_t alignment, const void *tag)
{
	NEW_BODY(_ZnwmSt11align_val_tRKSt9nothrow_t, new_aligned_nothrow, ALIGNED(NEW_ALIGNED),
		 aligned_block(size, alignment), (size_t, size_t, const void *),
		 (size, alignment, tag));
}

RT_EXPORT void *_ZnamSt11align_val_t(size_t size, size_t alignment)
{
	NEW_BODY(_ZnamSt11align_val_t, new_array_aligned, ALIGNED(NEW_ARRAY_ALIGNED),
		 aligned_block(size, alignment), (size_t, size_t), (size, alignment));
}

RT_EXPORT void *_ZnamSt11align_val_tRKSt9nothrow_t(size_t size, size_t alignment, const void *tag)
{
	NEW_BODY(_ZnamSt11align_val_tRKSt9nothrow_t, new_array_aligned_nothrow,
		 ALIGNED(NEW_ARRAY_ALIGNED), aligned_block(size, alignment),
		 (size_t, size_t, const void *), (size, alignment, tag));
}

#define DELETE_BODY(field, said, ...)                      \
	do {                                               \
		struct rt_free how = said;                 \
                                                           \
		if (!block)                                \
			return;                            \
		if (RT_LIKELY(!rt_next.field)) {           \
			rt_forget(block, how, FRAME);      \
			rt_next.free(block);               \
		} else {                                   \
			how.is_others = true;              \
			rt_forget_rest(block, how, FRAME); \
			rt_next.field(__VA_ARGS__);        \
		}                                          \
	} while (0)

/* What the caller says, beside the block. */
#define NOTHING(which) ((struct rt_free){ .by = RT_BY_##which })
#define SIZE(which) ((struct rt_free){ .by = RT_BY_##which, .is_sized = true, .size = size })
#define ALIGNMENT(which)                             \
	((struct rt_free){                           \
		.by = RT_BY_##which,                 \
		.is_aligned = true,                  \
		.align_log2 = rt_log2_of(alignment), \
	})
#define BOTH(which)                                  \
	((struct rt_free){                           \
		.by = RT_BY_##which,                 \
		.is_sized = true,                    \
		.size = size,                        \
		.is_aligned = true,                  \
		.align_log2 = rt_log2_of(alignment), \
	})

RT_EXPORT RT_HOT void _ZdlPv(void *block)
{
	DELETE_BODY(delete_, NOTHING(DELETE), block);
}

RT_EXPORT void _ZdlPvRKSt9nothrow_t(void *block, const void *tag)
{
	DELETE_BODY(delete_nothrow, NOTHING(DELETE), block, tag);
}

RT_EXPORT RT_HOT void _ZdlPvm(void *block, size_t size)
{
	DELETE_BODY(delete_sized, SIZE(DELETE), block, size);
}

RT_EXPORT void _ZdlPvSt11align_val_t(void *block, size_t alignment)
{
	DELETE_BODY(delete_aligned, ALIGNMENT(DELETE), block, alignment);
}

RT_EXPORT void _ZdlPvSt11align_val_tRKSt9nothrow_t(void *block, size_t alignment, const void *tag)
{
	DELETE_BODY(delete_aligned_nothrow, ALIGNMENT(DELETE), block, alignment, tag);
}

RT_EXPORT void _ZdlPvmSt11align_val_t(void *block, size_t size, size_t alignment)
{
	DELETE_BODY(delete_sized_aligned, BOTH(DELETE), block, size, alignment);
}

RT_EXPORT void _ZdaPv(void *block)
{
	DELETE_BODY(delete_array, NOTHING(DELETE_ARRAY), block);
}

RT_EXPORT void _ZdaPvRKSt9nothrow_t(void *block, const void *tag)
{
	DELETE_BODY(delete_array_nothrow, NOTHING(DELETE_ARRAY), block, tag);
}

RT_EXPORT void _ZdaPvm(void *block, size_t size)
{
	DELETE_BODY(delete_array_sized, SIZE(DELETE_ARRAY), block, size);
}

RT_EXPORT void _ZdaPvSt11align_val_t(void *block, size_t alignment)
{
	DELETE_BODY(delete_array_aligned, ALIGNMENT(DELETE_ARRAY), block, alignment);
}

RT_EXPORT void _ZdaPvSt11align_val_tRKSt9nothrow_t(void *block, size_t alignment, const void *tag)
{
	DELETE_BODY(delete_array_aligned_nothrow, ALIGNMENT(DELETE_ARRAY), block, alignment, tag);
}

RT_EXPORT void _ZdaPvmSt11align_val_t(void *block, size_t size, size_t alignment)
{
	DELETE_BODY(delete_array_sized_aligned, BOTH(DELETE_ARRAY), block, size, alignment);
}
