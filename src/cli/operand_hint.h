/* SPDX-License-Identifier: MIT */
/* After a complaint: what to do, for commands that were given something else than they read. */
#ifndef SEEP_CLI_OPERAND_HINT_H
#define SEEP_CLI_OPERAND_HINT_H

#include "base/error.h"

/* What to do after @err, with which @path was not read as a recording. */
void seep_open_hint(const char *path, const struct seep_error *err);

/* What to do after @err, which is about the process or ledger that @operand names, if it is that. */
void seep_ledger_hint(const char *operand, const struct seep_error *err);

#endif
