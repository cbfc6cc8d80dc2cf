/* SPDX-License-Identifier: MIT */
/* What a recorder asks and tells a ledger that it has open: who lives, and marks. */
#ifndef SEEP_RECORDER_LEDGER_CONTROL_H
#define SEEP_RECORDER_LEDGER_CONTROL_H

#include "profile/ledger_file.h"
#include "profile/ledger_load.h"

/**
 * seep_ledger_mark - begin a new epoch
 * @name:      one that seep_mark_name_check() takes; NULL: an automatic mark
 * @ret_epoch: the new one; set on success only; may be NULL
 *
 * Advances control.epoch and appends the mark. Needs one opened for writing, of a running process.
 *
 * Returns: 0, or
 *   -SEEP_ELIMIT  the table of marks is full, and nothing was done
 *   -SEEP_ESYS    the mark cannot be written
 */
SEEP_NODISCARD int seep_ledger_mark(struct seep_ledger *ledger, const char *name, uint64_t now_ns,
				    uint32_t *ret_epoch, struct seep_error *err);

/*
 * 0, or -SEEP_EUSAGE: @name is empty, longer than a mark's, "now", or has characters that would not
 * be shown, or '@'.
 */
SEEP_NODISCARD int seep_mark_name_check(const char *name, struct seep_error *err);

/*
 * As seep_profile_process_life(), but SEEP_PROCESS_UNKNOWN also of a process that runs under
 * another pid here than its ledger says: who follows it takes the ledger's word for the pid.
 */
enum seep_process_life seep_ledger_life(const struct seep_ledger *ledger);

/* Is a recorder registered, and does it live? In the target's PID namespace. */
bool seep_ledger_has_recorder(const struct seep_ledger *ledger);

#endif
