/* SPDX-License-Identifier: MIT */
/*
 * The result of a leak scan in memory of its own. It may be a while until somebody judges it, and
 * what the marker took is many times as much.
 */
#ifndef SEEP_TARGET_KEPT_RESULT_H
#define SEEP_TARGET_KEPT_RESULT_H

#include "scan/scan.h"

void seep_result_keep(struct scan_result *result);

/* Of one that is kept, or zeroed. */
void seep_result_free(const struct scan_result *result);

#endif
