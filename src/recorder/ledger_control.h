/* SPDX-License-Identifier: MIT */
/* What a recorder asks and tells a ledger that it has open: who lives, and marks. */
#ifndef SEEP_RECORDER_LEDGER_CONTROL_H
#define SEEP_RECORDER_LEDGER_CONTROL_H

#include "profile/ledger_file.h"
#include "profile/ledger_load.h"

/**
 * seep_ledger_mark - begin a new epoch without a name
 *
 * Advances control.epoch and appends the mark. Needs one opened for writing, of a running process.
 *
 * Returns: the new epoch; 0 when the table of marks is full and nothing was done.
 */
uint32_t seep_ledger_mark(struct seep_ledger *ledger, uint64_t now_ns);

/*
 * As seep_profile_process_life(), but SEEP_PROCESS_UNKNOWN also of a process that runs under
 * another pid here than its ledger says: who follows it takes the ledger's word for the pid.
 */
enum seep_process_life seep_ledger_life(const struct seep_ledger *ledger);

/* Is a recorder registered, and does it live? In the target's PID namespace. */
bool seep_ledger_has_recorder(const struct seep_ledger *ledger);

#endif
