/* SPDX-License-Identifier: MIT */
/* What each call-frame instruction does to the rule, one hand-made function per case. */
#include "cfi_build.h"
#include "unit.h"

struct opcode_case {
	const char *name;
	struct bytes program;
	uint8_t at; /* the pc, from the function's start */
	enum cfi_result result;
	enum cfi_kind kind;
	int32_t cfa_offset, fp_offset;
};

#define RULE(name, at, kind, cfa, fp, ...)                                   \
	{                                                                    \
		name, { PROGRAM(__VA_ARGS__) }, at, CFI_FOUND, kind, cfa, fp \
	}
#define MISS(name, at, result, ...)                                        \
	{                                                                  \
		name, { PROGRAM(__VA_ARGS__) }, at, result, CFI_NONE, 0, 0 \
	}
#define PROGRAM(...) (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ })

/* Every function starts with CFA = rsp + 8, the return address at CFA - 8, rbp not saved. */
static const struct opcode_case cfa_cases[] = {
	RULE("nop", 0, CFI_SP, 8, 0, 0x00),
	RULE("def_cfa_offset", 0, CFI_SP, 16, 0, 0x0e, 16),
	RULE("def_cfa_offset of two bytes", 0, CFI_SP, 0x1234, 0, 0x0e, 0xb4, 0x24),
	RULE("def_cfa_offset, largest", 0, CFI_SP, INT32_MAX, 0, 0x0e, 0xff, 0xff, 0xff, 0xff, 7),
	RULE("def_cfa_offset_sf", 0, CFI_SP, 24, 0, 0x13, 0x7d),
	RULE("def_cfa_offset_sf, negative", 0, CFI_SP, -24, 0, 0x13, 0x03),
	RULE("def_cfa_register", 0, CFI_FP, 8, 0, 0x0d, 6),
	RULE("def_cfa", 0, CFI_FP, 16, 0, 0x0c, 6, 16),
	RULE("def_cfa_sf", 0, CFI_SP, 16, 0, 0x12, 7, 0x7e),
	MISS("def_cfa_offset beyond 31 bits", 0, CFI_MISS_CFA, 0x0e, 0x80, 0x80, 0x80, 0x80, 8),
	MISS("def_cfa by r10", 0, CFI_MISS_CFA, 0x0c, 10, 0),
	MISS("def_cfa by register 262", 0, CFI_MISS_CFA, 0x0c, 0x86, 2, 16),
	MISS("def_cfa by register 2^32 + 7", 0, CFI_MISS_CFA, 0x0c, 0x87, 0x80, 0x80, 0x80, 0x10,
	     8),
	MISS("def_cfa_offset after an expression", 0, CFI_MISS_CORRUPT, 0x0f, 1, 0x50, 0x0e, 16),
	MISS("def_cfa_register after an expression", 0, CFI_MISS_CORRUPT, 0x0f, 1, 0x50, 0x0d, 7),
	RULE("def_cfa after an expression", 0, CFI_SP, 32, 0, 0x0f, 1, 0x50, 0x0c, 7, 32),
};

static const struct opcode_case location_cases[] = {
	RULE("advance_loc, before", 4, CFI_SP, 8, 0, 0x45, 0x0e, 16),
	RULE("advance_loc, at", 5, CFI_SP, 16, 0, 0x45, 0x0e, 16),
	RULE("advance_loc1, before", 99, CFI_SP, 8, 0, 0x02, 100, 0x0e, 16),
	RULE("advance_loc1, at", 100, CFI_SP, 16, 0, 0x02, 100, 0x0e, 16),
	RULE("advance_loc2", 100, CFI_SP, 16, 0, 0x03, 100, 0, 0x0e, 16),
	RULE("advance_loc2, both bytes", 100, CFI_SP, 8, 0, 0x03, 0, 1, 0x0e, 16),
	RULE("advance_loc4", 100, CFI_SP, 16, 0, 0x04, 100, 0, 0, 0, 0x0e, 16),
	RULE("advance_loc4, huge", 127, CFI_SP, 8, 0, 0x04, 255, 255, 255, 255, 0x0e, 16),
	RULE("MIPS_advance_loc8", 100, CFI_SP, 16, 0, 0x1d, 100, 0, 0, 0, 0, 0, 0, 0, 0x0e, 16),
	RULE("MIPS_advance_loc8 around the end of memory", 127, CFI_SP, 8, 0, 0x1d, 255, 255, 255,
	     255, 255, 255, 255, 255, 0x0e, 16),
	RULE("advances add up", 7, CFI_SP, 32, 0, 0x43, 0x0e, 16, 0x02, 4, 0x0e, 32, 0x41, 0x0e, 8),
	RULE("unknown beyond the pc", 4, CFI_SP, 8, 0, 0x45, 0x3e),
};

static const struct opcode_case fp_cases[] = {
	RULE("offset", 0, CFI_SP, 8, -16, 0x86, 2),
	RULE("offset of another register", 0, CFI_SP, 8, 0, 0x83, 3),
	RULE("restore", 0, CFI_SP, 8, 0, 0x86, 2, 0xc6),
	RULE("restore of another register", 0, CFI_SP, 8, -16, 0x86, 2, 0xc3),
	RULE("offset_extended", 0, CFI_SP, 8, -24, 0x05, 6, 3),
	RULE("offset_extended of xmm15", 0, CFI_SP, 8, 0, 0x05, 32, 3),
	RULE("offset_extended_sf", 0, CFI_SP, 8, -16, 0x11, 6, 2),
	MISS("offset_extended_sf, above the CFA", 0, CFI_MISS_FP, 0x11, 6, 0x7f),
	MISS("GNU_negative_offset_extended, above", 0, CFI_MISS_FP, 0x2f, 6, 2),
	MISS("offset at the CFA itself", 0, CFI_MISS_FP, 0x86, 0),
	RULE("offset, farthest", 0, CFI_SP, 8, INT32_MIN, 0x86, 0x80, 0x80, 0x80, 0x80, 0x01),
	MISS("offset, too far", 0, CFI_MISS_FP, 0x86, 0x81, 0x80, 0x80, 0x80, 0x01),
	RULE("restore_extended", 0, CFI_SP, 8, 0, 0x86, 2, 0x06, 6),
	RULE("undefined", 0, CFI_SP, 8, 0, 0x86, 2, 0x07, 6),
	RULE("same_value", 0, CFI_SP, 8, 0, 0x86, 2, 0x08, 6),
	MISS("register", 0, CFI_MISS_FP, 0x09, 6, 3),
	RULE("register of another register", 0, CFI_SP, 8, 0, 0x09, 3, 6),
	RULE("register, and saved later", 0, CFI_SP, 8, -16, 0x09, 6, 3, 0x86, 2),
	MISS("val_offset", 0, CFI_MISS_FP, 0x14, 6, 2),
	RULE("val_offset of another register", 0, CFI_SP, 8, 0, 0x14, 7, 0),
	MISS("val_offset_sf", 0, CFI_MISS_FP, 0x15, 6, 2),
	MISS("val_expression", 0, CFI_MISS_FP, 0x16, 6, 2, 0x76, 0),
	RULE("val_expression of another register", 0, CFI_SP, 8, 0, 0x16, 3, 2, 0x76, 0),
	RULE("expression of another register", 0, CFI_SP, 8, 0, 0x10, 3, 2, 0x76, 0x78),
	RULE("expression by rsp", 0, CFI_SP, 32, -24, 0x0e, 32, 0x10, 6, 2, 0x77, 8),
	RULE("expression by rbp", 0, CFI_FP, 16, -16, 0x0c, 6, 16, 0x10, 6, 2, 0x76, 0),
	MISS("expression by rbp, CFA by rsp", 0, CFI_MISS_FP, 0x10, 6, 2, 0x76, 0),
	MISS("expression by rbx", 0, CFI_MISS_FP, 0x10, 6, 2, 0x73, 0),
	MISS("expression with a tail", 0, CFI_MISS_FP, 0x10, 6, 3, 0x77, 0x78, 0x06),
	MISS("expression at the CFA", 0, CFI_MISS_FP, 0x10, 6, 2, 0x77, 8),
	MISS("empty expression", 0, CFI_MISS_FP, 0x10, 6, 0),
};

static const struct opcode_case ra_cases[] = {
	RULE("undefined", 0, CFI_STOP, 0, 0, 0x07, 16),
	RULE("undefined without a CFA we know", 0, CFI_STOP, 0, 0, 0x0c, 10, 0, 0x07, 16),
	MISS("offset, elsewhere", 0, CFI_MISS_RA, 0x90, 2),
	MISS("same_value", 0, CFI_MISS_RA, 0x08, 16),
	MISS("register", 0, CFI_MISS_RA, 0x09, 16, 1),
	MISS("val_offset", 0, CFI_MISS_RA, 0x14, 16, 1),
	MISS("expression", 0, CFI_MISS_RA, 0x10, 16, 2, 0x77, 0),
	RULE("restore", 0, CFI_SP, 8, 0, 0x90, 2, 0xd0),
};

static const struct opcode_case state_cases[] = {
	RULE("restore_state", 2, CFI_SP, 16, -16, 0x0e, 16, 0x86, 2, 0x0a, 0x41, 0x0c, 6, 40, 0xc6,
	     0x41, 0x0b),
	RULE("restore_state, before", 1, CFI_FP, 40, 0, 0x0e, 16, 0x86, 2, 0x0a, 0x41, 0x0c, 6, 40,
	     0xc6, 0x41, 0x0b),
	RULE("nested", 0, CFI_SP, 16, 0, 0x0e, 16, 0x0a, 0x0e, 24, 0x0a, 0x0e, 32, 0x0b, 0x0b),
	RULE("four deep", 0, CFI_SP, 8, 0, 10, 10, 10, 10),
	MISS("five deep", 0, CFI_MISS_LIMIT, 10, 10, 10, 10, 10),
	MISS("restore_state alone", 0, CFI_MISS_CORRUPT, 0x0b),
	RULE("GNU_args_size", 0, CFI_SP, 8, 0, 0x2e, 0xa0, 1),
	MISS("GNU_window_save", 0, CFI_MISS_FORMAT, 0x2d),
	MISS("unknown", 0, CFI_MISS_FORMAT, 0x3e),
};

#define PLT 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22

static const struct opcode_case expression_cases[] = {
	RULE("PLT, start of a slot", 0x20, CFI_SP, 8, 0, PLT),
	RULE("PLT, before the push", 0x2a, CFI_SP, 8, 0, PLT),
	RULE("PLT, after the push", 0x2b, CFI_SP, 16, 0, PLT),
	RULE("PLT, end of a slot", 0x2f, CFI_SP, 16, 0, PLT),
	RULE("PLT with another bound", 0x29, CFI_SP, 16, 0, 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a,
	     0x39, 0x2a, 0x33, 0x24, 0x22),
	MISS("PLT, cut short", 0, CFI_MISS_CFA, 0x0f, 10, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a,
	     0x33, 0x24),
	MISS("PLT by pc + 1", 0, CFI_MISS_CFA, 0x0f, 11, 0x77, 8, 0x80, 1, 0x3f, 0x1a, 0x3b, 0x2a,
	     0x33, 0x24, 0x22),
	MISS("PLT with a tail", 0, CFI_MISS_CFA, 0x0f, 12, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a,
	     0x33, 0x24, 0x22, 0x96),
	RULE("DRAP", 0, CFI_DRAP, -8, 0, 0x10, 6, 2, 0x76, 0, 0x0f, 3, 0x76, 0x78, 0x06),
	RULE("DRAP far away", 0, CFI_DRAP, -1000, -8, 0x10, 6, 2, 0x76, 0x78, 0x0f, 4, 0x76, 0x98,
	     0x78, 0x06),
	MISS("DRAP, rbp not saved", 0, CFI_MISS_FP, 0x0f, 3, 0x76, 0x78, 0x06),
	MISS("DRAP, rbp by the CFA", 0, CFI_MISS_FP, 0x86, 2, 0x0f, 3, 0x76, 0x78, 0x06),
	MISS("DRAP, no dereference", 0, CFI_MISS_CFA, 0x0f, 2, 0x76, 0x78),
	MISS("dereference of rsp", 0, CFI_MISS_CFA, 0x0f, 3, 0x77, 0x78, 0x06),
	MISS("empty", 0, CFI_MISS_CFA, 0x0f, 0),
};

static const struct opcode_case truncated_cases[] = {
	MISS("set_loc", 0, CFI_MISS_CORRUPT, 0x01, 1, 2),
	MISS("advance_loc1", 0, CFI_MISS_CORRUPT, 0x02),
	MISS("advance_loc2", 0, CFI_MISS_CORRUPT, 0x03, 1),
	MISS("advance_loc4", 0, CFI_MISS_CORRUPT, 0x04, 1, 2, 3),
	MISS("MIPS_advance_loc8", 0, CFI_MISS_CORRUPT, 0x1d, 1, 2, 3, 4, 5, 6, 7),
	MISS("offset", 0, CFI_MISS_CORRUPT, 0x86),
	MISS("offset, inside a number", 0, CFI_MISS_CORRUPT, 0x86, 0x80),
	MISS("offset_extended", 0, CFI_MISS_CORRUPT, 0x05, 6),
	MISS("restore_extended", 0, CFI_MISS_CORRUPT, 0x06),
	MISS("register", 0, CFI_MISS_CORRUPT, 0x09, 3),
	MISS("def_cfa", 0, CFI_MISS_CORRUPT, 0x0c, 7),
	MISS("def_cfa_offset", 0, CFI_MISS_CORRUPT, 0x0e),
	MISS("def_cfa_offset_sf", 0, CFI_MISS_CORRUPT, 0x13, 0xff),
	MISS("expression longer than the entry", 0, CFI_MISS_CORRUPT, 0x0f, 4, 0x76, 0x78, 0x06),
	MISS("expression of 2^63 bytes", 0, CFI_MISS_CORRUPT, 0x10, 3, 0xff, 0xff, 0xff, 0xff, 0xff,
	     0xff, 0xff, 0xff, 0x7f),
	MISS("number without end", 0, CFI_MISS_CORRUPT, 0x0e, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
	     0x80, 0x80, 0x80, 0x80, 0x80, 0x00),
	MISS("GNU_args_size", 0, CFI_MISS_CORRUPT, 0x2e),
};

static bool holds(const struct opcode_case *c)
{
	struct built_spec spec = built_default;
	enum cfi_result result;
	struct built b;
	struct cfi_rule rule;

	spec.program = c->program;
	b = built_new(&spec);
	result = built_compile(&b, b.code + c->at, true, &rule);
	built_free(&b);
	if (result == c->result && same_rule(rule, c->kind, c->cfa_offset, c->fp_offset))
		return true;
	print_error("%s: result %d, kind %d cfa %d fp %d\n", c->name, result, rule.kind,
		    rule.cfa_offset, rule.fp_offset);
	return false;
}

struct case_list {
	const struct opcode_case *cases;
	size_t count;
};

static void every_case_holds(void **state)
{
	const struct case_list *list = *state;
	size_t failed = 0;

	for (size_t i = 0; i < list->count; i++)
		failed += !holds(&list->cases[i]);
	assert_int_equal(failed, 0);
}

#define LIST(name, list)                \
	TEST_OF(name, every_case_holds, \
		(&(struct case_list){ list, sizeof(list) / sizeof(*(list)) }))

LIST(the_cfa_follows_its_instructions, cfa_cases);
LIST(rows_start_where_they_should, location_cases);
LIST(the_frame_pointer_is_found, fp_cases);
LIST(the_return_address_is_at_cfa_minus_8_or_refused, ra_cases);
LIST(states_are_remembered, state_cases);
LIST(known_expressions_are_recognised, expression_cases);
LIST(truncated_instructions_are_refused, truncated_cases);
