/* SPDX-License-Identifier: MIT */
/*
 * Where "seep run" has ledgers made: in $SEEP_DIR, or in the first of several folders whose file
 * system has room, memory before disks. A container's /dev/shm has 64 MB, too little for the call
 * stacks of a compiler.
 */
#ifndef SEEP_RECORDER_LEDGER_PLACE_H
#define SEEP_RECORDER_LEDGER_PLACE_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct seep_ledger_place {
	char *path; /* absolute */
	int fd;	    /* of the folder, close-on-exec */
	bool was_made;
	/* One sentence, where it is not the usual one or has little room; NULL: nothing to say. */
	char *note;
};

/**
 * seep_ledger_place_choose - find a folder for ledgers, and make it if need be
 * @ledger_bytes: how large a ledger may grow; 0 = nobody said
 * @ret_place:    set on success only; release with seep_ledger_place_done()
 *
 * $SEEP_DIR is taken as it is, whatever its room, and is never made.
 *
 * Returns: 0, or what seep_ledgerdir_open() says of $SEEP_DIR, or of the usual folder where none
 * can be had.
 */
SEEP_NODISCARD int seep_ledger_place_choose(uint64_t ledger_bytes,
					    struct seep_ledger_place *ret_place,
					    struct seep_error *err);

void seep_ledger_place_done(struct seep_ledger_place *place);

#endif
