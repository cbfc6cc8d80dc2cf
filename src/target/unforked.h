/* SPDX-License-Identifier: MIT */
/*
 * What a process excludes from forks (MADV_DONTFORK), or has wiped there (MADV_WIPEONFORK): a copy
 * of it lacks that. It is read from the process, which still stands, and put into the copy, so that
 * whoever reads the copy has it all.
 */
#ifndef SEEP_TARGET_UNFORKED_H
#define SEEP_TARGET_UNFORKED_H

#include "base/error.h"
#include "base/maps.h"
#include "target/ranges.h"
#include "target/stop.h"

#include <sys/types.h>

/*
 * From the thread that stopped @stopped, whose mappings these are and whose @copy that is. What
 * cannot be read is not mapped in the copy afterwards.
 * @ledger:     a mapping of the ledger, which is left out; NULL: there is none
 * @ret_unread: what cannot be read is added
 *
 * Returns: 0, or -SEEP_ELIMIT: it is more than the process should stand still for; others: what the
 * copy lacks cannot be told, or read.
 */
SEEP_NODISCARD int seep_unforked_add(const struct seep_stopped *stopped,
				     const struct seep_maps *maps, pid_t copy,
				     const struct seep_mapping *ledger,
				     struct seep_ranges *ret_unread, struct seep_error *err);

#endif
