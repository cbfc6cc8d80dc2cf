/* SPDX-License-Identifier: MIT */
/* The variable-length forms of numbers in unwind data. */
#include "cfi/cfi_read.h"

enum { LEB_BYTES_MAX = 10 };

/* Gives the payload and, in @ret_shift, how many bits of it were present. */
static uint64_t read_leb(struct cfi_reader *r, unsigned *ret_shift, uint8_t *ret_last)
{
	uint64_t value = 0;
	unsigned shift = 0;

	for (int i = 0; i < LEB_BYTES_MAX; i++) {
		uint8_t byte = cfi_read_u8(r);

		value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
		if (!(byte & 0x80)) {
			*ret_shift = shift;
			*ret_last = byte;
			return value;
		}
	}
	r->at = r->end;
	r->bad = true;
	*ret_shift = 64;
	*ret_last = 0;
	return 0;
}

uint64_t cfi_read_uleb(struct cfi_reader *r)
{
	unsigned shift;
	uint8_t last;

	return read_leb(r, &shift, &last);
}

int64_t cfi_read_sleb(struct cfi_reader *r)
{
	unsigned shift;
	uint8_t last;
	uint64_t value = read_leb(r, &shift, &last);

	if (shift < 64 && (last & 0x40))
		value |= ~UINT64_C(0) << shift;
	return (int64_t)value;
}

/* The number alone; @form is known to be one of these. */
static uint64_t read_form(struct cfi_reader *r, unsigned form)
{
	switch (form) {
	case CFI_PE_ULEB:
		return cfi_read_uleb(r);
	case CFI_PE_UDATA2:
		return cfi_read_u16(r);
	case CFI_PE_UDATA4:
		return cfi_read_u32(r);
	case CFI_PE_SIGNED | CFI_PE_ULEB:
		return (uint64_t)cfi_read_sleb(r);
	case CFI_PE_SIGNED | CFI_PE_UDATA2:
		return (uint64_t)(int16_t)cfi_read_u16(r);
	case CFI_PE_SIGNED | CFI_PE_UDATA4:
		return (uint64_t)(int32_t)cfi_read_u32(r);
	default:
		return cfi_read_u64(r);
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
