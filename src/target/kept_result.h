/* SPDX-License-Identifier: MIT */
/*
 * What stays of a leak scan. Its result, in memory of its own: it may be a while until somebody
 * judges it, and what the marker took is many times as much. And what it found lost, in the cells of
 * the process's own page map, so that the next scan knows it: docs/internals/leaks.md, "Lost before".
 */
#ifndef SEEP_TARGET_KEPT_RESULT_H
#define SEEP_TARGET_KEPT_RESULT_H

#include "scan/scan.h"
#include "target/stop.h"

void seep_result_keep(struct scan_result *result);

/* Of one that is kept, or zeroed. */
void seep_result_free(const struct scan_result *result);

/*
 * A descriptor of the memory of a stopped process, for later: it stays that of this program. -1: it
 * cannot be had, or not all of its threads were stopped, so that lost blocks may be theirs.
 */
int seep_lost_memory(const struct seep_maps *maps, const struct seep_stopped *stopped);

/*
 * @memory: of the scanned process itself, which may run. Cells that are another block's by now, or
 * cannot be written, are left as they are.
 */
void seep_lost_note(const struct scan *scan, const struct scan_result *result, int memory);

#endif
