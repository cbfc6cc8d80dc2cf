/* SPDX-License-Identifier: MIT */
#include "runtime/track/usable.h"

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

void rt_usable_ask_first(uintptr_t address, bool is_foreign)
{
	static _Atomic uint32_t asked;

	/* tcmalloc's first answer makes an object by operator new, which is us again. */
	if (is_foreign || rt_load(&asked))
		return;
	rt_store(&asked, 1);
	(void)rt_usable_ask(address);
}
