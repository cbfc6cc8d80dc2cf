/* SPDX-License-Identifier: MIT */
/*
 * A bounded reader over mapped unwind data. Addresses are integers here: hostile lengths must not
 * be able to overflow a pointer.
 */
#ifndef SEEP_CFI_CFI_READ_H
#define SEEP_CFI_CFI_READ_H

#include "core/leb.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads nothing at or above @end. Reading past it yields 0, sets @bad for good and empties it. */
struct cfi_reader {
	uintptr_t at, end;
	bool bad;
};

/* Pointer encodings (DW_EH_PE_*): the low three bits are the size, bit 3 signedness. */
enum {
	CFI_PE_ABSPTR = 0x00,
	CFI_PE_ULEB = 0x01,
	CFI_PE_UDATA2 = 0x02,
	CFI_PE_UDATA4 = 0x03,
	CFI_PE_UDATA8 = 0x04,
	CFI_PE_SIZE_MASK = 0x07,
	CFI_PE_SIGNED = 0x08,
	CFI_PE_FORM_MASK = 0x0f,
	CFI_PE_PCREL = 0x10,
	CFI_PE_DATAREL = 0x30,
	CFI_PE_ALIGNED = 0x50,
	CFI_PE_BASE_MASK = 0x70,
	CFI_PE_INDIRECT = 0x80,
	CFI_PE_OMIT = 0xff,
};

/* A load that may be unaligned and alias anything, of a constant number of bytes up to 8. */
static inline uint64_t cfi_load(uintptr_t at, size_t bytes)
{
	uint64_t value = 0;

	__builtin_memcpy(&value, (const void *)at, bytes);
	return value;
}

static inline bool cfi_read_have(struct cfi_reader *r, size_t bytes)
{
	if (__builtin_expect(r->end - r->at >= bytes, 1))
		return true;
	r->at = r->end;
	r->bad = true;
	return false;
}

static inline uint64_t cfi_read_number(struct cfi_reader *r, size_t bytes)
{
	if (!cfi_read_have(r, bytes))
		return 0;
	r->at += bytes;
	return cfi_load(r->at - bytes, bytes);
}

static inline uint8_t cfi_read_u8(struct cfi_reader *r)
{
	return (uint8_t)cfi_read_number(r, 1);
}

static inline void cfi_read_skip(struct cfi_reader *r, uint64_t bytes)
{
	if (cfi_read_have(r, bytes))
		r->at += bytes;
}

/* core_leb(), once for all that read such numbers. */
struct core_leb cfi_leb(uintptr_t at, uintptr_t end, uint8_t sign);

static inline uint64_t cfi_read_leb_accept(struct cfi_reader *r, struct core_leb leb)
{
	r->bad |= leb.next == 0;
	r->at = leb.next ? leb.next : r->end;
	return leb.value;
}

/* LEB128 numbers of at most ten bytes; a longer one is bad. Bits above 64 are dropped. */
static inline uint64_t cfi_read_uleb(struct cfi_reader *r)
{
	if (r->at < r->end && *(const uint8_t *)r->at < 0x80)
		return *(const uint8_t *)r->at++;
	return cfi_read_leb_accept(r, cfi_leb(r->at, r->end, CORE_LEB_UNSIGNED));
}

static inline int64_t cfi_read_sleb(struct cfi_reader *r)
{
	return (int64_t)cfi_read_leb_accept(r, cfi_leb(r->at, r->end, CORE_LEB_SIGNED));
}

/**
 * cfi_read_encoded - read a pointer
 * @encoding:  a DW_EH_PE byte; absolute, pc-relative and, with @data_base, data-relative
 * @data_base: what data-relative means; 0: not allowed here
 * @ret_value: set unless false is returned; 0 when the reader became bad
 *
 * Returns: false for an encoding that is not supported; nothing was read then.
 */
bool cfi_read_encoded(struct cfi_reader *r, uint8_t encoding, uintptr_t data_base,
		      uintptr_t *ret_value);

#endif
