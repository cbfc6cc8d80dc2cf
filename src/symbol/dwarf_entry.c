/* SPDX-License-Identifier: MIT */
#include "symbol/dwarf_entry.h"

#include <dwarf.h>

bool dwarf_entry_read(struct dwarf_unit *unit, const uint8_t *at, struct dwarf_entry *ret)
{
	struct byte_reader reader;
	uint64_t code;

	if (!unit->abbrevs || (uintptr_t)at < (uintptr_t)unit->entries ||
	    (uintptr_t)at >= (uintptr_t)unit->end)
		return false;
	reader = (struct byte_reader){ .at = at, .end = unit->end };
	code = reader_uleb(&reader);
	*ret = (struct dwarf_entry){ .unit = unit, .at = at, .values = reader.at };
	if (code == 0)
		return false;
	ret->abbrev = dwarf_abbrevs_find(unit->abbrevs, code);
	return ret->abbrev != NULL;
}

bool dwarf_value_read(const struct dwarf_attribute *attribute, struct byte_reader *reader,
		      struct dwarf_value *ret)
{
	uint8_t bytes = attribute->form.bytes;

	*ret = (struct dwarf_value){ .meaning = attribute->form.meaning,
				     .number = (uint64_t)attribute->implicit };
	switch (bytes) {
	case 0:
		return true;
	case DWARF_ULEB:
		ret->number = reader_uleb(reader);
		break;
	case DWARF_SLEB:
		ret->number = (uint64_t)reader_sleb(reader);
		break;
	case DWARF_STRING:
		ret->bytes = reader->at;
		(void)reader_string(reader);
		break;
	case DWARF_BLOCK:
		(void)reader_skip(reader, reader_uleb(reader));
		break;
	case DWARF_BLOCK1:
		(void)reader_skip(reader, reader_number(reader, 1));
		break;
	case DWARF_BLOCK2:
		(void)reader_skip(reader, reader_number(reader, 2));
		break;
	case DWARF_BLOCK4:
		(void)reader_skip(reader, reader_number(reader, 4));
		break;
	case DWARF_UNKNOWN:
		return false;
	default:
		if (bytes > 8)
			return reader_skip(reader, bytes);
		ret->number = reader_number(reader, bytes);
		break;
	}
	return !reader->failed;
}

static bool skip_value(const struct dwarf_attribute *attribute, struct byte_reader *reader)
{
	struct dwarf_value value;

	return attribute->form.bytes < DWARF_VARIES ? reader_skip(reader, attribute->form.bytes)
						    : dwarf_value_read(attribute, reader, &value);
}

static struct byte_reader values_of(const struct dwarf_entry *entry)
{
	return (struct byte_reader){ .at = entry->values, .end = entry->unit->end };
}

const uint8_t *dwarf_entry_end(const struct dwarf_entry *entry, const uint8_t **ret_sibling)
{
	const struct dwarf_abbrev *abbrev = entry->abbrev;
	struct byte_reader reader = values_of(entry);
	struct dwarf_value value;
	uint32_t i;

	*ret_sibling = NULL;
	if (abbrev->fixed_bytes != UINT32_MAX && !abbrev->has_children)
		return reader_skip(&reader, abbrev->fixed_bytes) ? reader.at : NULL;
	for (i = 0; i < abbrev->attribute_count; i++) {
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
	struct byte_reader reader = values_of(entry);
	uint32_t last;
	uint32_t i;

	for (last = 0; last < abbrev->attribute_count; last++)
		if (abbrev->attributes[last].name == name)
			break;
	if (last == abbrev->attribute_count)
		return false;
	for (i = 0; i < last; i++)
		if (!skip_value(&abbrev->attributes[i], &reader))
			return false;
	return dwarf_value_read(&abbrev->attributes[last], &reader, ret);
}

bool dwarf_value_number(const struct dwarf_value *value, uint64_t *ret)
{
	if (value->meaning != DWARF_NUMBER)
		return false;
	*ret = value->number;
	return true;
}

bool dwarf_table_item(const struct seep_elf_bytes *table, uint64_t base, uint64_t index,
		      size_t bytes, uint64_t *ret)
{
	struct byte_reader reader = reader_of(table->data, table->bytes);

	if (index > table->bytes / bytes || !reader_skip(&reader, base) ||
	    !reader_skip(&reader, index * bytes))
		return false;
	*ret = reader_number(&reader, bytes);
	return !reader.failed;
}

bool dwarf_value_address(const struct dwarf_unit *unit, const struct dwarf_value *value,
			 uint64_t *ret)
{
	if (value->meaning == DWARF_ADDRESS_INDEX)
		return dwarf_table_item(&unit->file->parts.at[DWARF_ADDR], unit->addr_base,
					value->number, 8, ret);
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
		if (!dwarf_table_item(&file->parts.at[DWARF_STR_OFFSETS], unit->str_offsets_base,
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
