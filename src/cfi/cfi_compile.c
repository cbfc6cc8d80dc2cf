/* SPDX-License-Identifier: MIT */
/*
 * From a row of the unwind table to a rule. Compilers, linkers and libc compute the CFA or rbp in
 * a handful of fixed ways; those expressions are recognised by their shape, never interpreted.
 */
#include "cfi/cfi.h"
#include "cfi/cfi_row.h"

/* DW_OP_* */
enum {
	OP_DEREF = 0x06,
	OP_AND = 0x1a,
	OP_PLUS = 0x22,
	OP_PLUS_UCONST = 0x23,
	OP_SHL = 0x24,
	OP_GE = 0x2a,
	OP_LIT0 = 0x30,
	OP_LIT31 = 0x4f,
	OP_BREG0 = 0x70,
};

/* Offsets in the frame that the kernel makes for a handler, whose ucontext is at SP. */
enum { SIGNAL_FRAME_RSP = 160 };

static struct core_reader expression_reader(const struct cfi_module *m, int64_t at)
{
	struct core_reader r = { .at = (const uint8_t *)at, .end = (const uint8_t *)m->end };
	uint64_t bytes = core_read_uleb(&r);

	/* It was inside its record before; this holds even if somebody wrote to it since. */
	if (core_reader_has(&r, bytes))
		r.end = r.at + bytes;
	return r;
}

static bool is_at_end(const struct core_reader *r)
{
	return !r->failed && r->at == r->end;
}

/* DW_OP_breg<number> offset */
static bool take_register(struct core_reader *r, unsigned number, int64_t *ret_offset)
{
	if (core_read_byte(r) != OP_BREG0 + number)
		return false;
	*ret_offset = core_read_sleb(r);
	return !r->failed;
}

static bool take_literal(struct core_reader *r, unsigned *ret_value)
{
	uint8_t op = core_read_byte(r);

	if (op < OP_LIT0 || op > OP_LIT31)
		return false;
	*ret_value = op - OP_LIT0;
	return true;
}

/*
 * What linkers write for .plt, where the stack grows within each entry:
 * SP + offset + ((pc & mask) >= bound) << shift.
 */
static bool match_plt(struct core_reader r, uintptr_t pc, int64_t *ret_offset)
{
	unsigned mask, bound, shift;
	int64_t offset, pc_offset;

	if (!take_register(&r, CFI_REGISTER_SP, &offset) ||
	    !take_register(&r, CFI_REGISTER_RA, &pc_offset) || pc_offset != 0 ||
	    !take_literal(&r, &mask) || core_read_byte(&r) != OP_AND || !take_literal(&r, &bound) ||
	    core_read_byte(&r) != OP_GE || !take_literal(&r, &shift) ||
	    core_read_byte(&r) != OP_SHL || core_read_byte(&r) != OP_PLUS || !is_at_end(&r))
		return false;
	return !__builtin_add_overflow(offset, (int64_t)((pc & mask) >= bound) << shift,
				       ret_offset);
}

/* *(register + offset) */
static bool match_deref(struct core_reader r, unsigned number, int64_t *ret_offset)
{
	return take_register(&r, number, ret_offset) && core_read_byte(&r) == OP_DEREF &&
	       is_at_end(&r);
}

/* Hand-written assembly that realigns its stack keeps the old in memory: *(rsp + offset) + 8. */
static bool match_sp_memory(struct core_reader r, int64_t *ret_offset)
{
	return take_register(&r, CFI_REGISTER_SP, ret_offset) && core_read_byte(&r) == OP_DEREF &&
	       core_read_byte(&r) == OP_PLUS_UCONST && core_read_byte(&r) == 8 && is_at_end(&r);
}

/* The CFA of a row: a kind, and the offset that goes with it. */
static enum cfi_kind match_cfa(const struct cfi_module *m, const struct cfi_fde *fde,
			       const struct cfi_row *row, uintptr_t pc, int64_t *ret_offset)
{
	struct core_reader r;

	*ret_offset = row->cfa;
	if (row->cfa_how == CFI_HOW_OFFSET && !fde->cie.is_signal) {
		if (row->cfa_register == CFI_REGISTER_SP)
			return CFI_SP;
		return row->cfa_register == CFI_REGISTER_FP ? CFI_FP : CFI_NONE;
	}
	if (row->cfa_how != CFI_HOW_EXPRESSION)
		return CFI_NONE;
	r = expression_reader(m, row->cfa);
	/* After a signal frame the pc is exact; other rules cannot say so, hence no others. */
	if (fde->cie.is_signal)
		return match_deref(r, CFI_REGISTER_SP, ret_offset) &&
				       *ret_offset == SIGNAL_FRAME_RSP
			       ? CFI_SIGNAL
			       : CFI_NONE;
	if (match_deref(r, CFI_REGISTER_FP, ret_offset))
		return CFI_DRAP;
	if (match_sp_memory(r, ret_offset))
		return CFI_SP_MEMORY;
	return match_plt(r, pc, ret_offset) ? CFI_SP : CFI_NONE;
}

/*
 * Where the caller's rbp is: for CFI_DRAP from FP, else from the CFA, with 0 = not saved.
 * An expression gives it from FP or SP, which is as good when the CFA hangs on the same register.
 */
static bool match_fp(const struct cfi_module *m, const struct cfi_row *row, enum cfi_kind kind,
		     int64_t cfa_offset, int64_t *ret_offset)
{
	struct core_reader r;

	if (row->fp_how == CFI_HOW_EXPRESSION) {
		if (kind == CFI_SP_MEMORY)
			return false;
		r = expression_reader(m, row->fp);
		if (!take_register(&r, kind == CFI_SP ? CFI_REGISTER_SP : CFI_REGISTER_FP,
				   ret_offset) ||
		    !is_at_end(&r))
			return false;
		if (kind == CFI_DRAP)
			return true;
		return !__builtin_sub_overflow(*ret_offset, cfa_offset, ret_offset) &&
		       *ret_offset < 0;
	}
	if (kind == CFI_DRAP)
		return false;
	if (row->fp_how == CFI_HOW_OFFSET) {
		*ret_offset = row->fp;
		return row->fp < 0;
	}
	*ret_offset = 0;
	return row->fp_how == CFI_HOW_SAME || row->fp_how == CFI_HOW_UNDEFINED;
}

/* Apart: its variables are not to lie on the stack while the row is looked for. */
static __attribute__((noinline)) enum cfi_result make_rule(const struct cfi_module *m,
							   const struct cfi_fde *fde,
							   const struct cfi_row *row, uintptr_t pc,
							   struct cfi_rule *rule)
{
	int64_t cfa_offset, fp_offset;
	enum cfi_kind kind;

	kind = row->ra_how == CFI_HOW_UNDEFINED ? CFI_STOP
						: match_cfa(m, fde, row, pc, &cfa_offset);
	if (kind == CFI_STOP || kind == CFI_SIGNAL) {
		rule->kind = kind;
		return CFI_FOUND;
	}
	if (kind == CFI_NONE || cfa_offset != (int32_t)cfa_offset)
		return CFI_MISS_CFA;
	if (row->ra_how != CFI_HOW_OFFSET || row->ra != -8)
		return CFI_MISS_RA;
	if (!match_fp(m, row, kind, cfa_offset, &fp_offset) || fp_offset != (int32_t)fp_offset)
		return CFI_MISS_FP;
	*rule = (struct cfi_rule){ kind, (int32_t)cfa_offset, (int32_t)fp_offset };
	return CFI_FOUND;
}

struct work {
	struct cfi_fde fde;
	struct cfi_row row;
	struct cfi_machine machine;
};
_Static_assert(sizeof(struct work) <= sizeof(struct cfi_work), "cfi.h");

enum cfi_result cfi_compile(const struct cfi_module *m, uintptr_t pc, bool exact_pc,
			    struct cfi_work *memory, struct cfi_rule *ret_rule)
{
	/* A call can be the last instruction of its function: what follows is another's. */
	uintptr_t address = exact_pc ? pc : pc - 1;
	struct work *work = (struct work *)memory;
	enum cfi_result result;

	*ret_rule = (struct cfi_rule){ 0 };
	result = cfi_fde_find(m, address, &work->fde);
	if (result == CFI_FOUND)
		result = cfi_row_find(&work->fde, address, &work->machine, &work->row);
	if (result == CFI_FOUND)
		result = make_rule(m, &work->fde, &work->row, pc, ret_rule);
	return result;
}
