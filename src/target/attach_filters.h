/* SPDX-License-Identifier: MIT */
/* Whether the filters (seccomp) of a process let pass what attaching and recording do in it. */
#ifndef SEEP_TARGET_ATTACH_FILTERS_H
#define SEEP_TARGET_ATTACH_FILTERS_H

#include "target/seccomp_verdict.h"

/**
 * seep_attach_check_filters - would a filter in process @pid stop what is done there?
 *
 * Each thread has filters of its own, and the library makes calls in all that allocate. So each that
 * has some is stopped for as long as it takes to read them; one that does not stop at once is passed
 * over. Threads: any.
 *
 * Returns: 0, or
 *   -SEEP_EREFUSED  a filter kills for a call that is made, or denies one that is needed; or no thread
 *                   may be traced
 *   -SEEP_ESYS      there are filters, and they cannot be read: nothing is known
 */
SEEP_NODISCARD int seep_attach_check_filters(pid_t pid, struct seep_error *err);

#endif
