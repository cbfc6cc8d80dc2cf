/* SPDX-License-Identifier: MIT */
#include "runtime/track/break.h"

#include "core/stack_hash.h"
#include "runtime/sys/sys.h"

#include <signal.h>

struct rt_break rt_break;

void rt_break_start(const char *text)
{
	uint64_t hash, nth;

	if (text && core_stack_hash_read(text, &hash, &nth))
		rt_break = (struct rt_break){ .hash = hash, .nth = nth };
	else if (text)
		rt_say("seep: SEEP_BREAK: bad value: ", text, "; it is HASH or HASH:N");
}

void rt_break_count(void)
{
	if (atomic_fetch_add_explicit(&rt_break.count, 1, memory_order_relaxed) + 1 == rt_break.nth)
		(void)rt_syscall3(SYS_tgkill, rt_getpid(), rt_gettid(), SIGTRAP);
}
