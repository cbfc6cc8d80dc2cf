/* SPDX-License-Identifier: MIT */
/*
 * Whether "seep attach" would work, told before anything of the process is touched. What filters on
 * system calls answer can only be asked of a stopped thread: target/attach_filters.h.
 */
#ifndef SEEP_TARGET_ATTACH_CHECK_H
#define SEEP_TARGET_ATTACH_CHECK_H

#include "target/attach_facts.h"
#include "target/reasons.h"

/* Fill @found: problems prevent attaching, notes do not. Each check has an item, if it was made. */
void seep_attach_judge(const struct seep_attach_facts *facts, struct seep_findings *found);

/**
 * seep_attach_check - is there anything that prevents attaching?
 * @err: filled on failure only: the first problem, and what to do
 *
 * Returns: 0, or
 *   -SEEP_ENOTFOUND     there is no such process, or it has ended
 *   -SEEP_EEXIST        it is recorded already
 *   -SEEP_EUNSUPPORTED  its program is of a kind that cannot be attached to
 *   -SEEP_EREFUSED      anything else
 */
SEEP_NODISCARD int seep_attach_check(const struct seep_attach_facts *facts, struct seep_error *err);

#endif
