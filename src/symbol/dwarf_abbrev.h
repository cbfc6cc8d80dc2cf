/* SPDX-License-Identifier: MIT */
/*
 * Abbreviation tables: how the entries of a unit are laid out. What the layout alone decides is
 * computed once, here: fixed sizes, and whether an entry can have code.
 */
#ifndef SEEP_SYMBOL_DWARF_ABBREV_H
#define SEEP_SYMBOL_DWARF_ABBREV_H

#include "core/reader.h"

/* How many bytes a value has; from DWARF_VARIES on that depends on the value. */
enum {
	DWARF_VARIES = 0xf0,
	DWARF_ULEB = DWARF_VARIES,
	DWARF_SLEB,
	DWARF_STRING,
	DWARF_BLOCK, /* after its length, a LEB128 or of 1, 2 or 4 bytes */
	DWARF_BLOCK1,
	DWARF_BLOCK2,
	DWARF_BLOCK4,
	DWARF_UNKNOWN, /* nothing after it can be read */
};

/* What a value means. */
enum {
	DWARF_OTHER, /* what nobody here asks for */
	DWARF_NUMBER,
	DWARF_ADDRESS,
	DWARF_ADDRESS_INDEX,
	DWARF_LIST_INDEX,
	DWARF_TEXT,	  /* itself */
	DWARF_TEXT_STR,	  /* an offset into .debug_str */
	DWARF_TEXT_LINE,  /* into .debug_line_str */
	DWARF_TEXT_ALT,	  /* into .debug_str of the alternate file */
	DWARF_TEXT_INDEX, /* into .debug_str_offsets */
	DWARF_REF_UNIT,	  /* an entry, by its offset from the unit's start */
	DWARF_REF_FILE,	  /* from the section's */
	DWARF_REF_ALT,	  /* in the alternate file */
};

struct dwarf_form {
	uint8_t bytes;
	uint8_t meaning;
};

struct dwarf_attribute {
	int64_t implicit; /* the value of DW_FORM_implicit_const */
	uint16_t name;
	struct dwarf_form form;
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
struct dwarf_abbrevs *dwarf_abbrevs_new(struct core_reader table, uint16_t version,
					uint8_t offset_bytes, uint64_t *attributes_left);
void dwarf_abbrevs_free(struct dwarf_abbrevs *abbrevs);

/* NULL when there is none of that code. */
const struct dwarf_abbrev *dwarf_abbrevs_find(const struct dwarf_abbrevs *abbrevs, uint64_t code);

struct dwarf_form dwarf_form_of(uint64_t form, uint16_t version, uint8_t offset_bytes);

#endif
