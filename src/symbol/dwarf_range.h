/* SPDX-License-Identifier: MIT */
/* Where the code of an entry is: one stretch, or a list of them. */
#ifndef SEEP_SYMBOL_DWARF_RANGE_H
#define SEEP_SYMBOL_DWARF_RANGE_H

#include "symbol/dwarf_entry.h"

enum dwarf_ranges_kind { DWARF_RANGES_NONE, DWARF_RANGES_ONE, DWARF_RANGES_OLD, DWARF_RANGES_NEW };

struct dwarf_ranges {
	const struct dwarf_unit *unit;
	struct byte_reader list;
	uint64_t base; /* what offsets in the list are relative to */
	uint64_t from; /* of the only stretch */
	uint64_t to;
	enum dwarf_ranges_kind kind;
};

/* Find the code of @entry. */
void dwarf_ranges_begin(const struct dwarf_entry *entry, struct dwarf_ranges *ret);

/* The next stretch, perhaps empty or backward. False after the last or too many. */
bool dwarf_ranges_next(struct dwarf_ranges *ranges, uint64_t *ret_from, uint64_t *ret_to);

#endif
