/* SPDX-License-Identifier: MIT */
/* Whether the filters (seccomp) of a thread let pass what attaching and recording do there. */
#ifndef SEEP_TARGET_ATTACH_FILTERS_H
#define SEEP_TARGET_ATTACH_FILTERS_H

#include "target/seccomp_verdict.h"

/**
 * seep_attach_check_filters - would a filter of a thread stop what is done in it?
 * @tid: stopped, and traced by the calling thread
 *
 * Each thread has filters of its own. The library makes calls in all threads that allocate, the
 * loader in the one that is stopped.
 *
 * Returns: 0, or
 *   -SEEP_EREFUSED  a filter kills for a call that is made, or denies one that is needed
 *   -SEEP_ESYS      there are filters, and they cannot be read: nothing is known
 */
SEEP_NODISCARD int seep_attach_check_filters(pid_t tid, struct seep_error *err);

/* The same of filters that are known; 0, or -SEEP_EREFUSED. */
SEEP_NODISCARD int seep_attach_judge_filters(const struct seep_seccomp *filters,
					     struct seep_error *err);

#endif
