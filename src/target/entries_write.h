/* SPDX-License-Identifier: MIT */
/* What attaching and detaching write into a process's code, while all of its threads stand still. */
#ifndef SEEP_TARGET_ENTRIES_WRITE_H
#define SEEP_TARGET_ENTRIES_WRITE_H

#include "target/attach.h"
#include "target/entries.h"

/*
 * By a thread that traces nobody else. All jumps are written, or none, if code is as it was found; then
 * the word at @led_at becomes 1. If we are killed in the middle it stays 0. Tried again until
 * @deadline_ns, monotonic, where a thread stands in the way; @result has for how long all stood.
 * Returns: 0, -SEEP_EREFUSED, -SEEP_ENOTFOUND, -SEEP_ESYS
 */
SEEP_NODISCARD int seep_entries_lead(pid_t pid, const struct seep_entries *entries, uint64_t led_at,
				     uint64_t deadline_ns, struct seep_attach_result *result,
				     struct seep_error *err);

/*
 * What stood in place of jumps stands there again; those that are there still are found by @pages.
 * @ret_count: of jumps that were there. Returns: as above; those that stay do no harm.
 */
SEEP_NODISCARD int seep_entries_restore(pid_t pid, const struct seep_entry_pages *pages,
					struct seep_attach_result *result, size_t *ret_count,
					struct seep_error *err);

/* Is there such a page at @address? The process may have written anything there. */
bool seep_entries_read(struct seep_memory *memory, uint64_t address,
		       struct ledger_entry_page *ret_page);

#endif
