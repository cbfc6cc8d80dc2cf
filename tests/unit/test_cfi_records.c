/* SPDX-License-Identifier: MIT */
/* Finding the entry for a pc: headers, tables, CIEs, pointer encodings, and what is refused. */
#include <stdio.h>

#include "cfi_build.h"
#include "unit.h"

static enum cfi_result compile(const struct built *b, uintptr_t pc, bool exact)
{
	enum cfi_result result;
	struct cfi_rule rule;

	result = built_compile(b, pc, exact, &rule);
	/* Of a function without instructions of its own. */
	assert_true(result == CFI_FOUND ? same_rule(rule, CFI_SP, 8, 0)
					: same_rule(rule, CFI_NONE, 0, 0));
	return result;
}

static enum cfi_result compile_spec(const struct built_spec *spec)
{
	struct built b = built_new(spec);
	enum cfi_result result = compile(&b, b.code + 1, true);

	built_free(&b);
	return result;
}

TEST(a_rule_covers_the_function_and_no_more)
{
	struct built b = built_new(&built_default);
	const struct {
		int offset;
		bool exact;
		enum cfi_result result;
	} cases[] = {
		{ 0, true, CFI_FOUND },
		{ 0, false, CFI_MISS_PC },
		{ 1, false, CFI_FOUND },
		{ -1, true, CFI_MISS_PC },
		{ BUILT_FUNCTION_BYTES - 1, true, CFI_FOUND },
		{ BUILT_FUNCTION_BYTES, true, CFI_MISS_PC },
		/* a call that does not return may be a function's last instruction */
		{ BUILT_FUNCTION_BYTES, false, CFI_FOUND },
		{ BUILT_FUNCTION_BYTES + 1, false, CFI_MISS_PC },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_int_equal(compile(&b, b.code + cases[i].offset, cases[i].exact),
				 cases[i].result);
	assert_int_equal(compile(&b, 0, false), CFI_MISS_PC);
	assert_int_equal(compile(&b, 0, true), CFI_MISS_PC);
	assert_int_equal(compile(&b, UINTPTR_MAX, true), CFI_MISS_PC);
	built_free(&b);
}

TEST(the_return_address_selects_the_row_of_the_call)
{
	struct built_spec spec = built_default;
	struct built b;
	struct cfi_rule rule;

	spec.program = BYTES(0x45, 0x0e, 16);
	b = built_new(&spec);
	assert_int_equal(built_compile(&b, b.code + 5, false, &rule), CFI_FOUND);
	assert_int_equal(rule.cfa_offset, 8);
	assert_int_equal(built_compile(&b, b.code + 5, true, &rule), CFI_FOUND);
	assert_int_equal(rule.cfa_offset, 16);
	built_free(&b);
}

TEST(every_function_of_many_is_found)
{
	static const struct {
		uint8_t count_encoding, table_encoding;
		bool wide_lengths;
	} cases[] = {
		{ 0x03, 0x3b, false }, { 0x01, 0x3b, true },  { 0x04, 0x3c, false },
		{ 0x02, 0x3c, true },  { 0xff, 0x3b, false }, { 0x03, 0xff, true },
		{ 0x03, 0x1b, false }, /* a table that we do not search */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		for (unsigned functions = 1; functions <= 60; functions += 1 + functions / 7) {
			struct built_spec spec = built_default;
			struct built b;

			spec.functions = functions;
			spec.count_encoding = cases[i].count_encoding;
			spec.table_encoding = cases[i].table_encoding;
			spec.wide_lengths = cases[i].wide_lengths;
			b = built_new(&spec);
			for (unsigned f = 0; f < functions; f++) {
				uintptr_t pc = built_function(&b, f);

				assert_int_equal(compile(&b, pc, true), CFI_FOUND);
				pc += BUILT_FUNCTION_BYTES;
				assert_int_equal(compile(&b, pc, true), CFI_MISS_PC);
			}
			built_free(&b);
		}
	}
}

TEST(pointer_encodings_are_read)
{
	static const uint8_t known[] = { 0x00, 0x04, 0x08, 0x0c, 0x10, 0x11, 0x12,
					 0x13, 0x14, 0x19, 0x1a, 0x1b, 0x1c, 0x01 };
	/* text-, data- and function-relative, aligned, indirect, reserved sizes, omitted */
	static const uint8_t refused[] = { 0x20, 0x2b, 0x3b, 0x40, 0x50, 0x9b,
					   0x15, 0x07, 0x0d, 0x1f, 0xff, 0x80 };
	struct built_spec spec = built_default;

	for (size_t i = 0; i < sizeof(known); i++) {
		spec.fde_encoding = known[i];
		assert_int_equal(compile_spec(&spec), CFI_FOUND);
	}
	for (size_t i = 0; i < sizeof(refused); i++) {
		spec.fde_encoding = refused[i];
		assert_int_equal(compile_spec(&spec), CFI_MISS_FORMAT);
	}
}

TEST(header_pointer_encodings_are_read)
{
	static const uint8_t known[] = {
		0x00, 0x04, 0x0c, 0x13, 0x1a, 0x1b, 0x1c, 0x3b, 0x33, 0x3c
	};
	static const uint8_t refused[] = { 0x9b, 0x2b, 0x50, 0x05 };
	struct built_spec spec = built_default;

	spec.table_encoding = CFI_PE_OMIT;
	for (size_t i = 0; i < sizeof(known); i++) {
		spec.eh_frame_encoding = known[i];
		assert_int_equal(compile_spec(&spec), CFI_FOUND);
	}
	for (size_t i = 0; i < sizeof(refused); i++) {
		spec.eh_frame_encoding = refused[i];
		assert_int_equal(compile_spec(&spec), CFI_MISS_TABLE);
	}
	spec.eh_frame_encoding = CFI_PE_OMIT;
	assert_int_equal(compile_spec(&spec), CFI_MISS_TABLE);
	spec.table_encoding = 0x3b;
	assert_int_equal(compile_spec(&spec), CFI_FOUND);
}

TEST(cie_versions_and_augmentations)
{
	static const struct {
		uint8_t version;
		const char *augmentation;
		uint8_t fde_encoding;
		enum cfi_result result;
	} cases[] = {
		{ 1, "zR", 0x1b, CFI_FOUND },
		{ 3, "zR", 0x1b, CFI_FOUND },
		{ 4, "zR", 0x1b, CFI_FOUND },
		{ 0, "zR", 0x1b, CFI_MISS_FORMAT },
		{ 2, "zR", 0x1b, CFI_MISS_FORMAT },
		{ 5, "zR", 0x1b, CFI_MISS_FORMAT },
		{ 1, "", 0x00, CFI_FOUND },
		{ 1, "z", 0x00, CFI_FOUND },
		{ 1, "zPLR", 0x1b, CFI_FOUND },
		{ 3, "zPLR", 0x10, CFI_FOUND },
		{ 1, "zRPL", 0x1b, CFI_FOUND },
		{ 1, "zRB", 0x1b, CFI_FOUND },
		{ 1, "zRQ", 0x1b, CFI_MISS_FORMAT },
		{ 1, "zRRRRRRRRRRR", 0x1b, CFI_MISS_FORMAT },
		{ 1, "eh", 0x00, CFI_MISS_FORMAT },
		{ 1, "R", 0x1b, CFI_MISS_FORMAT },
		{ 1, "armcc+", 0x00, CFI_MISS_FORMAT },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct built_spec spec = built_default;

		spec.version = cases[i].version;
		spec.augmentation = cases[i].augmentation;
		spec.fde_encoding = cases[i].fde_encoding;
		assert_int_equal(compile_spec(&spec), cases[i].result);
		spec.wide_lengths = true;
		assert_int_equal(compile_spec(&spec), cases[i].result);
	}
}

TEST(personality_encodings_are_stepped_over)
{
	static const uint8_t known[] = { 0x00, 0x01, 0x02, 0x03, 0x0b, 0x1b, 0x9b, 0x9c, 0x80 };
	static const uint8_t refused[] = { 0x50, 0xd0, 0x07, 0xff };
	struct built_spec spec = built_default;

	spec.augmentation = "zPLR";
	for (size_t i = 0; i < sizeof(known); i++) {
		spec.personality_encoding = known[i];
		assert_int_equal(compile_spec(&spec), CFI_FOUND);
	}
	for (size_t i = 0; i < sizeof(refused); i++) {
		spec.personality_encoding = refused[i];
		assert_int_equal(compile_spec(&spec), CFI_MISS_FORMAT);
	}
}

TEST(cie_parameters_are_used)
{
	struct built_spec spec = built_default;
	struct built b;
	struct cfi_rule rule;

	spec.ra_register = 30;
	assert_int_equal(compile_spec(&spec), CFI_MISS_FORMAT);

	/* Factors of 4 and 8: the negative offsets need the instruction that negates. */
	spec = built_default;
	spec.code_align = 4;
	spec.data_align = 8;
	spec.initial = BYTES(0x0c, 7, 8, 0x2f, 16, 1);
	spec.program = BYTES(0x43, 0x2f, 6, 2);
	b = built_new(&spec);
	assert_int_equal(built_compile(&b, b.code + 11, true, &rule), CFI_FOUND);
	assert_true(same_rule(rule, CFI_SP, 8, 0));
	assert_int_equal(built_compile(&b, b.code + 12, true, &rule), CFI_FOUND);
	assert_true(same_rule(rule, CFI_SP, 8, -16));
	built_free(&b);

	/* A code factor that would carry the location around the end of memory. */
	spec = built_default;
	spec.code_align = UINT64_C(1) << 63;
	spec.program = BYTES(0x42, 0x0e, 16);
	assert_int_equal(compile_spec(&spec), CFI_FOUND);
}

TEST(set_loc_moves_forward_only)
{
	struct built_spec spec = built_default;
	struct built b;
	struct cfi_rule rule;

	/* The operand is patched: the built function's start + 4. */
	spec.program = BYTES(0x0e, 16, 0x01, 0, 0, 0, 0, 0x0e, 32);
	b = built_new(&spec);
	for (int offset = -4; offset <= 4; offset += 8) {
		size_t operand_at = b.used - 4 - 6;
		int32_t value = (int32_t)(b.code + offset - (uintptr_t)b.block - operand_at);

		memcpy(b.block + operand_at, &value, 4);
		assert_int_equal(built_compile(&b, b.code + 4, true, &rule),
				 offset < 0 ? CFI_MISS_CORRUPT : CFI_FOUND);
		assert_int_equal(rule.cfa_offset, offset < 0 ? 0 : 32);
	}
	assert_int_equal(built_compile(&b, b.code + 3, true, &rule), CFI_FOUND);
	assert_int_equal(rule.cfa_offset, 16);
	built_free(&b);
}

TEST(only_the_kernels_signal_frame_is_a_signal_frame)
{
	static const struct {
		const char *augmentation;
		uint8_t register_op, offset_low;
		enum cfi_kind kind;
	} cases[] = {
		{ "zRS", 0x77, 0xa0, CFI_SIGNAL }, /* *(rsp + 160) */
		{ "zRS", 0x77, 0xa8, CFI_NONE },
		{ "zRS", 0x76, 0xa0, CFI_NONE },
		{ "zR", 0x77, 0xa0, CFI_NONE },
	};
	struct built_spec spec = built_default;
	struct built b;
	struct cfi_rule rule;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		spec.augmentation = cases[i].augmentation;
		spec.program = BYTES(0x0f, 4, cases[i].register_op, cases[i].offset_low, 1, 0x06);
		b = built_new(&spec);
		(void)built_compile(&b, b.code, true, &rule);
		assert_true(same_rule(rule, cases[i].kind, 0, 0));
		built_free(&b);
	}
	/* 'S' with an ordinary rule: the pc after it would be exact, which the rule cannot say. */
	spec.augmentation = "zRS";
	spec.program = (struct bytes){ 0 };
	assert_int_equal(compile_spec(&spec), CFI_MISS_CFA);
}

TEST(a_module_without_a_table_has_no_rules)
{
	struct built b = built_new(&built_default);
	struct cfi_module module = b.module;
	struct cfi_rule rule = { .kind = CFI_SP };

	module.eh_frame_hdr = NULL;
	assert_int_equal(cfi_compile(&module, b.code, true, &(struct cfi_work){ 0 }, &rule),
			 CFI_MISS_TABLE);
	assert_true(same_rule(rule, CFI_NONE, 0, 0));
	module = (struct cfi_module){ .eh_frame_hdr = b.block };
	assert_int_equal(cfi_compile(&module, b.code, true, &(struct cfi_work){ 0 }, &rule),
			 CFI_MISS_TABLE);
	b.block[0] = 2; /* a version of the header that is not there yet */
	assert_int_equal(compile(&b, b.code, true), CFI_MISS_TABLE);
	built_free(&b);
}
