/* SPDX-License-Identifier: MIT */
/*
 * A profile from a ledger: the shared file of a process that runs, or the one that a process left
 * behind however it died. The result has addresses, no names: see profile/symbolise.h.
 */
#ifndef SEEP_PROFILE_LEDGER_LOAD_H
#define SEEP_PROFILE_LEDGER_LOAD_H

#include "base/error.h"
#include "profile/profile.h"

#include <stdbool.h>
#include <stddef.h>

struct ledger_finding;
struct seep_ledger;

/* What was found out from outside; rows are the ledger's. */
struct seep_ledger_found {
	struct ledger_finding *items;
	size_t count;
};

/* Whether @head, the first @bytes of a file, begins a ledger (of any version). */
bool seep_profile_is_ledger(const void *head, size_t bytes);

/**
 * seep_profile_load_ledger - read the ledger at @path
 * @dead:        the process is known to be gone, and not looked for
 * @ret_profile: set on success only; release with seep_profile_free()
 * @err:         filled on failure only; may be NULL
 *
 * The ledger of a running process is mapped and read while it changes: figures are one
 * reading per row, rows that never held still are marked in_doubt; if it is cut meanwhile, that is
 * an error. Of any other ledger the real parts are copied first, and unfinished flushes are
 * finished on the copy; the file is never written. Of a file that was cut, what is there is read,
 * and profile->unseen says "ledger-cut" if something is missing.
 *
 * Returns: 0, or
 *   -SEEP_ENOTFOUND  there is no such file
 *   -SEEP_ESYS       it cannot be read or mapped
 *   -SEEP_ETRUNC     it is too short to hold anything, or was cut while it was mapped
 *   -SEEP_ECORRUPT   it is not a ledger, or its header makes no sense
 *   -SEEP_EVERSION   another version of seep wrote it
 *   -SEEP_ELIMIT     it is larger than 64 GB, holes not counted
 */
SEEP_NODISCARD int seep_profile_load_ledger(const char *path, bool dead,
					    struct seep_profile **ret_profile,
					    struct seep_error *err);

/*
 * The same of a process that runs, whose ledger is open, with what was @found in place of its own
 * findings. Errors as above.
 */
SEEP_NODISCARD int seep_profile_load_found(const struct seep_ledger *ledger,
					   const struct seep_ledger_found *found,
					   struct seep_profile **ret_profile,
					   struct seep_error *err);

/**
 * seep_profile_load_ledger_memory - the same from a ledger that is mapped or read already
 * @map:   begins at a multiple of 64; @bytes long as long as the call lasts
 * @live:  the process may be writing to it
 *
 * Never writes to @map. Errors as above, without the first two and the last.
 */
SEEP_NODISCARD int seep_profile_load_ledger_memory(const void *map, size_t bytes, bool live,
						   struct seep_profile **ret_profile,
						   struct seep_error *err);

#endif
