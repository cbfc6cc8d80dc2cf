/* SPDX-License-Identifier: MIT */
/* What attaching and detaching write into a process's code, while all of its threads stand still. */
#ifndef SEEP_TARGET_ENTRIES_WRITE_H
#define SEEP_TARGET_ENTRIES_WRITE_H

#include "target/entries.h"

/*
 * By a thread that traces nobody. Pages that are mapped and not there yet get their contents; nothing leads
 * there. Returns: 0, -SEEP_EREFUSED, -SEEP_ENOTFOUND, -SEEP_ESYS
 */
SEEP_NODISCARD int seep_entries_write(pid_t pid, struct seep_entries *entries,
				      struct seep_error *err);

/*
 * All jumps are written, or none: they lead to @hook. @mode becomes the word at @mode_at as well.
 * Returns: as above.
 */
SEEP_NODISCARD int seep_entries_lead(pid_t pid, const struct seep_entries *entries, uint64_t hook,
				     uint64_t mode_at, uint64_t mode, struct seep_error *err);

/* What stood in place of jumps stands there again. Nothing to put back is no error. */
SEEP_NODISCARD int seep_entries_restore(const struct seep_live_modules *modules,
					struct seep_error *err);

/* Is there such a page at @mapping? The process may have written anything there. */
bool seep_entries_read(struct seep_memory *memory, const struct seep_mapping *mapping,
		       struct ledger_entry_page *ret_page);

/* There are such jumps in the process now. */
bool seep_entries_are_led(pid_t pid);

#endif
