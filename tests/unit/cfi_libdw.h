/* SPDX-License-Identifier: MIT */
/*
 * The oracle of the tests of src/cfi: what libdw says about a frame, evaluated in a made-up one
 * whose registers and memory all hold different values.
 */
#ifndef SEEP_TESTS_CFI_LIBDW_H
#define SEEP_TESTS_CFI_LIBDW_H

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

enum { EVALUATION_STACK_MAX = 16 };

static const uint64_t frame_sp = UINT64_C(0x7ffd12345000), frame_fp = UINT64_C(0x7ffd12346a30);

/* Memory: every address holds a value of its own. */
static inline uint64_t memory_at(uint64_t address)
{
	return (address ^ UINT64_C(0x5bd1e995)) * UINT64_C(0x9e3779b97f4a7c15);
}

enum place_kind { PLACE_MEMORY, PLACE_SAME, PLACE_UNDEFINED, PLACE_OTHER };

/* Where a register of the caller is; for PLACE_OTHER, why we cannot follow. */
struct place {
	enum place_kind kind;
	uint64_t address;
	char why[64];
};

struct evaluation {
	uint64_t pc, cfa;
	uint64_t stack[EVALUATION_STACK_MAX];
	unsigned depth;
	char *why; /* of 64 bytes: filled when it returns false */
};

static inline bool push(struct evaluation *e, uint64_t value)
{
	if (e->depth == EVALUATION_STACK_MAX)
		return false;
	e->stack[e->depth++] = value;
	return true;
}

static inline bool push_register(struct evaluation *e, uint64_t number, uint64_t offset)
{
	if (number == 7)
		return push(e, frame_sp + offset);
	if (number == 6)
		return push(e, frame_fp + offset);
	if (number == 16)
		return push(e, e->pc + offset);
	(void)snprintf(e->why, 64, "register %" PRIu64, number);
	return false;
}

static inline bool evaluate_binary(struct evaluation *e, unsigned op)
{
	uint64_t *top = &e->stack[e->depth - 1], *below = &e->stack[e->depth - 2];

	if (op == DW_OP_and)
		*below &= *top;
	else if (op == DW_OP_plus)
		*below += *top;
	else if (op == DW_OP_minus)
		*below -= *top;
	else if (op == DW_OP_shl)
		*below <<= *top & 63;
	else if (op == DW_OP_ge)
		*below = (int64_t)*below >= (int64_t)*top;
	else
		return false;
	e->depth--;
	return true;
}

static inline bool evaluate_op(struct evaluation *e, const Dwarf_Op *op)
{
	(void)snprintf(e->why, 64, "operation 0x%x", op->atom);
	if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31)
		return push_register(e, op->atom - DW_OP_breg0, op->number);
	if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31)
		return push(e, op->atom - DW_OP_lit0);
	switch (op->atom) {
	case DW_OP_bregx:
		return push_register(e, op->number, op->number2);
	case DW_OP_call_frame_cfa:
		return push(e, e->cfa);
	case DW_OP_const1u:
	case DW_OP_const1s:
	case DW_OP_const2u:
	case DW_OP_const2s:
	case DW_OP_const4u:
	case DW_OP_const4s:
	case DW_OP_const8u:
	case DW_OP_const8s:
	case DW_OP_constu:
	case DW_OP_consts:
		return push(e, op->number);
	case DW_OP_plus_uconst:
		if (e->depth == 0)
			return false;
		e->stack[e->depth - 1] += op->number;
		return true;
	case DW_OP_deref:
		if (e->depth == 0)
			return false;
		e->stack[e->depth - 1] = memory_at(e->stack[e->depth - 1]);
		return true;
	default:
		return e->depth >= 2 && evaluate_binary(e, op->atom);
	}
}

static inline bool evaluate(struct evaluation *e, const Dwarf_Op *ops, size_t count, uint64_t *ret)
{
	e->depth = 0;
	for (size_t i = 0; i < count; i++)
		if (!evaluate_op(e, &ops[i]))
			return false;
	if (e->depth == 0)
		return false;
	*ret = e->stack[e->depth - 1];
	return true;
}

static inline struct place place_of(Dwarf_Frame *frame, int number, uint64_t pc, uint64_t cfa)
{
	struct place place = { .kind = PLACE_OTHER, .why = "libdw failed" };
	struct evaluation e = { .pc = pc, .cfa = cfa, .why = place.why };
	Dwarf_Op memory[3], *ops;
	size_t count;

	if (dwarf_frame_register(frame, number, memory, &ops, &count) != 0)
		return place;
	if (count == 0)
		place.kind = ops == memory ? PLACE_UNDEFINED : PLACE_SAME;
	else if (evaluate(&e, ops, count, &place.address))
		place.kind = PLACE_MEMORY;
	return place;
}

#endif
