/* SPDX-License-Identifier: MIT */
#include "runtime/guard/fill.h"

#include "runtime/sys/sys.h"

#include <string.h>

enum { PAGE_BYTES = LEDGER_PAGE_BYTES, PAGES_ASKED = 256 /* at a time */ };

unsigned rt_fill_fresh, rt_fill_freed;

/*
 * The others are zeros when the kernel gives them, and stay untouched. Where the kernel does not answer,
 * all of it. It says no of a page that was swapped out, too: such a one is not filled.
 */
static RT_COLD void fill_present(uintptr_t at, uintptr_t end, unsigned byte)
{
	unsigned char present[PAGES_ASKED];

	while (at < end) {
		uintptr_t page = at & ~(uintptr_t)(PAGE_BYTES - 1);
		uintptr_t stop = core_smaller(end, page + sizeof(present) * PAGE_BYTES);
		bool asked = rt_syscall3(SYS_mincore, (long)page, (long)(stop - page),
					 (long)present) == 0;

		for (size_t i = 0; at < stop; i++) {
			uintptr_t next = core_smaller(stop, page + (i + 1) * PAGE_BYTES);

			/* For zeros only a look tells of one that was swapped out. */
			if (!asked || present[i] & 1 || (!byte && *(const volatile char *)at))
				memset((void *)at, (int)byte, next - at);
			at = next;
		}
	}
}

void rt_fill(void *block, size_t from, size_t to, unsigned byte)
{
	/* Some round a size up until it wraps, and give a small block. */
	if (byte >= LEDGER_FILL_NONE || from >= to || to >> LEDGER_ADDRESS_BITS)
		return;
	if (to - from < RT_FILL_ASKED_BYTES)
		memset((char *)block + from, (int)byte, to - from);
	else
		fill_present((uintptr_t)block + from, (uintptr_t)block + to, byte);
}
