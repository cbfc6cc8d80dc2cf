/* SPDX-License-Identifier: MIT */
#include "symbol/dwarf_entry.h"

#include "base/work.h"

#include <dwarf.h>

bool dwarf_entry_read(struct dwarf_unit *unit, const uint8_t *at, struct dwarf_entry *ret)
{
	struct core_reader reader;
	uint64_t code;

	if (!unit->abbrevs || (uintptr_t)at < (uintptr_t)unit->entries ||
	    (uintptr_t)at >= (uintptr_t)unit->end)
		return false;
	reader = (struct core_reader){ .at = at, .end = unit->end };
	code = core_read_uleb(&reader);
	*ret = (struct dwarf_entry){ .unit = unit, .at = at, .values = reader.at };
	if (code == 0)
		return false;
	ret->abbrev = dwarf_abbrevs_find(unit->abbrevs, code);
	return ret->abbrev != NULL;
}

bool dwarf_value_read(const struct dwarf_attribute *attribute, struct core_reader *reader,
		      struct dwarf_value *ret)
{
	uint8_t bytes = attribute->form.bytes;

	*ret = (struct dwarf_value){ .meaning = attribute->form.meaning,
				     .number = (uint64_t)attribute->implicit };
	switch (bytes) {
	case 0:
		return true;
	case DWARF_ULEB:
		ret->number = core_read_uleb(reader);
		break;
	case DWARF_SLEB:
		ret->number = (uint64_t)core_read_sleb(reader);
		break;
	case DWARF_STRING:
		ret->bytes = reader->at;
		(void)core_read_string(reader);
		break;
	case DWARF_BLOCK:
		(void)core_read_skip(reader, core_read_uleb(reader));
		break;
	case DWARF_BLOCK1:
	case DWARF_BLOCK2:
	case DWARF_BLOCK4: /* of 1, 2 or 4 bytes is the length */
		(void)core_read_skip(reader,
				     core_read_number(reader, 1u << (bytes - DWARF_BLOCK1)));
		break;
	case DWARF_UNKNOWN:
		return false;
	default:
		if (bytes > 8)
			return core_read_skip(reader, bytes);
		ret->number = core_read_number(reader, bytes);
		break;
	}
	return !reader->failed;
}

static bool skip_value(const struct dwarf_attribute *attribute, struct core_reader *reader)
{
	struct dwarf_value value;

	return attribute->form.bytes < DWARF_VARIES ? core_read_skip(reader, attribute->form.bytes)
						    : dwarf_value_read(attribute, reader, &value);
}

static struct core_reader values_of(const struct dwarf_entry *entry)
{
	return (struct core_reader){ .at = entry->values, .end = entry->unit->end };
}

const uint8_t *dwarf_entry_end(const struct dwarf_entry *entry, const uint8_t **ret_sibling)
{
	const struct dwarf_abbrev *abbrev = entry->abbrev;
	struct core_reader reader = values_of(entry);
	struct dwarf_value value;

	*ret_sibling = NULL;
	if (abbrev->fixed_bytes != UINT32_MAX && !abbrev->has_children)
		return core_read_skip(&reader, abbrev->fixed_bytes) ? reader.at : NULL;
	for (uint32_t i = 0; i < abbrev->attribute_count; i++) {
		if (abbrev->attributes[i].name != DW_AT_sibling) {
			if (!skip_value(&abbrev->attributes[i], &reader))
				return NULL;
			continue;
		}
		if (!dwarf_value_read(&abbrev->attributes[i], &reader, &value))
			return NULL;
		/* Backward would be for ever. */
		if (value.meaning == DWARF_REF_UNIT &&
		    value.number < (uint64_t)(entry->unit->end - entry->unit->start) &&
		    entry->unit->start + value.number > reader.at)
			*ret_sibling = entry->unit->start + value.number;
	}
	return reader.at;
}

bool dwarf_entry_find(const struct dwarf_entry *entry, unsigned int name, struct dwarf_value *ret)
{
	const struct dwarf_abbrev *abbrev = entry->abbrev;
	struct core_reader reader = values_of(entry);

	for (uint32_t i = 0; i < abbrev->attribute_count; i++) {
		if (abbrev->attributes[i].name == name)
			return dwarf_value_read(&abbrev->attributes[i], &reader, ret);
		if (!skip_value(&abbrev->attributes[i], &reader))
			return false;
	}
	return false;
}

bool dwarf_value_number(const struct dwarf_value *value, uint64_t *ret)
{
	if (value->meaning != DWARF_NUMBER)
		return false;
	*ret = value->number;
	return true;
}

/* Item @index of a table of numbers of @bytes each, at @base in a section. False: not there. */
static bool table_item(const struct seep_elf_bytes *table, uint64_t base, uint64_t index,
		       size_t bytes, uint64_t *ret)
{
	struct core_reader reader = core_reader_of(table->data, table->bytes);

	if (index > table->bytes / bytes || !core_read_skip(&reader, base) ||
	    !core_read_skip(&reader, index * bytes))
		return false;
	*ret = core_read_number(&reader, bytes);
	return !reader.failed;
}

bool dwarf_value_address(const struct dwarf_unit *unit, const struct dwarf_value *value,
			 uint64_t *ret)
{
	if (value->meaning == DWARF_ADDRESS_INDEX)
		return table_item(&unit->file->parts.at[DWARF_ADDR], unit->addr_base, value->number,
				  8, ret);
	if (value->meaning != DWARF_ADDRESS)
		return false;
	*ret = value->number;
	return true;
}

/* The text at @offset; NULL beyond the section. A zero byte follows each section. */
static const char *text_at(const struct dwarf_parts *parts, enum dwarf_part part, uint64_t offset)
{
	const struct seep_elf_bytes *bytes = &parts->at[part];

	return offset < bytes->bytes ? (const char *)bytes->data + offset : NULL;
}

const char *dwarf_value_text(const struct dwarf_unit *unit, const struct dwarf_value *value)
{
	const struct dwarf_file *file = unit->file;
	uint64_t offset;

	switch (value->meaning) {
	case DWARF_TEXT:
		return (const char *)value->bytes;
	case DWARF_TEXT_STR:
		return text_at(&file->parts, DWARF_STR, value->number);
	case DWARF_TEXT_LINE:
		return text_at(&file->parts, DWARF_LINE_STR, value->number);
	case DWARF_TEXT_ALT:
		return file->alternate ? text_at(&file->alternate->parts, DWARF_STR, value->number)
				       : NULL;
	case DWARF_TEXT_INDEX:
		if (!table_item(&file->parts.at[DWARF_STR_OFFSETS], unit->str_offsets_base,
				value->number, unit->offset_bytes, &offset))
			return NULL;
		return text_at(&file->parts, DWARF_STR, offset);
	default:
		return NULL;
	}
}

/* The entry at an offset into the units of a file. */
static bool entry_at_offset(struct dwarf_file *file, uint64_t offset, struct dwarf_entry *ret)
{
	const struct seep_elf_bytes *info = file ? &file->parts.at[DWARF_INFO] : NULL;
	struct dwarf_unit *unit;

	if (!info || offset >= info->bytes)
		return false;
	unit = dwarf_file_unit_at(file, info->data + offset);
	return unit && dwarf_entry_read(unit, info->data + offset, ret);
}

static bool value_entry(const struct dwarf_unit *unit, const struct dwarf_value *value,
			struct dwarf_entry *ret)
{
	switch (value->meaning) {
	case DWARF_REF_UNIT:
		if (value->number >= (uint64_t)(unit->end - unit->start))
			return false;
		return dwarf_entry_read((struct dwarf_unit *)unit, unit->start + value->number,
					ret);
	case DWARF_REF_FILE:
		return entry_at_offset(unit->file, value->number, ret);
	case DWARF_REF_ALT:
		return entry_at_offset(unit->file->alternate, value->number, ret);
	default:
		return false;
	}
}

const char *dwarf_entry_text(const struct dwarf_entry *entry, unsigned int name)
{
	struct dwarf_value value;

	return dwarf_entry_find(entry, name, &value) ? dwarf_value_text(entry->unit, &value) : NULL;
}

uint64_t dwarf_entry_number(const struct dwarf_entry *entry, unsigned int name, uint64_t otherwise)
{
	struct dwarf_value value;
	uint64_t number;

	return dwarf_entry_find(entry, name, &value) && dwarf_value_number(&value, &number)
		       ? number
		       : otherwise;
}

bool dwarf_entry_follow(const struct dwarf_entry *entry, unsigned int name, struct dwarf_entry *ret)
{
	struct dwarf_value value;

	return dwarf_entry_find(entry, name, &value) && value_entry(entry->unit, &value, ret);
}

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
		if (!table_item(&unit->file->parts.at[DWARF_RNGLISTS], unit->ranges_base,
				value->number, unit->offset_bytes, &offset))
			return false;
		offset += unit->ranges_base;
	} else if (!dwarf_value_number(value, &offset)) {
		return false;
	}
	if (!is_new && unit->is_split)
		offset += unit->ranges_base;
	ret->list = core_reader_of(section->data, section->bytes);
	ret->kind = is_new ? DWARF_RANGES_NEW : DWARF_RANGES_OLD;
	ret->base = unit->base_address;
	return core_read_skip(&ret->list, offset);
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
	struct core_reader *list = &ranges->list;

	for (;;) {
		uint64_t from = core_read_number(list, 8);
		uint64_t to = core_read_number(list, 8);

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

	value.number = core_read_uleb(&ranges->list);
	ranges->list.failed |= !dwarf_value_address(ranges->unit, &value, &address);
	return address;
}

static bool next_new(struct dwarf_ranges *ranges, uint64_t *ret_from, uint64_t *ret_to)
{
	struct core_reader *list = &ranges->list;

	while (!list->failed) {
		switch (core_read_byte(list)) {
		case DW_RLE_base_addressx:
			ranges->base = address_of_index(ranges);
			continue;
		case DW_RLE_base_address:
			ranges->base = core_read_number(list, 8);
			continue;
		case DW_RLE_startx_endx:
			*ret_from = address_of_index(ranges);
			*ret_to = address_of_index(ranges);
			break;
		case DW_RLE_startx_length:
			*ret_from = address_of_index(ranges);
			*ret_to = *ret_from + core_read_uleb(list);
			break;
		case DW_RLE_offset_pair:
			*ret_from = ranges->base + core_read_uleb(list);
			*ret_to = ranges->base + core_read_uleb(list);
			break;
		case DW_RLE_start_end:
			*ret_from = core_read_number(list, 8);
			*ret_to = core_read_number(list, 8);
			break;
		case DW_RLE_start_length:
			*ret_from = core_read_number(list, 8);
			*ret_to = *ret_from + core_read_uleb(list);
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

	if (ranges->kind == DWARF_RANGES_NONE || file->ranges_left == 0 || seep_work_is_over())
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
