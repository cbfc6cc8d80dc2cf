/* SPDX-License-Identifier: MIT */
#include "runtime/track/misuse.h"

#include "runtime/sys/sys.h"
#include "runtime/sys/tables.h"
#include "runtime/track/place.h"

bool rt_finding_aborts;

uint32_t rt_finding_row(const void *frame)
{
	struct rt_thread *thread = frame ? rt_thread_self() : NULL;
	struct ledger_control *control = thread ? rt_enter(thread, frame) : NULL;
	uint32_t row;

	if (!control)
		return 0;
	row = rt_place_row(thread, rt_alloc(LEDGER_KIND_FREE, 0, 0).key, 0, frame);
	rt_leave(thread);
	return rt_row_is_context(row) ? row : 0;
}

void rt_finding_note(const struct rt_finding *finding, const void *frame)
{
	const uint32_t here_row = rt_finding_row(frame);
	uint64_t index = rt_mine.control ? rt_table_take(LEDGER_TABLE_FINDINGS, 1) : RT_NO_INDEX;
	struct ledger_finding *to;

	if (index == RT_NO_INDEX)
		return;
	to = (struct ledger_finding *)(rt_global.base +
				       rt_header.table[LEDGER_TABLE_FINDINGS].offset) +
	     index;
	to->kind = (uint8_t)finding->kind;
	to->here_row = here_row;
	to->freed_row = finding->freed_row;
	to->pointer = finding->pointer;
	to->block_row = ledger_cell_row(finding->block.value);
	to->block_bytes = finding->block.size;
	to->offset = (int64_t)(finding->pointer - finding->block.address);
	rt_store(&to->count, 1);
	rt_store_release(&to->ready, 1);
	if (rt_finding_aborts)
		(void)rt_syscall3(SYS_kill, rt_getpid(), 6, 0);
}
