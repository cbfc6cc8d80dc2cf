/* SPDX-License-Identifier: MIT */
#include "symbol/dwarf_abbrev.h"

#include "base/xalloc.h"

#include <dwarf.h>
#include <stdlib.h>

struct dwarf_abbrevs {
	struct dwarf_abbrev *items; /* ascending by code */
	size_t count;
	size_t room;
	struct dwarf_attribute *attributes;
	size_t attribute_count;
	size_t attribute_room;
};

uint8_t dwarf_form_bytes(uint64_t form, uint16_t version, uint8_t offset_bytes)
{
	switch (form) {
	case DW_FORM_flag_present:
	case DW_FORM_implicit_const:
		return 0;
	case DW_FORM_data1:
	case DW_FORM_flag:
	case DW_FORM_ref1:
	case DW_FORM_strx1:
	case DW_FORM_addrx1:
		return 1;
	case DW_FORM_data2:
	case DW_FORM_ref2:
	case DW_FORM_strx2:
	case DW_FORM_addrx2:
		return 2;
	case DW_FORM_strx3:
	case DW_FORM_addrx3:
		return 3;
	case DW_FORM_data4:
	case DW_FORM_ref4:
	case DW_FORM_strx4:
	case DW_FORM_addrx4:
	case DW_FORM_ref_sup4:
		return 4;
	case DW_FORM_addr:
	case DW_FORM_data8:
	case DW_FORM_ref8:
	case DW_FORM_ref_sig8:
	case DW_FORM_ref_sup8:
		return 8;
	case DW_FORM_data16:
		return 16;
	case DW_FORM_sec_offset:
	case DW_FORM_strp:
	case DW_FORM_line_strp:
	case DW_FORM_strp_sup:
	case DW_FORM_GNU_strp_alt:
	case DW_FORM_GNU_ref_alt:
		return offset_bytes;
	case DW_FORM_ref_addr:
		return version == 2 ? 8 : offset_bytes;
	default:
		return DWARF_VARIES;
	}
}

static void add_attribute(struct dwarf_abbrevs *abbrevs, const struct dwarf_attribute *attribute)
{
	abbrevs->attributes = seep_xgrow(abbrevs->attributes, &abbrevs->attribute_room,
					 abbrevs->attribute_count + 1,
					 sizeof(*abbrevs->attributes));
	abbrevs->attributes[abbrevs->attribute_count++] = *attribute;
}

static void note_attribute(struct dwarf_abbrev *abbrev, const struct dwarf_attribute *attribute)
{
	abbrev->attribute_count++;
	abbrev->has_code |= attribute->name == DW_AT_low_pc || attribute->name == DW_AT_ranges;
	if (attribute->bytes == DWARF_VARIES || abbrev->fixed_bytes > UINT16_MAX)
		abbrev->fixed_bytes = UINT32_MAX;
	else
		abbrev->fixed_bytes += attribute->bytes;
}

/* The pairs of name and form up to two zeros. False when the table ends before. */
static bool read_attributes(struct dwarf_abbrevs *abbrevs, struct dwarf_abbrev *abbrev,
			    struct byte_reader *table, uint16_t version, uint8_t offset_bytes,
			    uint64_t *attributes_left)
{
	while (*attributes_left) {
		struct dwarf_attribute attribute = { 0 };
		uint64_t name = reader_uleb(table);
		uint64_t form = reader_uleb(table);

		if (form == DW_FORM_implicit_const)
			attribute.implicit = reader_sleb(table);
		if (table->failed || form > UINT16_MAX)
			return false;
		if (name == 0 && form == 0)
			return true;
		(*attributes_left)--;
		attribute.name = name > UINT16_MAX ? 0 : (uint16_t)name;
		attribute.form = (uint16_t)form;
		attribute.bytes = dwarf_form_bytes(form, version, offset_bytes);
		add_attribute(abbrevs, &attribute);
		note_attribute(abbrev, &attribute);
	}
	return false;
}

static int compare(const void *a, const void *b)
{
	const struct dwarf_abbrev *x = a;
	const struct dwarf_abbrev *y = b;

	return (x->code > y->code) - (x->code < y->code);
}

/* Attributes moved while there were more of them; compilers count codes up, so sorting is rare. */
static void finish(struct dwarf_abbrevs *abbrevs)
{
	const struct dwarf_attribute *attributes = abbrevs->attributes;
	bool sorted = true;
	size_t i;

	for (i = 0; i < abbrevs->count; i++) {
		abbrevs->items[i].attributes = attributes;
		/* There may be none at all, and a null pointer must not be added to. */
		if (abbrevs->items[i].attribute_count)
			attributes += abbrevs->items[i].attribute_count;
		sorted &= i == 0 || abbrevs->items[i - 1].code < abbrevs->items[i].code;
	}
	if (!sorted)
		qsort(abbrevs->items, abbrevs->count, sizeof(*abbrevs->items), compare);
}

struct dwarf_abbrevs *dwarf_abbrevs_new(struct byte_reader table, uint16_t version,
					uint8_t offset_bytes, uint64_t *attributes_left)
{
	struct dwarf_abbrevs *abbrevs = seep_xcalloc(1, sizeof(*abbrevs));
	uint64_t code;

	while ((code = reader_uleb(&table)) != 0 && *attributes_left) {
		struct dwarf_abbrev abbrev = { .code = code };

		/* One without attributes costs as much as one with them. */
		(*attributes_left)--;
		abbrev.tag = (uint16_t)reader_uleb(&table);
		abbrev.has_children = reader_byte(&table) != 0;
		if (!read_attributes(abbrevs, &abbrev, &table, version, offset_bytes,
				     attributes_left))
			break;
		abbrevs->items = seep_xgrow(abbrevs->items, &abbrevs->room, abbrevs->count + 1,
					    sizeof(abbrev));
		abbrevs->items[abbrevs->count++] = abbrev;
	}
	finish(abbrevs);
	return abbrevs;
}

void dwarf_abbrevs_free(struct dwarf_abbrevs *abbrevs)
{
	if (!abbrevs)
		return;
	free(abbrevs->items);
	free(abbrevs->attributes);
	free(abbrevs);
}

const struct dwarf_abbrev *dwarf_abbrevs_find(const struct dwarf_abbrevs *abbrevs, uint64_t code)
{
	size_t low = 0;
	size_t high = abbrevs->count;

	/* Nearly always codes are 1, 2, 3 and so on. */
	if (code - 1 < abbrevs->count && abbrevs->items[code - 1].code == code)
		return &abbrevs->items[code - 1];
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (abbrevs->items[middle].code < code)
			low = middle + 1;
		else
			high = middle;
	}
	return low < abbrevs->count && abbrevs->items[low].code == code ? &abbrevs->items[low]
									: NULL;
}
