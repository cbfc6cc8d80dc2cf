/* SPDX-License-Identifier: MIT */
/*
 * The C allocation functions. Each calls the next allocator with no state of ours held, records
 * after allocating and forgets before freeing. With a frame address of its own (the library keeps
 * frame pointers), each knows its caller's registers: that is where a walk begins.
 */
#include "runtime/hook/hook.h"

static inline size_t request(size_t size)
{
	return RT_UNLIKELY(size < rt_min_request) ? rt_min_request : size;
}

RT_EXPORT RT_HOT void *malloc(size_t size)
{
	void *block = rt_next.malloc(request(size));

	return rt_record(block, size, rt_alloc(LEDGER_KIND_MALLOC, 0, LEDGER_CELL_CLASSED), FRAME);
}

RT_EXPORT RT_HOT void *calloc(size_t count, size_t size)
{
	size_t bytes;
	void *block;

	/* The next one sets errno. */
	if (RT_UNLIKELY(__builtin_mul_overflow(count, size, &bytes)))
		return rt_next.calloc(count, size);
	if (RT_UNLIKELY(bytes < rt_min_request))
		block = rt_next.calloc(1, rt_min_request);
	else
		block = rt_next.calloc(count, size);
	return rt_record(block, bytes, rt_alloc(LEDGER_KIND_CALLOC, 0, LEDGER_CELL_CLASSED), FRAME);
}

/*
 * The dynamic linker frees an object's descriptor after unmapping the object, with its lock held:
 * the moment to see that rules have become void, before anything else can be mapped there.
 */
static RT_COLD void free_for_loader(void *block, const void *frame)
{
	rt_free_slow(block, rt_free_by(LEDGER_FREEING_FREE), frame);
	rt_modules_unloaded(frame);
}

RT_EXPORT RT_HOT void free(void *block)
{
	uintptr_t caller = (uintptr_t)__builtin_return_address(0);

	if (RT_UNLIKELY(!block))
		return;
	if (RT_UNLIKELY(caller - rt_global.loader_start < rt_global.loader_bytes))
		free_for_loader(block, FRAME);
	else
		rt_free(block, rt_free_by(LEDGER_FREEING_FREE), FRAME);
}

/*
 * C23's forms, there in any case: compilers may call them where the C library has none. Those of
 * the allocator behind us may call another form, our hook, for the same block.
 */
#define FREE_SIZED(symbol, parameters, arguments, how)                                       \
	RT_EXPORT RT_HOT void symbol parameters                                              \
	{                                                                                    \
		if (RT_UNLIKELY(!block))                                                     \
			return;                                                              \
		if (RT_LIKELY(!rt_next.symbol)) {                                            \
			rt_free(block, how, FRAME);                                          \
			return;                                                              \
		}                                                                            \
		if (RT_LIKELY(rt_tls.freeing != block) &&                                    \
		    RT_UNLIKELY(!rt_quick_forget(RT_QUICK_GLIBC, false, block, how, FRAME))) \
			rt_forget_slow(block, how, FRAME);                                   \
		rt_tls.freeing = block;                                                      \
		rt_next.symbol arguments;                                                    \
		rt_tls.freeing = NULL;                                                       \
	}

FREE_SIZED(free_sized, (void *block, size_t size), (block, request(size)),
	   rt_free_sized(LEDGER_FREEING_FREE_SIZED, size))
FREE_SIZED(free_aligned_sized, (void *block, size_t alignment, size_t size),
	   (block, alignment, request(size)),
	   rt_free_aligned(rt_free_sized(LEDGER_FREEING_FREE_ALIGNED_SIZED, size), alignment))

static void *resize(void *block, size_t size, const void *frame)
{
	if (block)
		return rt_resize(block, size, size ? request(size) : 0, frame);
	return rt_record(rt_next.realloc(NULL, request(size)), size,
			 rt_alloc(LEDGER_KIND_REALLOC, 0, 0), frame);
}

RT_EXPORT void *realloc(void *block, size_t size)
{
	return resize(block, size, FRAME);
}

RT_EXPORT void *reallocarray(void *block, size_t count, size_t size)
{
	size_t bytes;

	/* The next one sets errno. */
	if (__builtin_mul_overflow(count, size, &bytes))
		return rt_next.reallocarray(block, count, size);
	return resize(block, bytes, FRAME);
}

#define MEMALIGN(alignment, foreign) \
	rt_alloc(LEDGER_KIND_MEMALIGN, rt_log2_of(alignment), (foreign) ? LEDGER_CELL_FOREIGN : 0)
#define ALIGNED(alignment) MEMALIGN(alignment, rt_aligned_foreign)
#define PAGED MEMALIGN(4096, rt_paged_foreign)
#define ALLOCATE(symbol, parameters, arguments, alloc)         \
	RT_EXPORT void *symbol parameters                      \
	{                                                      \
		void *block = rt_next.symbol arguments;        \
                                                               \
		return rt_record(block, size, (alloc), FRAME); \
	}

ALLOCATE(memalign, (size_t alignment, size_t size), (alignment, request(size)), ALIGNED(alignment))
ALLOCATE(aligned_alloc, (size_t alignment, size_t size), (alignment, request(size)),
	 ALIGNED(alignment))
ALLOCATE(valloc, (size_t size), (request(size)), PAGED)
ALLOCATE(pvalloc, (size_t size), (request(size)), PAGED)

RT_EXPORT int posix_memalign(void **ret_block, size_t alignment, size_t size)
{
	int failed = rt_next.posix_memalign(ret_block, alignment, request(size));

	if (!failed)
		(void)rt_record(*ret_block, size, ALIGNED(alignment), FRAME);
	return failed;
}

RT_EXPORT size_t malloc_usable_size(void *block)
{
	return rt_next.malloc_usable_size(block);
}
