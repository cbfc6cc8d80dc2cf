/* SPDX-License-Identifier: MIT */
/* Which processes "seep top" watches: one, and all that come from it. */
#ifndef SEEP_CLI_TOP_FIND_H
#define SEEP_CLI_TOP_FIND_H

#include "analysis/live.h"
#include "base/error.h"
#include "base/idtable.h"
#include "cli/ledger_operand.h"

#include <stdbool.h>

struct seep_top_find {
	char *path;		     /* of the first one's ledger */
	char *dir;		     /* its folder, where those of its children are too */
	struct ledger_header header; /* of that ledger */
	bool is_child;		     /* another one of its session is older */
	struct seep_idtable others;  /* hashes of names of ledgers that need no look any more */
	size_t refused_count;	     /* processes of the tree that could not be watched, */
	struct seep_error refusal;   /* and why the last one could not */
};

/**
 * seep_top_find_begin - the process to begin with
 * @found: by seep_ledger_operand_find()
 * @find:  release with seep_top_find_done()
 *
 * Returns: 0, or the errors of seep_ledger_operand_check() and seep_ledger_open()
 */
SEEP_NODISCARD int seep_top_find_begin(const struct seep_ledger_operand *found,
				       struct seep_top_find *find, struct seep_error *err);

void seep_top_find_done(struct seep_top_find *find);

/* As struct seep_live_options has it: programs after an exec, children, and theirs. */
void seep_top_find_more(void *find, struct seep_live *live);

#endif
