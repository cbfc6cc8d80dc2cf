/* SPDX-License-Identifier: MIT */
#include "runtime/hook/hook.h"

void rt_record_rest(void *block, size_t size, struct rt_alloc what, const void *frame)
{
	struct ledger_control *control = rt_control();

	if (RT_LIKELY(control != NULL))
		rt_record_any(block, size, what, frame, control);
}

void rt_forget_rest(void *block, struct rt_free how, const void *frame)
{
	struct ledger_control *control = rt_control();

	if (RT_LIKELY(control != NULL))
		rt_forget_any(block, how, frame, control);
}
