/* SPDX-License-Identifier: MIT */
/*
 * What a leak scan found lost is noted in the process's own page map, in the block's cell, so that
 * the next scan knows it: docs/internals/leaks.md, "Lost before".
 */
#ifndef SEEP_TARGET_LOST_NOTE_H
#define SEEP_TARGET_LOST_NOTE_H

#include "base/maps.h"
#include "scan/scan.h"
#include "target/stop.h"

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
