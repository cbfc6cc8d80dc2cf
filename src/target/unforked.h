/* SPDX-License-Identifier: MIT */
/*
 * What a process excludes from forks (MADV_DONTFORK), or has wiped there (MADV_WIPEONFORK): a copy
 * of it lacks that.
 */
#ifndef SEEP_TARGET_UNFORKED_H
#define SEEP_TARGET_UNFORKED_H

#include "base/error.h"
#include "base/maps.h"

#include <sys/types.h>

/*
 * Put into @copy, of the stopped process with these mappings, what is wiped there.
 * @ledger: a mapping of the ledger, which may be excluded; NULL: there is none
 *
 * Returns: 0, or why the copy does not do: it lacks what is excluded, or cannot be completed.
 */
SEEP_NODISCARD int seep_unforked_add(const struct seep_maps *maps, pid_t copy,
				     const struct seep_mapping *ledger, struct seep_error *err);

#endif
