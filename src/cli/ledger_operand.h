/* SPDX-License-Identifier: MIT */
/*
 * An operand that names a process or its ledger, for all commands alike: a pid, as seen from here or
 * as the process knows itself; the path of a ledger; or the name of a program that runs. A file of
 * that name comes first.
 */
#ifndef SEEP_CLI_LEDGER_OPERAND_H
#define SEEP_CLI_LEDGER_OPERAND_H

#include "base/error.h"
#include "profile/ledger_file.h"
#include "recorder/census.h"

#include <stdbool.h>

/* Zeroed is empty. Release with seep_ledger_operand_done(). */
struct seep_ledger_operand {
	struct seep_census census;	       /* as it was looked for */
	char *path;			       /* of the ledger, or of a recording */
	const struct seep_census_entry *entry; /* in the census; NULL: it is no ledger */
	bool unlisted;			       /* in no folder that is looked through */
	bool runs;			       /* its program does, now */
};

/**
 * seep_ledger_operand_find - the ledger that @operand names
 * @operand: NULL: of the only process tree that is recorded
 * @ret:     to be released whatever is returned; the path of what is no ledger, and what nobody is
 *           called, is given back as it is
 *
 * Of several processes that run a program, the one that started all others is meant. A process of
 * another user or container is found by its pid if we may see what it has mapped.
 *
 * Returns: 0, or
 *   -SEEP_ENOTFOUND  no such process has one
 *   -SEEP_EUSAGE     there are several, which were listed on standard error
 *   -SEEP_EEXIST     the process is dead and its recorder is writing the recording
 *   the errors of seep_census_take()
 */
SEEP_NODISCARD int seep_ledger_operand_find(const char *operand, struct seep_ledger_operand *ret,
					    struct seep_error *err);

void seep_ledger_operand_done(struct seep_ledger_operand *ledger);

/*
 * The path of what is read for @operand, to be released with free(): the file of that name, or that
 * of the ledger which is found so. Errors as above.
 */
SEEP_NODISCARD int seep_ledger_operand_path(const char *operand, char **ret_path,
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

/* What to do after @err, with which @path was not read as a recording. */
void seep_open_hint(const char *path, const struct seep_error *err);

/* What to do after @err, which is about the process or ledger that @operand names, if it is that. */
void seep_ledger_hint(const char *operand, const struct seep_error *err);

#endif
