/* SPDX-License-Identifier: MIT */
/* How exact a peak is: what threads keep to themselves. docs/internals/ledger.md, "Peak". */
#ifndef SEEP_LEDGER_PEAK_H
#define SEEP_LEDGER_PEAK_H

#include <stdint.h>

enum { LEDGER_PEAK_KEPT_FEW = 2048, LEDGER_PEAK_KEPT_FEW_EACH = 256 };

/*
 * T of docs/internals/ledger.md, "Peak": what a thread may keep to itself of a change to the live
 * total, when @peak_bytes were once alive and @caches handed out. Usually a thousandth of the peak
 * in all; small heaps of many threads get more, up to 1 KB, and those of some KB an eighth in all, up
 * to 2 KB, or every operation would change one shared word.
 */
static inline int64_t ledger_peak_threshold_bytes(int64_t peak_bytes, uint32_t caches)
{
	const int64_t each = caches > 1 && peak_bytes > 0 ? peak_bytes / caches : 0;
	const int64_t least = each / 64 < 1024 ? each / 64 : 1024;
	int64_t share = each / 1024, few = each / 8;

	share = share < least ? least : share;
	few = caches && few > LEDGER_PEAK_KEPT_FEW / caches ? LEDGER_PEAK_KEPT_FEW / caches : few;
	few = few > LEDGER_PEAK_KEPT_FEW_EACH ? LEDGER_PEAK_KEPT_FEW_EACH : few;
	share = share < few ? few : share;
	return share < 65536 ? share : 65536;
}

#endif
