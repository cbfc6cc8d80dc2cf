/* SPDX-License-Identifier: MIT */
/* The variable-length forms of numbers in unwind data. */
#include "cfi/cfi_read.h"

struct core_leb cfi_leb(uintptr_t at, uintptr_t end, uint8_t sign)
{
	return core_leb(at, end, sign);
}

/* The number alone; @form is known to be one of these. */
static uint64_t read_form(struct cfi_reader *r, unsigned form)
{
	switch (form) {
	case CFI_PE_ULEB:
		return cfi_read_uleb(r);
	case CFI_PE_UDATA2:
		return cfi_read_number(r, 2);
	case CFI_PE_UDATA4:
		return cfi_read_number(r, 4);
	case CFI_PE_SIGNED | CFI_PE_ULEB:
		return (uint64_t)cfi_read_sleb(r);
	case CFI_PE_SIGNED | CFI_PE_UDATA2:
		return (uint64_t)(int16_t)cfi_read_number(r, 2);
	case CFI_PE_SIGNED | CFI_PE_UDATA4:
		return (uint64_t)(int32_t)cfi_read_number(r, 4);
	default:
		return cfi_read_number(r, 8);
	}
}

bool cfi_read_encoded(struct cfi_reader *r, uint8_t encoding, uintptr_t data_base,
		      uintptr_t *ret_value)
{
	unsigned form = encoding & CFI_PE_FORM_MASK;
	unsigned base = encoding & CFI_PE_BASE_MASK;
	uintptr_t at = r->at;
	uint64_t value;

	if ((form & CFI_PE_SIZE_MASK) > CFI_PE_UDATA8 || (encoding & CFI_PE_INDIRECT))
		return false;
	if (base != CFI_PE_ABSPTR && base != CFI_PE_PCREL &&
	    (base != CFI_PE_DATAREL || data_base == 0))
		return false;
	value = read_form(r, form);
	if (base == CFI_PE_PCREL)
		value += at;
	else if (base == CFI_PE_DATAREL)
		value += data_base;
	*ret_value = r->bad ? 0 : value;
	return true;
}
