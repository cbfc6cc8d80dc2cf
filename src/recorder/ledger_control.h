/* SPDX-License-Identifier: MIT */
/* What a recorder asks and tells a ledger that it has open: who lives, and marks. */
#ifndef SEEP_RECORDER_LEDGER_CONTROL_H
#define SEEP_RECORDER_LEDGER_CONTROL_H

#include "profile/ledger_file.h"

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

/* What the process records from now on, of what its filters let pass. */
void seep_ledger_set_mode(struct ledger_control *control, enum ledger_mode mode);

/* The same of a tier, COUNTS or SAMPLED; 0: exact. The change is a mark, "tier @name". */
void seep_ledger_set_tier(struct seep_ledger *ledger, enum ledger_mode tier, const char *name);

/*
 * No small child adds to the sums of a ledger, opened for writing, any more: those that end from
 * now on keep ledgers of their own. False: one was stopped or killed as it added.
 */
bool seep_ledger_close_sums(struct seep_ledger *ledger);

#endif
