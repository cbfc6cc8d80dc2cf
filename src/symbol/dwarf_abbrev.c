/* SPDX-License-Identifier: MIT */
#include "symbol/dwarf_abbrev.h"

#include "base/search.h"
#include "base/work.h"
#include "base/xalloc.h"

#include <dwarf.h>
#include <stdlib.h>

struct dwarf_abbrevs {
	struct dwarf_abbrev *items; /* ascending by code */
	size_t count;
	struct dwarf_attribute *attributes;
	size_t attribute_count;
};

/* Only in the table: as many bytes as an offset. */
enum { OFFSET = DWARF_UNKNOWN + 1 };

static const struct dwarf_form forms[] = {
	[DW_FORM_addr] = { 8, DWARF_ADDRESS },
	[DW_FORM_block2] = { DWARF_BLOCK2, DWARF_OTHER },
	[DW_FORM_block4] = { DWARF_BLOCK4, DWARF_OTHER },
	[DW_FORM_data2] = { 2, DWARF_NUMBER },
	[DW_FORM_data4] = { 4, DWARF_NUMBER },
	[DW_FORM_data8] = { 8, DWARF_NUMBER },
	[DW_FORM_string] = { DWARF_STRING, DWARF_TEXT },
	[DW_FORM_block] = { DWARF_BLOCK, DWARF_OTHER },
	[DW_FORM_block1] = { DWARF_BLOCK1, DWARF_OTHER },
	[DW_FORM_data1] = { 1, DWARF_NUMBER },
	[DW_FORM_flag] = { 1, DWARF_OTHER },
	[DW_FORM_sdata] = { DWARF_SLEB, DWARF_NUMBER },
	[DW_FORM_strp] = { OFFSET, DWARF_TEXT_STR },
	[DW_FORM_udata] = { DWARF_ULEB, DWARF_NUMBER },
	[DW_FORM_ref_addr] = { OFFSET, DWARF_REF_FILE },
	[DW_FORM_ref1] = { 1, DWARF_REF_UNIT },
	[DW_FORM_ref2] = { 2, DWARF_REF_UNIT },
	[DW_FORM_ref4] = { 4, DWARF_REF_UNIT },
	[DW_FORM_ref8] = { 8, DWARF_REF_UNIT },
	[DW_FORM_ref_udata] = { DWARF_ULEB, DWARF_REF_UNIT },
	[DW_FORM_sec_offset] = { OFFSET, DWARF_NUMBER },
	[DW_FORM_exprloc] = { DWARF_BLOCK, DWARF_OTHER },
	[DW_FORM_flag_present] = { 0, DWARF_OTHER },
	[DW_FORM_strx] = { DWARF_ULEB, DWARF_TEXT_INDEX },
	[DW_FORM_addrx] = { DWARF_ULEB, DWARF_ADDRESS_INDEX },
	[DW_FORM_ref_sup4] = { 4, DWARF_REF_ALT },
	[DW_FORM_strp_sup] = { OFFSET, DWARF_TEXT_ALT },
	[DW_FORM_data16] = { 16, DWARF_OTHER },
	[DW_FORM_line_strp] = { OFFSET, DWARF_TEXT_LINE },
	[DW_FORM_ref_sig8] = { 8, DWARF_OTHER },
	[DW_FORM_implicit_const] = { 0, DWARF_NUMBER },
	[DW_FORM_loclistx] = { DWARF_ULEB, DWARF_OTHER },
	[DW_FORM_rnglistx] = { DWARF_ULEB, DWARF_LIST_INDEX },
	[DW_FORM_ref_sup8] = { 8, DWARF_REF_ALT },
	[DW_FORM_strx1] = { 1, DWARF_TEXT_INDEX },
	[DW_FORM_strx2] = { 2, DWARF_TEXT_INDEX },
	[DW_FORM_strx3] = { 3, DWARF_TEXT_INDEX },
	[DW_FORM_strx4] = { 4, DWARF_TEXT_INDEX },
	[DW_FORM_addrx1] = { 1, DWARF_ADDRESS_INDEX },
	[DW_FORM_addrx2] = { 2, DWARF_ADDRESS_INDEX },
	[DW_FORM_addrx3] = { 3, DWARF_ADDRESS_INDEX },
	[DW_FORM_addrx4] = { 4, DWARF_ADDRESS_INDEX },
};

/* What GNU had before the standard, as the standard has it. */
static uint64_t standard_form(uint64_t form)
{
	switch (form) {
	case DW_FORM_GNU_addr_index:
		return DW_FORM_addrx;
	case DW_FORM_GNU_str_index:
		return DW_FORM_strx;
	case DW_FORM_GNU_strp_alt:
		return DW_FORM_strp_sup;
	default:
		return form;
	}
}

struct dwarf_form dwarf_form_of(uint64_t form, uint16_t version, uint8_t offset_bytes)
{
	struct dwarf_form found = { 0 };

	if (form == DW_FORM_GNU_ref_alt)
		return (struct dwarf_form){ offset_bytes, DWARF_REF_ALT };
	if (form == DW_FORM_ref_addr && version == 2)
		return (struct dwarf_form){ 8, DWARF_REF_FILE };
	form = standard_form(form);
	if (form < sizeof(forms) / sizeof(forms[0]))
		found = forms[form];
	if (found.bytes == OFFSET)
		found.bytes = offset_bytes;
	else if (found.bytes == 0 && form != DW_FORM_flag_present && form != DW_FORM_implicit_const)
		found.bytes = DWARF_UNKNOWN;
	return found;
}

static void note_attribute(struct dwarf_abbrev *abbrev, const struct dwarf_attribute *attribute)
{
	abbrev->attribute_count++;
	abbrev->has_code |= attribute->name == DW_AT_low_pc || attribute->name == DW_AT_ranges;
	if (attribute->form.bytes >= DWARF_VARIES || abbrev->fixed_bytes > UINT16_MAX)
		abbrev->fixed_bytes = UINT32_MAX;
	else
		abbrev->fixed_bytes += attribute->form.bytes;
}

/* The pairs of name and form up to two zeros. False when the table ends before. */
static bool read_attributes(struct dwarf_abbrevs *abbrevs, struct dwarf_abbrev *abbrev,
			    struct core_reader *table, uint16_t version, uint8_t offset_bytes,
			    uint64_t *attributes_left)
{
	while (*attributes_left && !seep_work_is_over()) {
		struct dwarf_attribute attribute = { 0 };
		uint64_t name = core_read_uleb(table);
		uint64_t form = core_read_uleb(table);

		if (form == DW_FORM_implicit_const)
			attribute.implicit = core_read_sleb(table);
		if (table->failed)
			return false;
		if (name == 0 && form == 0)
			return true;
		(*attributes_left)--;
		attribute.name = name > UINT16_MAX ? 0 : (uint16_t)name;
		attribute.form = dwarf_form_of(form, version, offset_bytes);
		*SEEP_APPEND(abbrevs->attributes, abbrevs->attribute_count) = attribute;
		note_attribute(abbrev, &attribute);
	}
	return false;
}

/* Attributes moved while there were more of them; compilers count codes up, so sorting is rare. */
static void finish(struct dwarf_abbrevs *abbrevs)
{
	const struct dwarf_attribute *attributes = abbrevs->attributes;
	bool sorted = true;

	for (size_t i = 0; i < abbrevs->count; i++) {
		abbrevs->items[i].attributes = attributes;
		/* There may be none at all, and a null pointer must not be added to. */
		if (abbrevs->items[i].attribute_count)
			attributes += abbrevs->items[i].attribute_count;
		sorted &= i == 0 || abbrevs->items[i - 1].code < abbrevs->items[i].code;
	}
	if (!sorted)
		seep_search_sort(abbrevs->items, abbrevs->count, sizeof(*abbrevs->items));
}

struct dwarf_abbrevs *dwarf_abbrevs_new(struct core_reader table, uint16_t version,
					uint8_t offset_bytes, uint64_t *attributes_left)
{
	struct dwarf_abbrevs *abbrevs = seep_xcalloc(1, sizeof(*abbrevs));
	uint64_t code;

	while ((code = core_read_uleb(&table)) != 0 && *attributes_left && !seep_work_is_over()) {
		struct dwarf_abbrev abbrev = { .code = code };

		/* One without attributes costs as much as one with them. */
		(*attributes_left)--;
		abbrev.tag = (uint16_t)core_read_uleb(&table);
		abbrev.has_children = core_read_byte(&table) != 0;
		if (!read_attributes(abbrevs, &abbrev, &table, version, offset_bytes,
				     attributes_left))
			break;
		*SEEP_APPEND(abbrevs->items, abbrevs->count) = abbrev;
	}
	finish(abbrevs);
	return abbrevs;
}

void dwarf_abbrevs_free(struct dwarf_abbrevs *abbrevs)
{
	free(abbrevs->items);
	free(abbrevs->attributes);
	free(abbrevs);
}

const struct dwarf_abbrev *dwarf_abbrevs_find(const struct dwarf_abbrevs *abbrevs, uint64_t code)
{
	/* Nearly always codes are 1, 2, 3 and so on. */
	if (code - 1 < abbrevs->count && abbrevs->items[code - 1].code == code)
		return &abbrevs->items[code - 1];
	return seep_search_item(abbrevs->items, abbrevs->count, sizeof(*abbrevs->items), code);
}
