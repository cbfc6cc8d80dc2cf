/* SPDX-License-Identifier: MIT */
#include "symbol/dwarf_range.h"

#include <dwarf.h>

static bool find_only_stretch(const struct dwarf_entry *entry, struct dwarf_ranges *ret)
{
	struct dwarf_value low, high;
	uint64_t bytes;

	if (!dwarf_entry_find(entry, DW_AT_low_pc, &low) ||
	    !dwarf_entry_find(entry, DW_AT_high_pc, &high) ||
	    !dwarf_value_address(entry->unit, &low, &ret->from))
		return false;
	if (dwarf_value_address(entry->unit, &high, &ret->to))
		return true;
	if (!dwarf_value_number(&high, &bytes))
		return false;
	ret->to = ret->from + bytes;
	return true;
}

static bool find_list(const struct dwarf_unit *unit, const struct dwarf_value *value,
		      struct dwarf_ranges *ret)
{
	bool is_new = unit->version >= 5;
	const struct seep_elf_bytes *section =
		&unit->file->parts.at[is_new ? DWARF_RNGLISTS : DWARF_RANGES];
	uint64_t offset;

	if (value->meaning == DWARF_LIST_INDEX) {
		/* Of the table at the base, from where its offsets count too. */
		if (!dwarf_table_item(&unit->file->parts.at[DWARF_RNGLISTS], unit->ranges_base,
				      value->number, unit->offset_bytes, &offset))
			return false;
		offset += unit->ranges_base;
	} else if (!dwarf_value_number(value, &offset)) {
		return false;
	}
	if (!is_new && unit->is_split)
		offset += unit->ranges_base;
	ret->list = reader_of(section->data, section->bytes);
	ret->kind = is_new ? DWARF_RANGES_NEW : DWARF_RANGES_OLD;
	ret->base = unit->base_address;
	return reader_skip(&ret->list, offset);
}

void dwarf_ranges_begin(const struct dwarf_entry *entry, struct dwarf_ranges *ret)
{
	struct dwarf_value list;

	*ret = (struct dwarf_ranges){ .unit = entry->unit };
	if (find_only_stretch(entry, ret))
		ret->kind = DWARF_RANGES_ONE;
	else if (!dwarf_entry_find(entry, DW_AT_ranges, &list) ||
		 !find_list(entry->unit, &list, ret))
		ret->kind = DWARF_RANGES_NONE;
}

/* Pairs of offsets from a base, which a pair that starts with -1 changes; two zeros end them. */
static bool next_old(struct dwarf_ranges *ranges, uint64_t *ret_from, uint64_t *ret_to)
{
	struct byte_reader *list = &ranges->list;

	for (;;) {
		uint64_t from = reader_number(list, 8);
		uint64_t to = reader_number(list, 8);

		if (list->failed || (from == 0 && to == 0))
			return false;
		if (from != UINT64_MAX) {
			*ret_from = ranges->base + from;
			*ret_to = ranges->base + to;
			return true;
		}
		ranges->base = to;
	}
}

static uint64_t address_of_index(struct dwarf_ranges *ranges)
{
	struct dwarf_value value = { .meaning = DWARF_ADDRESS_INDEX };
	uint64_t address = 0;

	value.number = reader_uleb(&ranges->list);
	ranges->list.failed |= !dwarf_value_address(ranges->unit, &value, &address);
	return address;
}

static bool next_new(struct dwarf_ranges *ranges, uint64_t *ret_from, uint64_t *ret_to)
{
	struct byte_reader *list = &ranges->list;

	while (!list->failed) {
		switch (reader_byte(list)) {
		case DW_RLE_base_addressx:
			ranges->base = address_of_index(ranges);
			continue;
		case DW_RLE_base_address:
			ranges->base = reader_number(list, 8);
			continue;
		case DW_RLE_startx_endx:
			*ret_from = address_of_index(ranges);
			*ret_to = address_of_index(ranges);
			break;
		case DW_RLE_startx_length:
			*ret_from = address_of_index(ranges);
			*ret_to = *ret_from + reader_uleb(list);
			break;
		case DW_RLE_offset_pair:
			*ret_from = ranges->base + reader_uleb(list);
			*ret_to = ranges->base + reader_uleb(list);
			break;
		case DW_RLE_start_end:
			*ret_from = reader_number(list, 8);
			*ret_to = reader_number(list, 8);
			break;
		case DW_RLE_start_length:
			*ret_from = reader_number(list, 8);
			*ret_to = *ret_from + reader_uleb(list);
			break;
		default:
			return false;
		}
		return !list->failed;
	}
	return false;
}

bool dwarf_ranges_next(struct dwarf_ranges *ranges, uint64_t *ret_from, uint64_t *ret_to)
{
	struct dwarf_file *file = ranges->unit->file;

	if (ranges->kind == DWARF_RANGES_NONE || file->ranges_left == 0)
		return false;
	file->ranges_left--;
	if (ranges->kind == DWARF_RANGES_OLD)
		return next_old(ranges, ret_from, ret_to);
	if (ranges->kind == DWARF_RANGES_NEW)
		return next_new(ranges, ret_from, ret_to);
	*ret_from = ranges->from;
	*ret_to = ranges->to;
	ranges->kind = DWARF_RANGES_NONE;
	return true;
}
