/* SPDX-License-Identifier: MIT */
/*
 * Damaged and malicious unwind data: nothing outside the module may be read (the blocks have the
 * exact size, so a sanitizer build sees it) and nothing may take long.
 */
#include <stdio.h>
#include <time.h>

#include "cfi_build.h"
#include "unit.h"

/* A bit of everything that has a length, a count or a pointer. */
static struct built_spec rich_spec(void)
{
	static const uint8_t program[] = {
		0x41, 0x0e, 16, 0x86, 2,    0x43, 0x0d, 6,    0x0a, 0x02, 9,	0x0c, 7,    8,
		0x0b, 0x03, 5,	0,    0x10, 6,	  2,	0x76, 0,    0x0f, 3,	0x76, 0x78, 0x06,
		0x04, 7,    0,	0,    0,    0x2e, 0x20, 0x05, 3,    4,	  0x16, 12,   1,    0x96,
	};
	struct built_spec spec = built_default;

	spec.augmentation = "zPLR";
	spec.functions = 3;
	spec.program = (struct bytes){ program, sizeof(program) };
	return spec;
}

/* All pcs around the functions, both ways; what comes out does not matter. */
static void compile_around(const struct built *b, const struct cfi_module *module, unsigned step)
{
	struct cfi_rule rule;

	for (uintptr_t pc = b->code - 1; pc < b->code + 3 * BUILT_FUNCTION_STRIDE; pc += step) {
		enum cfi_result result = cfi_compile(module, pc, pc & 1, &(struct cfi_work){ 0 },
						     &rule);

		assert_int_equal(result == CFI_FOUND, rule.kind != CFI_NONE);
		assert_in_range(rule.kind, CFI_NONE, CFI_STOP);
	}
}

TEST(any_truncation_is_survived)
{
	struct built_spec spec = rich_spec();

	for (int scan = 0; scan < 2; scan++) {
		struct built b = built_new(&spec);

		for (size_t bytes = 0; bytes <= b.used; bytes++) {
			struct built cut = b;

			cut.block = malloc(bytes + 1);
			/* The block's own address moves, so its code does. */
			memcpy(cut.block + 1, b.block, bytes);
			cut.code = (uintptr_t)cut.block + 1 + BUILT_CODE_OFFSET;
			cut.module = (struct cfi_module){ .eh_frame_hdr = cut.block + 1,
							  .start = (uintptr_t)cut.block + 1,
							  .end = (uintptr_t)cut.block + 1 + bytes };
			compile_around(&cut, &cut.module, 3);
			built_free(&cut);
		}
		built_free(&b);
		spec.table_encoding = CFI_PE_OMIT;
	}
}

TEST(any_damaged_byte_is_survived)
{
	static const uint8_t values[] = { 0x00, 0x01, 0x7f, 0x80, 0xff, 0x10, 0x0f };
	struct built_spec spec = rich_spec();

	for (int scan = 0; scan < 2; scan++) {
		struct built b = built_new(&spec);

		for (size_t at = 0; at < b.used; at++) {
			uint8_t old = b.block[at];

			for (size_t i = 0; i < sizeof(values); i++) {
				b.block[at] = values[i];
				compile_around(&b, &b.module, 7);
			}
			b.block[at] = old;
		}
		built_free(&b);
		spec.table_encoding = CFI_PE_OMIT;
	}
}

TEST(random_damage_is_survived)
{
	struct built_spec spec = rich_spec();
	struct built b = built_new(&spec);
	uint8_t *good = malloc(b.used);
	uint64_t seed = 12345;

	memcpy(good, b.block, b.used);
	for (int round = 0; round < 20000; round++) {
		for (int i = 0; i < 4; i++) {
			seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
			b.block[(seed >> 33) % b.used] = (uint8_t)(seed >> 25);
		}
		compile_around(&b, &b.module, 41);
		memcpy(b.block, good, b.used);
	}
	free(good);
	built_free(&b);
}

static enum cfi_result with_patch(size_t at, uint64_t value, size_t count)
{
	struct built b = built_new(&built_default);
	enum cfi_result result;
	struct cfi_rule rule;

	memcpy(b.block + at, &value, count);
	result = built_compile(&b, b.code, true, &rule);
	built_free(&b);
	return result;
}

TEST(lengths_and_pointers_beyond_the_module_are_refused)
{
	struct built b = built_new(&built_default);
	size_t cie = b.cie_at, fde = b.fde_at;

	built_free(&b);
	/* the table's count, and where its only row says that the FDE is */
	assert_int_equal(with_patch(8, UINT32_MAX, 4), CFI_MISS_TABLE);
	assert_int_equal(with_patch(8, 1 << 28, 4), CFI_MISS_TABLE);
	assert_int_equal(with_patch(8, 0, 4), CFI_MISS_PC);
	assert_int_equal(with_patch(16, INT32_MAX, 4), CFI_MISS_CORRUPT);
	assert_int_equal(with_patch(16, (uint32_t)-4096, 4), CFI_MISS_CORRUPT);
	assert_int_equal(with_patch(16, (uint32_t)cie, 4), CFI_MISS_CORRUPT);
	/* the lengths of the FDE and of its CIE */
	assert_int_equal(with_patch(fde, 0, 4), CFI_MISS_CORRUPT);
	assert_int_equal(with_patch(fde, 0x1000, 4), CFI_MISS_CORRUPT);
	assert_int_equal(with_patch(fde, UINT32_MAX - 1, 4), CFI_MISS_CORRUPT);
	assert_int_equal(with_patch(fde, UINT32_MAX, 4), CFI_MISS_CORRUPT);
	assert_int_equal(with_patch(fde, 3, 4), CFI_MISS_CORRUPT);
	assert_int_equal(with_patch(cie, 0x1000, 4), CFI_MISS_CORRUPT);
	/* the FDE's way back to its CIE: outside, and onto itself */
	assert_int_equal(with_patch(fde + 4, 0x7fffffff, 4), CFI_MISS_CORRUPT);
	assert_int_equal(with_patch(fde + 4, (uint32_t)-4096, 4), CFI_MISS_CORRUPT);
	assert_int_equal(with_patch(fde + 4, 4, 4), CFI_MISS_CORRUPT);
	/* lengths of the augmentation data, one LEB128 byte each */
	assert_int_equal(with_patch(cie + 4 + 4 + 1 + 3 + 3, 0x7f, 1), CFI_MISS_CORRUPT);
	assert_int_equal(with_patch(fde + 4 + 4 + 8, 0x7f, 1), CFI_MISS_CORRUPT);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

TEST(an_endless_program_is_given_up)
{
	enum { PROGRAM_BYTES = 16 << 20 };
	struct built_spec spec = built_default;
	uint8_t *program = calloc(1, PROGRAM_BYTES);
	struct built b;
	uint64_t from;
	struct cfi_rule rule;

	spec.program = (struct bytes){ program, PROGRAM_BYTES };
	spec.fde_encoding = 0x00; /* the code's address lies within the block here: no matter */
	b = built_new(&spec);
	from = now_ns();
	assert_int_equal(built_compile(&b, b.code, true, &rule), CFI_MISS_LIMIT);
	assert_in_range(now_ns() - from, 0, UINT64_C(1000000000));
	built_free(&b);
	free(program);
}

TEST(an_endless_scan_is_given_up)
{
	struct built_spec spec = built_default;
	struct built b;
	struct cfi_rule rule;

	spec.functions = 20000;
	spec.table_encoding = CFI_PE_OMIT;
	b = built_new(&spec);
	assert_int_equal(built_compile(&b, built_function(&b, 16382), true, &rule), CFI_FOUND);
	assert_int_equal(built_compile(&b, built_function(&b, 16383), true, &rule), CFI_MISS_LIMIT);
	built_free(&b);
}
