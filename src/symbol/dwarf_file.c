/* SPDX-License-Identifier: MIT */
#include "symbol/dwarf_file.h"

#include "base/search.h"
#include "base/work.h"
#include "base/xalloc.h"
#include "core/reader.h"
#include "symbol/dwarf_abbrev.h"
#include "symbol/dwarf_entry.h"
#include "symbol/dwarf_unit.h"
#include "symbol/line_table.h"

#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>

#define UNITS_MAX ((size_t)1 << 24)
#define ATTRIBUTES_MAX ((uint64_t)1 << 26)
#define RANGES_MAX ((uint64_t)1 << 27)

static const char *const part_names[DWARF_PART_COUNT] = {
	[DWARF_INFO] = ".debug_info",
	[DWARF_ABBREV] = ".debug_abbrev",
	[DWARF_STR] = ".debug_str",
	[DWARF_LINE_STR] = ".debug_line_str",
	[DWARF_STR_OFFSETS] = ".debug_str_offsets",
	[DWARF_ADDR] = ".debug_addr",
	[DWARF_RANGES] = ".debug_ranges",
	[DWARF_RNGLISTS] = ".debug_rnglists",
	[DWARF_LINE] = ".debug_line",
};

void dwarf_parts_of(const struct seep_elf *elf, bool split, struct dwarf_parts *ret)
{
	char name[32];

	for (int i = 0; i < DWARF_PART_COUNT; i++) {
		(void)snprintf(name, sizeof(name), "%s%s", part_names[i], split ? ".dwo" : "");
		ret->at[i] = seep_elf_section(elf, name);
	}
}

/*
 * What follows the length. False when seep cannot read such a unit, or need not: units of types
 * have no code, and compilers refer to them for types only, not for functions.
 */
static bool read_header(struct core_reader *reader, struct dwarf_unit *unit,
			uint64_t *ret_abbrev_offset)
{
	uint8_t type = DW_UT_compile;
	uint64_t address_bytes;

	unit->version = (uint16_t)core_read_number(reader, 2);
	if (unit->version < 2 || unit->version > 5)
		return false;
	if (unit->version >= 5) {
		type = core_read_byte(reader);
		address_bytes = core_read_byte(reader);
		*ret_abbrev_offset = core_read_number(reader, unit->offset_bytes);
	} else {
		*ret_abbrev_offset = core_read_number(reader, unit->offset_bytes);
		address_bytes = core_read_byte(reader);
	}
	if (type == DW_UT_skeleton || type == DW_UT_split_compile)
		unit->id = core_read_number(reader, 8);
	return !reader->failed && address_bytes == 8 && type != DW_UT_type &&
	       type != DW_UT_split_type;
}

/* Units follow each other by their lengths; one that cannot be read is passed over. */
static void read_headers(struct dwarf_file *file)
{
	const struct seep_elf_bytes *section = &file->parts.at[DWARF_INFO];
	const struct seep_elf_bytes *abbrev = &file->parts.at[DWARF_ABBREV];
	struct core_reader reader = core_reader_of(section->data, section->bytes);

	while (core_reader_left(&reader) && file->unit_count < UNITS_MAX && !seep_work_is_over()) {
		struct dwarf_unit unit = { .file = file, .start = reader.at };
		uint64_t bytes = core_read_length(&reader, &unit.offset_bytes);
		struct core_reader header = reader;
		uint64_t abbrev_offset;

		if (reader.failed || !core_read_skip(&reader, bytes))
			return;
		header.end = unit.end = reader.at;
		if (!read_header(&header, &unit, &abbrev_offset) || abbrev_offset >= abbrev->bytes)
			continue;
		unit.entries = header.at;
		unit.abbrev = abbrev->data + abbrev_offset;
		*SEEP_APPEND(file->units, file->unit_count) = unit;
	}
}

void dwarf_file_init(struct dwarf_file *file, const struct dwarf_parts *parts)
{
	*file = (struct dwarf_file){ .parts = *parts,
				     .attributes_left = ATTRIBUTES_MAX,
				     .ranges_left = RANGES_MAX };
	/* Others point to units: after this none is added, and none moves. */
	read_headers(file);
}

void dwarf_file_done(struct dwarf_file *file)
{
	for (size_t i = 0; i < file->abbrevs_count; i++)
		dwarf_abbrevs_free(file->abbrevs[i]);
	for (size_t i = 0; i < file->unit_count; i++) {
		dwarf_unit_index_free(file->units[i].index);
		seep_line_table_free(file->units[i].lines);
	}
	seep_idtable_done(&file->abbrevs_ids);
	free(file->abbrevs);
	free(file->units);
	*file = (struct dwarf_file){ 0 };
}

/*
 * Sizes of forms depend on the unit's version and offset size, so units that differ in those do
 * not share a table. Only version 2 has sizes of its own.
 */
static const struct dwarf_abbrevs *abbrevs_of(const struct dwarf_unit *unit)
{
	struct dwarf_file *file = unit->file;
	const struct seep_elf_bytes *section = &file->parts.at[DWARF_ABBREV];
	size_t offset = (size_t)(unit->abbrev - section->data);
	/* Two that share 64 bits of hash are taken for one. */
	uint64_t key = seep_hash_mix((unit->version == 2) << 1 | (unit->offset_bytes == 8), offset);
	size_t at = SEEP_IDTABLE_START;
	uint32_t id = seep_idtable_find(&file->abbrevs_ids, key, &at);

	if (id != SEEP_IDTABLE_NONE)
		return file->abbrevs[id];
	id = (uint32_t)file->abbrevs_count;
	*SEEP_APPEND(file->abbrevs, file->abbrevs_count) =
		dwarf_abbrevs_new(core_reader_of(unit->abbrev, section->bytes - offset),
				  unit->version, unit->offset_bytes, &file->attributes_left);
	seep_idtable_add(&file->abbrevs_ids, key, id);
	return file->abbrevs[id];
}

/*
 * In a split unit bases are not said: they are after the header of the only table there. Early
 * tables have no header.
 */
static uint64_t implied_base(const struct seep_elf_bytes *section, size_t header_bytes)
{
	struct core_reader reader = core_reader_of(section->data, section->bytes);
	uint8_t offset_bytes;
	uint64_t bytes = core_read_length(&reader, &offset_bytes);

	if (offset_bytes == 8)
		header_bytes += 8;
	if (bytes > core_reader_left(&reader) || core_read_number(&reader, 2) != 5 || reader.failed)
		return 0;
	return header_bytes;
}

static void read_bases(struct dwarf_unit *unit, const struct dwarf_entry *entry)
{
	const struct dwarf_parts *parts = &unit->file->parts;
	struct dwarf_value value;

	if (unit->version >= 5) {
		unit->str_offsets_base =
			dwarf_entry_number(entry, DW_AT_str_offsets_base,
					   implied_base(&parts->at[DWARF_STR_OFFSETS], 8));
		unit->ranges_base = dwarf_entry_number(
			entry, DW_AT_rnglists_base, implied_base(&parts->at[DWARF_RNGLISTS], 12));
		unit->addr_base = dwarf_entry_number(entry, DW_AT_addr_base, 0);
	} else {
		unit->addr_base = dwarf_entry_number(entry, DW_AT_GNU_addr_base, 0);
		unit->ranges_base = dwarf_entry_number(entry, DW_AT_GNU_ranges_base, 0);
		unit->id = dwarf_entry_number(entry, DW_AT_GNU_dwo_id, 0);
	}
	unit->language = (uint32_t)dwarf_entry_number(entry, DW_AT_language, 0);
	if (dwarf_entry_find(entry, DW_AT_low_pc, &value))
		(void)dwarf_value_address(unit, &value, &unit->base_address);
}

bool dwarf_unit_prepare(struct dwarf_unit *unit)
{
	struct dwarf_entry entry;

	if (unit->prepared)
		return unit->abbrevs != NULL;
	unit->prepared = true;
	unit->abbrevs = abbrevs_of(unit);
	if (dwarf_entry_read(unit, unit->entries, &entry))
		read_bases(unit, &entry);
	else
		unit->abbrevs = NULL;
	return unit->abbrevs != NULL;
}

struct dwarf_unit *dwarf_file_unit_at(struct dwarf_file *file, const uint8_t *at)
{
	const size_t count = seep_search_upto(file->units, file->unit_count, sizeof(*file->units),
					      (uintptr_t)at);
	struct dwarf_unit *unit = count ? &file->units[count - 1] : NULL;

	return unit && at >= unit->entries && at < unit->end && dwarf_unit_prepare(unit) ? unit
											 : NULL;
}
