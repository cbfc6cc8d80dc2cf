/* SPDX-License-Identifier: MIT */
/*
 * Abbreviation tables: how the entries of a unit are laid out. What the layout alone decides is
 * computed once, here: fixed sizes, and whether an entry can have code.
 */
#ifndef SEEP_SYMBOL_DWARF_ABBREV_H
#define SEEP_SYMBOL_DWARF_ABBREV_H

#include "symbol/byte_reader.h"

enum { DWARF_VARIES = 0xff };

struct dwarf_attribute {
	int64_t implicit; /* the value of DW_FORM_implicit_const */
	uint16_t name;
	uint16_t form;
	uint8_t bytes; /* DWARF_VARIES: depends on the value */
};

struct dwarf_abbrev {
	uint64_t code;
	const struct dwarf_attribute *attributes;
	uint32_t attribute_count;
	uint32_t fixed_bytes; /* of all attributes; UINT32_MAX: varies */
	uint16_t tag;
	bool has_children;
	bool has_code; /* there is a low address or a list of ranges */
};

struct dwarf_abbrevs;

/**
 * dwarf_abbrevs_new - read the table at the start of @table
 * @attributes_left: goes down by what is read
 *
 * Returns: never NULL; a damaged table, or one that is too large, ends early.
 */
struct dwarf_abbrevs *dwarf_abbrevs_new(struct byte_reader table, uint16_t version,
					uint8_t offset_bytes, uint64_t *attributes_left);
void dwarf_abbrevs_free(struct dwarf_abbrevs *abbrevs);

/* NULL when there is none of that code. */
const struct dwarf_abbrev *dwarf_abbrevs_find(const struct dwarf_abbrevs *abbrevs, uint64_t code);

/* How many bytes a value of the form takes; DWARF_VARIES also for a form that is not known. */
uint8_t dwarf_form_bytes(uint64_t form, uint16_t version, uint8_t offset_bytes);

#endif
