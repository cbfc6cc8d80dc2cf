/* SPDX-License-Identifier: MIT */
/* Entries, their attributes, what the attributes' values mean, and where their code is. */
#ifndef SEEP_SYMBOL_DWARF_ENTRY_H
#define SEEP_SYMBOL_DWARF_ENTRY_H

#include "core/reader.h"
#include "symbol/dwarf_abbrev.h"
#include "symbol/dwarf_file.h"

struct dwarf_entry {
	struct dwarf_unit *unit;
	const uint8_t *at; /* where it starts: its identity */
	const struct dwarf_abbrev *abbrev;
	const uint8_t *values; /* of its attributes */
};

struct dwarf_value {
	uint64_t number;      /* as it stands there: a number, an offset, an index */
	const uint8_t *bytes; /* of DWARF_TEXT: the text, ended inside the unit */
	uint8_t meaning;
};

/* The entry at @at, in a prepared unit. False at the end of a list of children, and at damage. */
bool dwarf_entry_read(struct dwarf_unit *unit, const uint8_t *at, struct dwarf_entry *ret);

/* Read one value, moving @reader behind it. False when it cannot be: nothing after it can, then. */
bool dwarf_value_read(const struct dwarf_attribute *attribute, struct core_reader *reader,
		      struct dwarf_value *ret);

/* Where the values of @entry end; NULL at damage. @ret_sibling: its next one if it says so. */
const uint8_t *dwarf_entry_end(const struct dwarf_entry *entry, const uint8_t **ret_sibling);

/* The value of an attribute. False when the entry has none of that name. */
bool dwarf_entry_find(const struct dwarf_entry *entry, unsigned int name, struct dwarf_value *ret);

/* What a value means. False, or NULL, when it is of another class or leads nowhere. */
bool dwarf_value_number(const struct dwarf_value *value, uint64_t *ret);
bool dwarf_value_address(const struct dwarf_unit *unit, const struct dwarf_value *value,
			 uint64_t *ret);
const char *dwarf_value_text(const struct dwarf_unit *unit, const struct dwarf_value *value);

/* The same by name, in one go. */
const char *dwarf_entry_text(const struct dwarf_entry *entry, unsigned int name);
uint64_t dwarf_entry_number(const struct dwarf_entry *entry, unsigned int name, uint64_t otherwise);
bool dwarf_entry_follow(const struct dwarf_entry *entry, unsigned int name,
			struct dwarf_entry *ret);

/* Where the code of an entry is: one stretch, or a list of them. */
enum dwarf_ranges_kind { DWARF_RANGES_NONE, DWARF_RANGES_ONE, DWARF_RANGES_OLD, DWARF_RANGES_NEW };

struct dwarf_ranges {
	const struct dwarf_unit *unit;
	struct core_reader list;
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
