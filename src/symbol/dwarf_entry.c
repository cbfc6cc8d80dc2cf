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

/* The length that stands before the bytes of a block. */
static bool read_block(struct byte_reader *reader, uint64_t bytes)
{
	return !reader->failed && reader_skip(reader, bytes);
}

static bool read_varying(const struct dwarf_unit *unit, uint64_t form, struct byte_reader *reader,
			 struct dwarf_value *ret)
{
	uint8_t bytes;

	switch (form) {
	case DW_FORM_string:
		ret->bytes = reader->at;
		(void)reader_string(reader);
		return !reader->failed;
	case DW_FORM_udata:
	case DW_FORM_ref_udata:
	case DW_FORM_strx:
	case DW_FORM_addrx:
	case DW_FORM_loclistx:
	case DW_FORM_rnglistx:
	case DW_FORM_GNU_addr_index:
	case DW_FORM_GNU_str_index:
		ret->number = reader_uleb(reader);
		return !reader->failed;
	case DW_FORM_sdata:
		ret->number = (uint64_t)reader_sleb(reader);
		return !reader->failed;
	case DW_FORM_exprloc:
	case DW_FORM_block:
		return read_block(reader, reader_uleb(reader));
	case DW_FORM_block1:
		return read_block(reader, reader_number(reader, 1));
	case DW_FORM_block2:
		return read_block(reader, reader_number(reader, 2));
	case DW_FORM_block4:
		return read_block(reader, reader_number(reader, 4));
	case DW_FORM_indirect:
		form = reader_uleb(reader);
		bytes = dwarf_form_bytes(form, unit->version, unit->offset_bytes);
		if (form == DW_FORM_indirect || form == DW_FORM_implicit_const)
			return false;
		ret->form = (uint16_t)form;
		if (bytes == DWARF_VARIES)
			return read_varying(unit, form, reader, ret);
		ret->number = bytes <= 8 ? reader_number(reader, bytes) : 0;
		return bytes <= 8 ? !reader->failed : reader_skip(reader, bytes);
	default:
		return false;
	}
}

bool dwarf_value_read(const struct dwarf_unit *unit, const struct dwarf_attribute *attribute,
		      struct byte_reader *reader, struct dwarf_value *ret)
{
	*ret = (struct dwarf_value){ .form = attribute->form,
				     .number = (uint64_t)attribute->implicit };
	if (attribute->bytes == DWARF_VARIES)
		return read_varying(unit, attribute->form, reader, ret);
	if (attribute->bytes == 0)
		return true;
	if (attribute->bytes > 8)
		return reader_skip(reader, attribute->bytes);
	ret->number = reader_number(reader, attribute->bytes);
	return !reader->failed;
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
		const struct dwarf_attribute *attribute = &abbrev->attributes[i];

		if (attribute->name == DW_AT_sibling) {
			if (!dwarf_value_read(entry->unit, attribute, &reader, &value))
				return NULL;
			/* Backward would be for ever. */
			if (value.form != DW_FORM_ref_addr &&
			    value.number < (uint64_t)(entry->unit->end - entry->unit->start) &&
			    entry->unit->start + value.number > reader.at)
				*ret_sibling = entry->unit->start + value.number;
		} else if (attribute->bytes != DWARF_VARIES) {
			if (!reader_skip(&reader, attribute->bytes))
				return NULL;
		} else if (!dwarf_value_read(entry->unit, attribute, &reader, &value)) {
			return NULL;
		}
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
	for (i = 0; i <= last; i++) {
		const struct dwarf_attribute *attribute = &abbrev->attributes[i];

		if (i < last && attribute->bytes != DWARF_VARIES) {
			if (!reader_skip(&reader, attribute->bytes))
				return false;
		} else if (!dwarf_value_read(entry->unit, attribute, &reader, ret)) {
			return false;
		}
	}
	return true;
}

bool dwarf_value_number(const struct dwarf_value *value, uint64_t *ret)
{
	switch (value->form) {
	case DW_FORM_data1:
	case DW_FORM_data2:
	case DW_FORM_data4:
	case DW_FORM_data8:
	case DW_FORM_udata:
	case DW_FORM_sdata:
	case DW_FORM_implicit_const:
	case DW_FORM_sec_offset:
		*ret = value->number;
		return true;
	default:
		return false;
	}
}

/* Item @index of a table of numbers of @bytes each. */
static bool table_item(const struct seep_elf_bytes *table, uint64_t base, uint64_t index,
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
	switch (value->form) {
	case DW_FORM_addr:
		*ret = value->number;
		return true;
	case DW_FORM_addrx:
	case DW_FORM_addrx1:
	case DW_FORM_addrx2:
	case DW_FORM_addrx3:
	case DW_FORM_addrx4:
	case DW_FORM_GNU_addr_index:
		return table_item(&unit->file->parts.at[DWARF_ADDR], unit->addr_base, value->number,
				  8, ret);
	default:
		return false;
	}
}

const char *dwarf_value_text(const struct dwarf_unit *unit, const struct dwarf_value *value)
{
	const struct dwarf_file *file = unit->file;
	uint64_t offset;

	switch (value->form) {
	case DW_FORM_string:
		return (const char *)value->bytes;
	case DW_FORM_strp:
		return dwarf_text_at(&file->parts, DWARF_STR, value->number);
	case DW_FORM_line_strp:
		return dwarf_text_at(&file->parts, DWARF_LINE_STR, value->number);
	case DW_FORM_strp_sup:
	case DW_FORM_GNU_strp_alt:
		return file->alternate
			       ? dwarf_text_at(&file->alternate->parts, DWARF_STR, value->number)
			       : NULL;
	case DW_FORM_strx:
	case DW_FORM_strx1:
	case DW_FORM_strx2:
	case DW_FORM_strx3:
	case DW_FORM_strx4:
	case DW_FORM_GNU_str_index:
		if (!table_item(&file->parts.at[DWARF_STR_OFFSETS], unit->str_offsets_base,
				value->number, unit->offset_bytes, &offset))
			return NULL;
		return dwarf_text_at(&file->parts, DWARF_STR, offset);
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

bool dwarf_value_entry(const struct dwarf_unit *unit, const struct dwarf_value *value,
		       struct dwarf_entry *ret)
{
	struct dwarf_unit *type;

	switch (value->form) {
	case DW_FORM_ref1:
	case DW_FORM_ref2:
	case DW_FORM_ref4:
	case DW_FORM_ref8:
	case DW_FORM_ref_udata:
		if (value->number >= (uint64_t)(unit->end - unit->start))
			return false;
		return dwarf_entry_read((struct dwarf_unit *)unit, unit->start + value->number,
					ret);
	case DW_FORM_ref_addr:
		return entry_at_offset(unit->file, value->number, ret);
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_ref_sup4:
	case DW_FORM_ref_sup8:
		return entry_at_offset(unit->file->alternate, value->number, ret);
	case DW_FORM_ref_sig8:
		type = dwarf_file_type(unit->file, value->number);
		return type && type->type_offset < (uint64_t)(type->end - type->start) &&
		       dwarf_entry_read(type, type->start + type->type_offset, ret);
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

	return dwarf_entry_find(entry, name, &value) && dwarf_value_entry(entry->unit, &value, ret);
}
