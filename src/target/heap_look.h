/* SPDX-License-Identifier: MIT */
/*
 * What was written around the live blocks of a process that was started with guards, and to those that
 * wait in quarantine. The process goes on meanwhile: a block may be freed, and its memory be another
 * one's, between two looks. So damage is believed only if many close looks in a row see the same, and
 * before and after each the page map says that the block lives, or the list of those that wait has it.
 */
#ifndef SEEP_TARGET_HEAP_LOOK_H
#define SEEP_TARGET_HEAP_LOOK_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct ledger_finding;
struct ledger_header;

struct seep_heap_look {
	struct ledger_finding *findings; /* of damaged blocks, 65,536 at most: then it ends */
	size_t count;
	uint64_t live, waiting; /* blocks that were looked at */
};

/**
 * seep_heap_look - look at all guards of process @pid, whose ledger begins with @header
 * @ret: set on success only; release its findings with free()
 *
 * Returns: 0, the errors of seep_memory_open(), or
 *   -SEEP_EUSAGE    the process was not started with guards
 *   -SEEP_ECORRUPT  its page map is damaged
 *   -SEEP_ESYS      no memory for the list of its blocks
 */
SEEP_NODISCARD int seep_heap_look(pid_t pid, const struct ledger_header *header,
				  struct seep_heap_look *ret, struct seep_error *err);

#endif
