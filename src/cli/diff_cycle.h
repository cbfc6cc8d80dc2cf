/* SPDX-License-Identifier: MIT */
/* "seep diff --cycle": idle, work, idle, with marks before and after the work. */
#ifndef SEEP_CLI_DIFF_CYCLE_H
#define SEEP_CLI_DIFF_CYCLE_H

#include "analysis/diff.h"
#include "base/error.h"
#include "cli/ledger_operand.h"

#include <stdbool.h>
#include <stdint.h>

struct seep_cycle {
	char **command; /* the work; NULL: until somebody presses Enter */
	uint32_t rounds;
	uint64_t settle_ns; /* to wait after each round */
};

/**
 * seep_cycle_run - let the process work, and mark when it did
 * @ret_epochs: of the rounds, room for as many
 * @ret_failed: the command did not end with status 0 each time, as was said on standard error
 *
 * Returns: 0, or
 *   -SEEP_ENOTFOUND  the process ends before the last round does, or has ended
 *   -SEEP_ESYS       the command cannot be started, or nobody can press Enter
 *   the errors of seep_ledger_operand_open() and seep_ledger_mark()
 */
SEEP_NODISCARD int seep_cycle_run(const struct seep_ledger_operand *process,
				  const struct seep_cycle *cycle, struct seep_epochs *ret_epochs,
				  bool *ret_failed, struct seep_error *err);

#endif
