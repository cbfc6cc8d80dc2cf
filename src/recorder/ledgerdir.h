/* SPDX-License-Identifier: MIT */
/* The folder where ledgers are made, and how it is chosen. */
#ifndef SEEP_RECORDER_LEDGERDIR_H
#define SEEP_RECORDER_LEDGERDIR_H

#include "base/error.h"
#include "ledger/ledger.h"

#include <stdbool.h>
#include <stdint.h>

/* $SEEP_DIR made absolute; NULL: not set. Release with free(). */
char *seep_ledgerdir_asked(void);

/* Where ledgers lie if nobody says: @i of LEDGER_ROOTS. Not all are there. Release with free(). */
char *seep_ledgerdir_usual(unsigned i) __attribute__((returns_nonnull));

/**
 * seep_ledgerdir_open - open a ledger folder that nobody else can write to
 * @create: make it (0700) when it is not there
 * @ret_fd: set on success only; close-on-exec
 *
 * Returns: 0, or
 *   -SEEP_ENOTFOUND     it is not there (and was not to be made)
 *   -SEEP_ESYS          it cannot be made or opened
 *   -SEEP_EUNSUPPORTED  it is somebody else's, a symbolic link, or others may write in it
 */
SEEP_NODISCARD int seep_ledgerdir_open(const char *path, bool create, int *ret_fd,
				       struct seep_error *err);

/*
 * Where "seep run" has ledgers made: in $SEEP_DIR, or in the first of several folders whose file
 * system has room, memory before disks. A container's /dev/shm has 64 MB, too little for the call
 * stacks of a compiler.
 */
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
