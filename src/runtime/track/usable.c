/* SPDX-License-Identifier: MIT */
#include "runtime/track/usable.h"

#include "runtime/track/operation.h"

uint16_t rt_usable_class[RT_CLASSED_BYTES];
_Atomic uint32_t rt_usable_met;

uint64_t rt_usable_ask(uintptr_t address)
{
	uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
	uint64_t bytes;

	if (rt_usable_unknown || frame < rt_tls.asking)
		return 0;
	rt_tls.asking = frame;
	bytes = rt_next.malloc_usable_size((void *)address);
	rt_tls.asking = 0;
	return bytes;
}

/* What a block of @size requested bytes holds by the allocator's word; 0: that makes no sense. */
static uint16_t class_of(rt_class_function *function, size_t size)
{
	size_t request = size < rt_min_request ? rt_min_request : size;
	size_t bytes = function(request, 0);

	return bytes >= request && bytes <= 2 * request ? (uint16_t)bytes : 0;
}

/* @bytes that the allocator says of a block of @size say whether its words about classes are true. */
static void learn_classes(size_t size, uint64_t bytes)
{
	rt_class_function *function = rt_next_class_function();

	if (!function || class_of(function, size) != bytes)
		return;
	for (size_t i = 0; i < RT_CLASSED_BYTES; i++)
		rt_usable_class[i] = class_of(function, i);
	if (!rt_operators_replaced && !rt_global.verify_every)
		rt_store(&rt_global.quick, RT_QUICK_CLASSED);
}

void rt_usable_meet(uintptr_t address, size_t size, uint32_t cell)
{
	static _Atomic uint32_t asked;
	uint64_t bytes;

	if (rt_global.glibc || rt_usable_unknown) {
		rt_store(&rt_usable_met, 1);
		return;
	}
	if (cell & LEDGER_CELL_FOREIGN)
		return;
	if (rt_load(&asked) && (!(cell & LEDGER_CELL_CLASSED) || size >= RT_CLASSED_BYTES))
		return;
	/* tcmalloc's first answer makes an object by operator new, which is us again. */
	rt_store(&asked, 1);
	bytes = rt_usable_ask(address);
	if (bytes && cell & LEDGER_CELL_CLASSED && size < RT_CLASSED_BYTES &&
	    !rt_load(&rt_usable_met)) {
		rt_store(&rt_usable_met, 1);
		learn_classes(size, bytes);
	}
}
