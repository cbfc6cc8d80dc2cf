/* SPDX-License-Identifier: MIT */
#include "runtime/track/usable.h"

#include "runtime/track/operation.h"

RT_LARGE uint16_t rt_usable_class[RT_CLASSED_BYTES];
_Atomic uint32_t rt_usable_met;

/* Of the first answers. tcmalloc's makes an object by operator new, which is us again. */
static _Atomic uint32_t answers;
enum { NONE_YET, UNDER_WAY, THERE };

/* In bookkeeping later answers may allocate too: that hook sees that one of ours called it. */
uint64_t rt_usable_ask(uintptr_t address)
{
	if (rt_usable_unknown || rt_load(&answers) == UNDER_WAY)
		return 0;
	return rt_next.malloc_usable_size((void *)address);
}

/* What a block of @size requested bytes holds by the allocator's word; 0: that makes no sense. */
static uint16_t class_of(rt_class_function *function, size_t size)
{
	size_t request = size < rt_min_request ? rt_min_request : size;
	size_t bytes = function(request, 0);

	return bytes >= request && bytes <= 2 * request ? (uint16_t)bytes : 0;
}

/* @bytes that the allocator says of a block of @size tell whether it told the truth of classes. */
static void learn_classes(size_t size, uint64_t bytes)
{
	rt_class_function *function = rt_next_class_function();

	if (!function || class_of(function, size) != bytes)
		return;
	for (size_t i = 0; i < RT_CLASSED_BYTES; i++)
		rt_usable_class[i] = class_of(function, i);
	if (!rt_operators_foreign && !rt_global.no_quick)
		rt_store(&rt_global.quick, RT_QUICK_CLASSED);
}

void rt_usable_meet(uintptr_t address, size_t size, uint32_t cell)
{
	uint32_t before = rt_load(&answers);
	uint64_t bytes;

	if (rt_global.glibc || rt_usable_unknown) {
		rt_store(&rt_usable_met, 1);
		return;
	}
	if (cell & LEDGER_CELL_FOREIGN || before == UNDER_WAY)
		return;
	if (before == THERE && (!(cell & LEDGER_CELL_CLASSED) || size >= RT_CLASSED_BYTES))
		return;
	if (!atomic_compare_exchange_strong_explicit(&answers, &before, UNDER_WAY,
						     memory_order_relaxed, memory_order_relaxed))
		return;
	bytes = rt_next.malloc_usable_size((void *)address);
	rt_store(&answers, THERE);
	if (bytes && cell & LEDGER_CELL_CLASSED && size < RT_CLASSED_BYTES &&
	    !rt_load(&rt_usable_met)) {
		rt_store(&rt_usable_met, 1);
		learn_classes(size, bytes);
	}
}
