/* SPDX-License-Identifier: MIT */
/*
 * The DWARF sections of one file and the headers of the units in them. Private to the files
 * dwarf_*.c and line_table.c.
 *
 * All of it is read where it lies in the image; whatever an offset or a length says is
 * checked against the section that it is an offset into.
 */
#ifndef SEEP_SYMBOL_DWARF_FILE_H
#define SEEP_SYMBOL_DWARF_FILE_H

#include "base/idtable.h"
#include "symbol/elf_image.h"

enum dwarf_part {
	DWARF_INFO,
	DWARF_ABBREV,
	DWARF_STR,
	DWARF_LINE_STR,
	DWARF_STR_OFFSETS,
	DWARF_ADDR,
	DWARF_RANGES,
	DWARF_RNGLISTS,
	DWARF_LINE,
	DWARF_PART_COUNT
};

struct dwarf_parts {
	struct seep_elf_bytes at[DWARF_PART_COUNT];
};

struct dwarf_abbrevs;
struct dwarf_file;
struct dwarf_unit_index;
struct seep_line_table;

struct dwarf_unit {
	const uint8_t *start; /* the header: references are relative to it, units sorted by it */
	struct dwarf_file *file;
	const uint8_t *entries; /* the first entry */
	const uint8_t *end;
	const uint8_t *abbrev;		     /* where its abbreviations are */
	const struct dwarf_abbrevs *abbrevs; /* NULL: not prepared, or there are none */
	uint64_t id;			     /* of a split unit; 0 none */
	/* What the unit's own entry says that its other entries depend on. */
	uint64_t str_offsets_base;
	uint64_t addr_base;
	uint64_t ranges_base; /* into DWARF_RNGLISTS; in version 4 what split ranges add */
	uint64_t base_address;
	uint32_t language;
	uint16_t version;
	uint8_t offset_bytes; /* 4 or 8 */
	bool prepared;
	bool is_split; /* the bases are its skeleton's, what ranges_base is depends on it */
	bool is_vague; /* may have code elsewhere than it says */
	/* What was read of it when the first address fell into it; NULL until then. */
	struct dwarf_unit_index *index;
	struct seep_line_table *lines;
	struct dwarf_unit *split; /* its other half */
	bool split_sought;
};

struct dwarf_file {
	struct dwarf_parts parts;
	struct dwarf_file *alternate; /* what dwz moved out; NULL: there is none */
	struct dwarf_unit *units;     /* as they lie */
	size_t unit_count;
	struct dwarf_abbrevs **abbrevs;
	size_t abbrevs_count;
	struct seep_idtable abbrevs_ids; /* by where they are */
	/* Tables and lists may be referred to any number of times: what all of it may cost. */
	uint64_t attributes_left;
	uint64_t ranges_left;
};

/* The sections of a file; @split: those that are named *.dwo. */
void dwarf_parts_of(const struct seep_elf *elf, bool split, struct dwarf_parts *ret);

/* Read the headers of all units of @parts, which is copied. Never fails: there may be none. */
void dwarf_file_init(struct dwarf_file *file, const struct dwarf_parts *parts);
void dwarf_file_done(struct dwarf_file *file);

/* Read the unit's abbreviations and own entry, once. False when they cannot be used. */
bool dwarf_unit_prepare(struct dwarf_unit *unit);

/* The unit that has @at inside; NULL when there is none. Prepared. */
struct dwarf_unit *dwarf_file_unit_at(struct dwarf_file *file, const uint8_t *at);

#endif
