/* SPDX-License-Identifier: MIT */
/*
 * .debug_cu_index is a hash table from ids to rows, and two tables of rows and columns: where the
 * part of each section starts, and how long it is. Version 2 is GNU's, version 5 the standard's;
 * they differ in what the columns' numbers mean.
 */
#include "symbol/dwarf_package.h"

#include "symbol/byte_reader.h"

enum { COLUMNS_MAX = 16, SLOTS_MAX = 1 << 26 };

struct package_index {
	uint32_t version;
	uint32_t column_count;
	uint32_t row_count;
	uint32_t slot_count;
	struct seep_elf_bytes bytes; /* what follows the header */
};

static bool read_index(const struct seep_elf *elf, struct package_index *ret)
{
	struct seep_elf_bytes section = seep_elf_section(elf, ".debug_cu_index");
	struct byte_reader reader = reader_of(section.data, section.bytes);
	uint64_t needed;

	/* Version 5 is a half word and a zero one. */
	ret->version = (uint32_t)reader_number(&reader, 4);
	ret->column_count = (uint32_t)reader_number(&reader, 4);
	ret->row_count = (uint32_t)reader_number(&reader, 4);
	ret->slot_count = (uint32_t)reader_number(&reader, 4);
	if (reader.failed || (ret->version != 2 && ret->version != 5) ||
	    ret->column_count > COLUMNS_MAX || ret->slot_count > SLOTS_MAX ||
	    ret->row_count > ret->slot_count || (ret->slot_count & (ret->slot_count - 1)) != 0)
		return false;
	ret->bytes = (struct seep_elf_bytes){ reader.at, reader_left(&reader) };
	needed = (uint64_t)ret->slot_count * 12 +
		 (uint64_t)ret->column_count * 4 * (1 + 2 * (uint64_t)ret->row_count);
	return needed <= ret->bytes.bytes;
}

static uint64_t number_at(const struct package_index *index, uint64_t offset, size_t bytes)
{
	uint64_t value = 0;

	memcpy(&value, index->bytes.data + offset, bytes);
	return value;
}

/* The row of @id, from 1; 0: it is not there. */
static uint32_t find_row(const struct package_index *index, uint64_t id)
{
	uint64_t mask = (uint64_t)index->slot_count - 1;
	uint64_t slot = id & mask;
	uint32_t steps;

	for (steps = 0; steps < index->slot_count; steps++) {
		uint64_t found = number_at(index, slot * 8, 8);
		uint64_t row = number_at(index, (uint64_t)index->slot_count * 8 + slot * 4, 4);

		if (row == 0 || row > index->row_count)
			return 0;
		if (found == id)
			return (uint32_t)row;
		slot = (slot + ((id >> 32 & mask) | 1)) & mask;
	}
	return 0;
}

static enum dwarf_part part_of_column(uint32_t version, uint64_t column)
{
	switch (column) {
	case 1:
		return DWARF_INFO;
	case 2:
		return version == 2 ? DWARF_TYPES : DWARF_PART_COUNT;
	case 3:
		return DWARF_ABBREV;
	case 4:
		return DWARF_LINE;
	case 6:
		return DWARF_STR_OFFSETS;
	case 8:
		return version == 5 ? DWARF_RNGLISTS : DWARF_PART_COUNT;
	default:
		return DWARF_PART_COUNT;
	}
}

static bool cut(struct seep_elf_bytes *part, uint64_t from, uint64_t bytes)
{
	if (from > part->bytes || bytes > part->bytes - from)
		return false;
	part->data += from;
	part->bytes = bytes;
	return true;
}

bool dwarf_package_find(const struct seep_elf *elf, uint64_t id, struct dwarf_parts *ret)
{
	struct package_index index;
	uint64_t columns_at;
	uint64_t offsets_at;
	uint64_t sizes_at;
	uint32_t row;
	uint32_t i;

	if (!read_index(elf, &index))
		return false;
	row = find_row(&index, id);
	if (row == 0)
		return false;
	dwarf_parts_of(elf, true, ret);
	columns_at = (uint64_t)index.slot_count * 12;
	offsets_at = columns_at + (uint64_t)index.column_count * 4 * row;
	sizes_at = offsets_at + (uint64_t)index.column_count * 4 * index.row_count;
	for (i = 0; i < index.column_count; i++) {
		enum dwarf_part part = part_of_column(index.version,
						      number_at(&index, columns_at + 4 * i, 4));

		if (part != DWARF_PART_COUNT &&
		    !cut(&ret->at[part], number_at(&index, offsets_at + 4 * i, 4),
			 number_at(&index, sizes_at + 4 * i, 4)))
			return false;
	}
	return true;
}
