/* SPDX-License-Identifier: MIT */
/* A list of ranges of addresses that grows. Zeroed storage is empty. */
#ifndef SEEP_TARGET_RANGES_H
#define SEEP_TARGET_RANGES_H

#include "scan/scan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct seep_ranges {
	struct scan_range *items;
	size_t count;
};

/* An empty one is not added. One that touches the last is joined to it. */
void seep_ranges_add(struct seep_ranges *ranges, uint64_t begin, uint64_t end);
void seep_ranges_add_all(struct seep_ranges *ranges, const struct seep_ranges *others);

/* From here on they are by address, and none touch. The functions below are for such lists. */
void seep_ranges_settle(struct seep_ranges *ranges);

/* The index of the first that ends behind @address; count: none does. */
size_t seep_ranges_from(const struct seep_ranges *ranges, uint64_t address);
bool seep_ranges_have(const struct seep_ranges *ranges, uint64_t address);

/*
 * The next piece from *@at on and below @end that is in none of them: *@at up to *@ret_end. False:
 * there is none.
 */
bool seep_ranges_gap(const struct seep_ranges *ranges, uint64_t *at, uint64_t end,
		     uint64_t *ret_end);

void seep_ranges_done(struct seep_ranges *ranges);

#endif
