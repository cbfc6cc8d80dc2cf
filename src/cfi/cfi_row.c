/* SPDX-License-Identifier: MIT */
/*
 * The DWARF call-frame machine, reduced to the three things a walker needs: the CFA, rbp and the
 * return address.
 */
#include "cfi/cfi_row.h"

enum {
	INSTRUCTIONS_MAX = 1 << 20,
};

/* DW_CFA_*: three opcodes keep an operand in their low six bits. */
enum {
	OP_ADVANCE = 1, /* in the top two bits */
	OP_OFFSET = 2,
	OP_RESTORE = 3,

	OP_NOP = 0x00,
	OP_SET_LOC = 0x01,
	OP_ADVANCE1 = 0x02,
	OP_ADVANCE2 = 0x03,
	OP_ADVANCE4 = 0x04,
	OP_OFFSET_EXTENDED = 0x05,
	OP_RESTORE_EXTENDED = 0x06,
	OP_UNDEFINED = 0x07,
	OP_SAME_VALUE = 0x08,
	OP_REGISTER = 0x09,
	OP_REMEMBER_STATE = 0x0a,
	OP_RESTORE_STATE = 0x0b,
	OP_DEF_CFA = 0x0c,
	OP_DEF_CFA_REGISTER = 0x0d,
	OP_DEF_CFA_OFFSET = 0x0e,
	OP_DEF_CFA_EXPRESSION = 0x0f,
	OP_EXPRESSION = 0x10,
	OP_OFFSET_EXTENDED_SF = 0x11,
	OP_DEF_CFA_SF = 0x12,
	OP_DEF_CFA_OFFSET_SF = 0x13,
	OP_VAL_OFFSET = 0x14,
	OP_VAL_OFFSET_SF = 0x15,
	OP_VAL_EXPRESSION = 0x16,
	OP_ADVANCE8 = 0x1d,
	OP_GNU_ARGS_SIZE = 0x2e,
	OP_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
};

static void fail(struct cfi_machine *m, enum cfi_result result)
{
	m->result = result;
	m->done = true;
}

/* Wraps like the hardware; a sum that matters is checked when the rule is made. */
static int64_t factored(const struct cfi_machine *m, uint64_t value)
{
	return (int64_t)(value * (uint64_t)m->cie->data_align);
}

static void set_register(struct cfi_machine *m, uint64_t number, enum cfi_how how, int64_t value)
{
	if (number == CFI_REGISTER_FP) {
		m->row.fp = value;
		m->row.fp_how = (uint8_t)how;
	} else if (number == CFI_REGISTER_RA) {
		m->row.ra = value;
		m->row.ra_how = (uint8_t)how;
	}
}

static void restore_register(struct cfi_machine *m, uint64_t number)
{
	if (number == CFI_REGISTER_FP)
		set_register(m, number, m->initial.fp_how, m->initial.fp);
	else if (number == CFI_REGISTER_RA)
		set_register(m, number, m->initial.ra_how, m->initial.ra);
}

static void advance_to(struct cfi_machine *m, uintptr_t to)
{
	if (to > m->address)
		m->done = true;
	else
		m->at = to;
}

static void advance(struct cfi_machine *m, uint64_t delta)
{
	uintptr_t bytes, to;

	/* Beyond the end of memory is also beyond the address. */
	if (__builtin_mul_overflow(delta, m->cie->code_align, &bytes) ||
	    __builtin_add_overflow(m->at, bytes, &to))
		m->done = true;
	else
		advance_to(m, to);
}

static void set_location(struct cfi_machine *m, struct core_reader *r)
{
	struct core_reader copy = *r;
	uintptr_t to;
	bool known = cfi_read_encoded(&copy, m->cie->fde_encoding, 0, &to);

	*r = copy;
	if (!known)
		fail(m, CFI_MISS_FORMAT);
	else if (to < m->at)
		fail(m, CFI_MISS_CORRUPT);
	else
		advance_to(m, to);
}

/* Remember where an expression lies, and step over it. */
static int64_t take_expression(struct core_reader *r)
{
	const uint8_t *at = r->at;

	core_read_skip(r, core_read_uleb(r));
	return (int64_t)(uintptr_t)at;
}

static void set_cfa(struct cfi_machine *m, uint64_t number, int64_t offset)
{
	m->row.cfa_how = CFI_HOW_OFFSET;
	m->row.cfa_register = number < CFI_REGISTER_OTHER ? (uint8_t)number : CFI_REGISTER_OTHER;
	m->row.cfa = offset;
}

/* The instructions that change half of "register + offset" need one to change. */
static bool cfa_is_offset(struct cfi_machine *m)
{
	if (m->row.cfa_how == CFI_HOW_OFFSET)
		return true;
	fail(m, CFI_MISS_CORRUPT);
	return false;
}

static void remember_state(struct cfi_machine *m)
{
	if (m->saved_count == CFI_SAVED_ROWS_MAX)
		fail(m, CFI_MISS_LIMIT);
	else
		m->saved[m->saved_count++] = m->row;
}

static void restore_state(struct cfi_machine *m)
{
	if (m->saved_count == 0)
		fail(m, CFI_MISS_CORRUPT);
	else
		m->row = m->saved[--m->saved_count];
}

/* The instructions that say where a register is; each begins with its number. Others fail. */
static void run_register_instruction(struct cfi_machine *m, struct core_reader *r, uint8_t op)
{
	uint64_t number = core_read_uleb(r);

	switch (op) {
	case OP_OFFSET_EXTENDED:
		set_register(m, number, CFI_HOW_OFFSET, factored(m, core_read_uleb(r)));
		return;
	case OP_OFFSET_EXTENDED_SF:
		set_register(m, number, CFI_HOW_OFFSET, factored(m, (uint64_t)core_read_sleb(r)));
		return;
	case OP_GNU_NEGATIVE_OFFSET_EXTENDED:
		set_register(m, number, CFI_HOW_OFFSET, factored(m, -core_read_uleb(r)));
		return;
	case OP_RESTORE_EXTENDED:
		restore_register(m, number);
		return;
	case OP_UNDEFINED:
		set_register(m, number, CFI_HOW_UNDEFINED, 0);
		return;
	case OP_SAME_VALUE:
		set_register(m, number, CFI_HOW_SAME, 0);
		return;
	case OP_EXPRESSION:
		set_register(m, number, CFI_HOW_EXPRESSION, take_expression(r));
		return;
	case OP_VAL_EXPRESSION:
		take_expression(r);
		break;
	case OP_REGISTER:
	case OP_VAL_OFFSET:
	case OP_VAL_OFFSET_SF:
		core_read_uleb(r);
		break;
	default:
		fail(m, CFI_MISS_FORMAT);
		return;
	}
	set_register(m, number, CFI_HOW_OTHER, 0);
}

static void run_long_instruction(struct cfi_machine *m, struct core_reader *r, uint8_t op)
{
	uint64_t number;

	switch (op) {
	case OP_NOP:
		return;
	case OP_SET_LOC:
		set_location(m, r);
		return;
	case OP_ADVANCE1:
		advance(m, core_read_byte(r));
		return;
	case OP_ADVANCE2:
		advance(m, core_read_number(r, 2));
		return;
	case OP_ADVANCE4:
		advance(m, core_read_number(r, 4));
		return;
	case OP_ADVANCE8:
		advance(m, core_read_number(r, 8));
		return;
	case OP_REMEMBER_STATE:
		remember_state(m);
		return;
	case OP_RESTORE_STATE:
		restore_state(m);
		return;
	case OP_GNU_ARGS_SIZE: /* matters to landing pads only */
		core_read_uleb(r);
		return;
	case OP_DEF_CFA:
		number = core_read_uleb(r);
		set_cfa(m, number, (int64_t)core_read_uleb(r));
		return;
	case OP_DEF_CFA_SF:
		number = core_read_uleb(r);
		set_cfa(m, number, factored(m, (uint64_t)core_read_sleb(r)));
		return;
	case OP_DEF_CFA_REGISTER:
		if (cfa_is_offset(m))
			set_cfa(m, core_read_uleb(r), m->row.cfa);
		return;
	case OP_DEF_CFA_OFFSET:
		if (cfa_is_offset(m))
			m->row.cfa = (int64_t)core_read_uleb(r);
		return;
	case OP_DEF_CFA_OFFSET_SF:
		if (cfa_is_offset(m))
			m->row.cfa = factored(m, (uint64_t)core_read_sleb(r));
		return;
	case OP_DEF_CFA_EXPRESSION:
		m->row.cfa = take_expression(r);
		m->row.cfa_how = CFI_HOW_EXPRESSION;
		return;
	default:
		run_register_instruction(m, r, op);
	}
}

static enum cfi_result run(struct cfi_machine *m, struct core_reader r)
{
	for (unsigned i = 0; !m->done && r.at < r.end; i++) {
		uint8_t op = core_read_byte(&r);

		if (i == INSTRUCTIONS_MAX)
			return CFI_MISS_LIMIT;
		switch (op >> 6) {
		case OP_ADVANCE:
			advance(m, op & 0x3f);
			break;
		case OP_OFFSET:
			set_register(m, op & 0x3f, CFI_HOW_OFFSET, factored(m, core_read_uleb(&r)));
			break;
		case OP_RESTORE:
			restore_register(m, op & 0x3f);
			break;
		default:
			run_long_instruction(m, &r, op);
		}
	}
	return r.failed && m->result == CFI_FOUND ? CFI_MISS_CORRUPT : m->result;
}

enum cfi_result cfi_row_find(const struct cfi_fde *fde, uintptr_t address, struct cfi_machine *m,
			     struct cfi_row *ret_row)
{
	enum cfi_result result;

	/* Field by field: the saved rows need no clearing, and memset is not ours to call. */
	m->cie = &fde->cie;
	m->at = fde->pc_start;
	m->address = address;
	m->result = CFI_FOUND;
	m->done = false;
	m->saved_count = 0;
	m->row = m->initial = (struct cfi_row){ .cfa_how = CFI_HOW_SAME };
	result = run(m, fde->cie.program);
	if (result != CFI_FOUND)
		return result;
	m->initial = m->row;
	m->at = fde->pc_start;
	m->done = false;
	result = run(m, fde->program);
	if (result == CFI_FOUND)
		*ret_row = m->row;
	return result;
}
