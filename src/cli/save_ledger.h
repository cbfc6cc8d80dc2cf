/* SPDX-License-Identifier: MIT */
/* Making a recording of a ledger, for the commands that do: of a running process or a dead one. */
#ifndef SEEP_CLI_SAVE_LEDGER_H
#define SEEP_CLI_SAVE_LEDGER_H

#include "base/error.h"
#include "cli/ledger_operand.h"
#include "cli/symbol_options.h"

#include <stdbool.h>

struct seep_save {
	bool force; /* replace a file that is there */
	bool quiet; /* print no summary */
	struct seep_symbol_option_values symbols;
};

/*
 * The recording's name: @pattern as in seep_outname_expand(), of the ledger at @path. *@ret_output
 * is released with free(). Returns as that does.
 */
SEEP_NODISCARD int seep_save_name(const char *pattern, const char *path, char **ret_output,
				  struct seep_error *err);

/*
 * Write the recording, to @output, which can be written. The process is neither stopped nor
 * changed; the ledger of a dead one goes if nobody needs it. Returns 0, or a job's error
 * (recorder/finish.h).
 */
SEEP_NODISCARD int seep_save(const struct seep_ledger_operand *ledger, const struct seep_save *how,
			     const char *output, struct seep_error *err);

#endif
