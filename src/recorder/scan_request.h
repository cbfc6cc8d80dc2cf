/* SPDX-License-Identifier: MIT */
/*
 * A process asks for a leak scan of itself, by its ledger: docs/internals/ledger.md, "Asking for a
 * leak scan".
 */
#ifndef SEEP_RECORDER_SCAN_REQUEST_H
#define SEEP_RECORDER_SCAN_REQUEST_H

#include "profile/ledger_file.h"
#include "recorder/leak_check.h"

#include <stdint.h>

/* From here on it may ask. */
void seep_scan_request_welcome(struct seep_ledger *ledger);

/* Does it wait for an answer? */
bool seep_scan_request_waits(const struct seep_ledger *ledger);

/* Scan it and give it one. @pid: as seen from here. */
void seep_scan_request_answer(struct seep_ledger *ledger, uint32_t pid,
			      const struct seep_leak_check_plan *plan);

#endif
