/* SPDX-License-Identifier: MIT */
/*
 * An operand that names a process or its ledger: a pid, a path, or the name of a program that runs
 * once.
 */
#ifndef SEEP_CLI_LEDGER_OPERAND_H
#define SEEP_CLI_LEDGER_OPERAND_H

#include "base/error.h"
#include "recorder/census.h"

#include <stdbool.h>

struct seep_ledger_operand {
	char *path;			       /* of the ledger; release with free() */
	const struct seep_census_entry *entry; /* NULL: not in a folder of ledgers */
	bool runs;			       /* its program does, now */
	bool replaced; /* the process runs another program by now, which has a ledger too */
};

/**
 * seep_ledger_operand_find - the ledger that @operand names
 * @ret: borrows from @census; a path that is in no folder of ledgers is given back as it is
 *
 * Returns: 0, or
 *   -SEEP_ENOTFOUND  no such process has one, nor is there such a file
 *   -SEEP_EUSAGE     several processes run a program of that name
 *   -SEEP_EEXIST     the process is dead and its recorder is writing the recording
 */
SEEP_NODISCARD int seep_ledger_operand_find(const struct seep_census *census, const char *operand,
					    struct seep_ledger_operand *ret,
					    struct seep_error *err);

/* The same, but of several processes with a name, the one that started all others is meant. */
SEEP_NODISCARD int seep_ledger_operand_find_tree(const struct seep_census *census,
						 const char *operand,
						 struct seep_ledger_operand *ret,
						 struct seep_error *err);

/*
 * 0; -SEEP_ENOTFOUND: its program does not run (any more), or there is no such file;
 * -SEEP_EUNSUPPORTED: it is in another container.
 */
SEEP_NODISCARD int seep_ledger_operand_check(const struct seep_ledger_operand *ledger,
					     struct seep_error *err);

/* Open the ledger of what runs for marks. As above, or the errors of seep_ledger_open(). */
SEEP_NODISCARD int seep_ledger_operand_open(const struct seep_ledger_operand *ledger,
					    struct seep_ledger *ret, struct seep_error *err);

/* After the complaint that there is no ledger of @operand: what to do. */
void seep_ledger_operand_hint(const char *operand);

#endif
