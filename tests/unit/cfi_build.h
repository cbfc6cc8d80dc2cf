/* SPDX-License-Identifier: MIT */
/*
 * Unwind data made by hand for the tests of src/cfi: a block that holds an .eh_frame_hdr, one CIE
 * and an FDE for each of some functions, which exist as addresses only. The block is allocated
 * with exactly the size that is used, so that a sanitizer sees a read of one byte too many.
 */
#ifndef SEEP_TESTS_CFI_BUILD_H
#define SEEP_TESTS_CFI_BUILD_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cfi/cfi.h"
#include "cfi/cfi_record.h"

struct bytes {
	const uint8_t *at;
	size_t count;
};

#define BYTES(...)                                         \
	((struct bytes){ (const uint8_t[]){ __VA_ARGS__ }, \
			 sizeof((const uint8_t[]){ __VA_ARGS__ }) })

enum {
	BUILT_CODE_OFFSET = 0x4000, /* of the first function from the block's start */
	BUILT_FUNCTION_BYTES = 0x80,
	BUILT_FUNCTION_STRIDE = 0x100, /* so that each is followed by a hole */
};

/* What to build; start from built_default. */
struct built_spec {
	uint8_t version;
	const char *augmentation; /* its data are made from the letters */
	uint8_t fde_encoding, personality_encoding;
	uint64_t code_align;
	int64_t data_align;
	uint64_t ra_register;
	struct bytes initial, program;
	unsigned functions;
	uint8_t eh_frame_encoding, count_encoding, table_encoding;
	bool wide_lengths;
};

static const uint8_t built_initial[] = { 0x0c, 7, 8, 0x90, 1 }; /* CFA = rsp + 8, RA at CFA - 8 */

static const struct built_spec built_default = {
	.version = 1,
	.augmentation = "zR",
	.fde_encoding = 0x1b,
	.personality_encoding = 0x9b,
	.code_align = 1,
	.data_align = -8,
	.ra_register = 16,
	.initial = { built_initial, sizeof(built_initial) },
	.functions = 1,
	.eh_frame_encoding = 0x1b,
	.count_encoding = 0x03,
	.table_encoding = 0x3b,
};

struct built {
	uint8_t *block;
	size_t used;
	uintptr_t code; /* the first function */
	struct cfi_module module;
	size_t cie_at, fde_at; /* offsets of the CIE and of the first FDE in the block */
};

static inline void put_number(struct built *b, uint64_t value, size_t count)
{
	for (size_t i = 0; i < count; i++)
		b->block[b->used++] = (uint8_t)(value >> (8 * i));
}

static inline void put_uleb(struct built *b, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		put_number(b, value | 0x80, 1);
	put_number(b, value, 1);
}

static inline void put_sleb(struct built *b, int64_t value)
{
	for (; value < -64 || value > 63; value >>= 7)
		put_number(b, (uint64_t)value | 0x80, 1);
	put_number(b, (uint64_t)value & 0x7f, 1);
}

static inline void put_encoded(struct built *b, uint8_t encoding, uint64_t value)
{
	if ((encoding & CFI_PE_BASE_MASK) == CFI_PE_PCREL)
		value -= (uintptr_t)b->block + b->used;
	else if ((encoding & CFI_PE_BASE_MASK) == CFI_PE_DATAREL)
		value -= (uintptr_t)b->block;
	switch (encoding & CFI_PE_FORM_MASK) {
	case CFI_PE_ULEB:
		return put_uleb(b, value);
	case CFI_PE_SIGNED | CFI_PE_ULEB:
		return put_sleb(b, (int64_t)value);
	case CFI_PE_UDATA2:
	case CFI_PE_SIGNED | CFI_PE_UDATA2:
		return put_number(b, value, 2);
	case CFI_PE_UDATA4:
	case CFI_PE_SIGNED | CFI_PE_UDATA4:
		return put_number(b, value, 4);
	default:
		return put_number(b, value, 8);
	}
}

static inline void put_bytes(struct built *b, struct bytes bytes)
{
	if (bytes.count)
		memcpy(b->block + b->used, bytes.at, bytes.count);
	b->used += bytes.count;
}

static inline size_t begin_record(struct built *b, const struct built_spec *spec)
{
	if (spec->wide_lengths)
		put_number(b, UINT32_MAX, 4);
	put_number(b, 0, spec->wide_lengths ? 8 : 4);
	return b->used;
}

static inline void end_record(struct built *b, const struct built_spec *spec, size_t start)
{
	size_t used = b->used, width = spec->wide_lengths ? 8 : 4;

	b->used = start - width;
	put_number(b, used - start, width);
	b->used = used;
}

static inline void put_augmentation(struct built *b, const struct built_spec *spec)
{
	size_t length_at = b->used++; /* one byte of LEB128 is enough */

	for (const char *letter = spec->augmentation + 1; *letter; letter++) {
		if (*letter == 'R')
			put_number(b, spec->fde_encoding, 1);
		if (*letter == 'L')
			put_number(b, 0x1b, 1);
		if (*letter != 'P')
			continue;
		put_number(b, spec->personality_encoding, 1);
		put_encoded(b, spec->personality_encoding & CFI_PE_FORM_MASK, 300);
	}
	b->block[length_at] = (uint8_t)(b->used - length_at - 1);
}

static inline void put_cie(struct built *b, const struct built_spec *spec)
{
	size_t start;

	b->cie_at = b->used;
	start = begin_record(b, spec);
	put_number(b, 0, 4);
	put_number(b, spec->version, 1);
	put_bytes(b, (struct bytes){ (const uint8_t *)spec->augmentation,
				     strlen(spec->augmentation) + 1 });
	if (spec->version == 4)
		put_number(b, 0x0008, 2); /* 8-byte addresses, no segments */
	put_uleb(b, spec->code_align);
	put_sleb(b, spec->data_align);
	if (spec->version == 1)
		put_number(b, spec->ra_register, 1);
	else
		put_uleb(b, spec->ra_register);
	if (spec->augmentation[0] == 'z')
		put_augmentation(b, spec);
	put_bytes(b, spec->initial);
	end_record(b, spec, start);
}

static inline uintptr_t built_function(const struct built *b, unsigned index)
{
	return b->code + index * (uintptr_t)BUILT_FUNCTION_STRIDE;
}

static inline void put_fde(struct built *b, const struct built_spec *spec, unsigned index)
{
	size_t start = begin_record(b, spec);

	put_number(b, b->used - b->cie_at, 4);
	put_encoded(b, spec->fde_encoding, built_function(b, index));
	put_encoded(b, spec->fde_encoding & CFI_PE_FORM_MASK, BUILT_FUNCTION_BYTES);
	if (spec->augmentation[0] == 'z') {
		bool has_lsda = strchr(spec->augmentation, 'L');

		put_uleb(b, has_lsda ? 4 : 0);
		put_number(b, 77, has_lsda ? 4 : 0);
	}
	put_bytes(b, spec->program);
	end_record(b, spec, start);
}

static inline bool spec_has_table(const struct built_spec *spec)
{
	return spec->count_encoding != CFI_PE_OMIT && spec->table_encoding != CFI_PE_OMIT;
}

/* Leaves room for the table; returns where that is. */
static inline size_t put_header(struct built *b, const struct built_spec *spec, size_t eh_frame_at)
{
	size_t table_at;

	put_number(b, 1, 1);
	put_number(b, spec->eh_frame_encoding, 1);
	put_number(b, spec->count_encoding, 1);
	put_number(b, spec->table_encoding, 1);
	if (spec->eh_frame_encoding != CFI_PE_OMIT)
		put_encoded(b, spec->eh_frame_encoding, (uintptr_t)b->block + eh_frame_at);
	if (spec->count_encoding != CFI_PE_OMIT)
		put_encoded(b, spec->count_encoding, spec->functions);
	table_at = b->used;
	if (spec_has_table(spec))
		b->used += spec->functions * (size_t)(spec->table_encoding == 0x3b ? 8 : 16);
	return table_at;
}

/* Row @index of the table, the last thing written: its FDE is at @fde_at. */
static inline void put_table_row(struct built *b, const struct built_spec *spec, size_t table_at,
				 unsigned index, size_t fde_at)
{
	size_t used = b->used;

	b->used = table_at + index * (size_t)(spec->table_encoding == 0x3b ? 8 : 16);
	put_encoded(b, spec->table_encoding, built_function(b, index));
	put_encoded(b, spec->table_encoding, (uintptr_t)b->block + fde_at);
	b->used = used;
}

/* Write everything; returns where .eh_frame turned out to begin. */
static inline size_t put_all(struct built *b, const struct built_spec *spec, size_t eh_frame_at)
{
	size_t table_at;

	b->code = (uintptr_t)b->block + BUILT_CODE_OFFSET;
	b->used = 0;
	table_at = put_header(b, spec, eh_frame_at);
	put_cie(b, spec);
	b->fde_at = b->used;
	for (unsigned i = 0; i < spec->functions; i++) {
		size_t fde_at = b->used;

		put_fde(b, spec, i);
		if (spec_has_table(spec))
			put_table_row(b, spec, table_at, i, fde_at);
	}
	put_number(b, 0, 4);
	return b->cie_at;
}

static inline void built_free(struct built *b)
{
	free(b->block);
	b->block = NULL;
}

/* Two passes: the first, into a block that is large enough, gives the size. */
static inline struct built built_new(const struct built_spec *spec)
{
	struct built b = { .block = calloc(1,
					   4096 + spec->functions * (64 + spec->program.count)) };
	size_t eh_frame_at = put_all(&b, spec, 0);

	free(b.block);
	b.block = calloc(1, b.used);
	put_all(&b, spec, eh_frame_at);
	b.module = (struct cfi_module){ .eh_frame_hdr = b.block,
					.start = (uintptr_t)b.block,
					.end = (uintptr_t)b.block + b.used };
	return b;
}

static inline bool same_rule(struct cfi_rule a, enum cfi_kind kind, int cfa_offset, int fp_offset)
{
	return a.kind == kind && a.cfa_offset == cfa_offset && a.fp_offset == fp_offset;
}

static inline enum cfi_result built_compile(const struct built *b, uintptr_t pc, bool exact,
					    struct cfi_rule *ret_rule)
{
	return cfi_compile(&b->module, pc, exact, &(struct cfi_work){ 0 }, ret_rule);
}

#endif
