/* SPDX-License-Identifier: MIT */
/*
 * What attaching maps into a process and opens there for the time of a call, and how it is taken away:
 * attach_scratch.c.
 */
#ifndef SEEP_TARGET_ATTACH_SCRATCH_H
#define SEEP_TARGET_ATTACH_SCRATCH_H

#include "ledger/ledger_attach.h"
#include "target/attach_parts.h"

#include <stddef.h>

enum {
	ATTACH_RESULTS = SEEP_DIVERSION_STEPS_MAX + 1,
	ATTACH_PATH_BYTES = 64,
	ATTACH_STACK_BYTES = 256 << 10,
};

/* What is mapped into the process for the time of the call. */
struct attach_scratch {
	struct ledger_attach how;
	uint64_t mapped[ATTACH_RESULTS], called[ATTACH_RESULTS]; /* as seep_diversion.done_at */
	struct attach_pending pending;
	uint64_t all_signals, held_signals;
	char path[ATTACH_PATH_BYTES];
	_Alignas(64) uint8_t room[SEEP_DIVERSION_ROOM_BYTES];
	_Alignas(64) uint8_t vectors[SEEP_DIVERSION_VECTORS_BYTES];
	struct ledger_entry_page pages[LEDGER_ENTRY_MODULES_MAX];
	_Alignas(4096) uint8_t stack[ATTACH_STACK_BYTES];
};

#define SCRATCH_AT(a, member) ((a)->scratch + offsetof(struct attach_scratch, member))

/* Once the last one of us that was killed in the middle has nothing left there. */
SEEP_NODISCARD int attach_settle(struct attach *a, struct seep_error *err);

/*
 * Map the scratch and, if @loads, make a file in memory for the library. The right to execute it is
 * not asked for: code is mapped without, and where vm.memfd_noexec is 2 asking is refused.
 */
SEEP_NODISCARD int attach_prepare(struct attach *a, bool loads, struct seep_error *err);

/* Take both away, if the process lives. It may take a little longer than the rest. */
void attach_clean_up(struct attach *a);

#endif
