/* SPDX-License-Identifier: MIT */
/* Which processes "seep top" watches: one, and all that come from it. */
#ifndef SEEP_CLI_TOP_FIND_H
#define SEEP_CLI_TOP_FIND_H

#include "analysis/live.h"
#include "base/error.h"
#include "base/idtable.h"

#include <stdbool.h>
#include <stdint.h>

struct seep_top_find {
	char *path; /* of the first one's ledger */
	char *dir;  /* its folder, where those of its children are too */
	uint64_t session;
	uint64_t created_ns;
	uint64_t pid_namespace;
	uint32_t uid;
	bool is_child;		    /* another one of its session is older */
	struct seep_idtable others; /* hashes of names of ledgers that need no look any more */
	size_t refused_count;	    /* processes of the tree that could not be watched, */
	struct seep_error refusal;  /* and why the last one could not */
};

/**
 * seep_top_find_begin - the process to begin with
 * @operand: a pid, a program's name or a ledger's path; NULL: the only process tree that is recorded
 * @find:    release with seep_top_find_done()
 *
 * Returns: 0, or
 *   -SEEP_ENOTFOUND  none is recorded; as seep_ledger_operand_find()
 *   -SEEP_EUSAGE     there are several, and they were listed on standard error
 *   and the errors of seep_census_take(), seep_ledger_operand_find() and seep_ledger_open()
 */
SEEP_NODISCARD int seep_top_find_begin(const char *operand, struct seep_top_find *find,
				       struct seep_error *err);

void seep_top_find_done(struct seep_top_find *find);

/**
 * seep_top_find_named - the process that runs a program of this name, if there is one by now
 * @ret_pid: 0: there is none yet
 *
 * Returns: 0, or
 *   -SEEP_EUSAGE  there are several
 *   and the errors of seep_census_take()
 */
SEEP_NODISCARD int seep_top_find_named(const char *name, uint32_t *ret_pid, struct seep_error *err);

/* As struct seep_live_options has it: programs after an exec, children, and theirs. */
void seep_top_find_more(void *find, struct seep_live *live);

#endif
