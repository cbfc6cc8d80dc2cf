/* SPDX-License-Identifier: MIT */
/*
 * Unwind rules from .eh_frame: what the compiler wrote about one program counter, boiled down to
 * what a walker can follow in a few instructions.
 *
 * This code runs inside other people's malloc. It calls nothing, allocates nothing, keeps no
 * state, uses about 1 KB of stack, and may run in a signal handler. Its input is whatever the
 * process has mapped: every read is checked against the module's extent, every loop is bounded.
 *
 * Only the frame pointer (rbp) and the stack pointer are followed. A rule that needs another
 * register is reported as CFI_NONE: a stack cut short and marked so, never a wrong one.
 */
#ifndef SEEP_CFI_CFI_H
#define SEEP_CFI_CFI_H

#include <stdbool.h>
#include <stdint.h>

/*
 * With SP, FP: the values in the frame whose pc the rule is for. Its caller has SP = CFA, and for
 * CFI_SP, CFI_FP, CFI_DRAP and CFI_SP_MEMORY the return address lies at CFA - 8.
 */
enum cfi_kind {
	CFI_NONE = 0,  /* nothing usable for this pc: the walk is truncated here */
	CFI_SP,	       /* CFA = SP + cfa_offset */
	CFI_FP,	       /* CFA = FP + cfa_offset */
	CFI_DRAP,      /* CFA = *(FP + cfa_offset); the caller's FP is at FP + fp_offset, always */
	CFI_SIGNAL,    /* a signal-return frame: the registers lie in the ucontext at SP */
	CFI_SP_MEMORY, /* CFA = *(SP + cfa_offset) + 8; FP as for CFI_SP */
	CFI_STOP,      /* the outermost frame: it has no return address */
};

/* Zeroed is CFI_NONE. Offsets are in bytes. */
struct cfi_rule {
	enum cfi_kind kind;
	int32_t cfa_offset;
	/*
	 * CFI_SP, CFI_FP: the caller's FP is at CFA + fp_offset, which is negative; 0: FP was not
	 * saved and is still the caller's. CFI_DRAP: see there.
	 */
	int32_t fp_offset;
};

/* Why there is no rule; for counters and tests. A walker looks at the rule only. */
enum cfi_result {
	CFI_FOUND = 0,
	CFI_MISS_TABLE,	  /* no .eh_frame_hdr, or one that cannot be read */
	CFI_MISS_PC,	  /* no entry covers the pc: a hole, or code without unwind data */
	CFI_MISS_CORRUPT, /* bytes that end too early or contradict each other */
	CFI_MISS_FORMAT,  /* a version, augmentation, encoding or opcode we do not know */
	CFI_MISS_LIMIT,	  /* a bound of ours was reached */
	CFI_MISS_CFA,	  /* the CFA needs another register than rsp or rbp, or a computation */
	CFI_MISS_FP,	  /* the caller's rbp is kept in a way that a rule cannot say */
	CFI_MISS_RA,	  /* the return address is not at CFA - 8 */
	CFI_RESULT_COUNT
};

/*
 * An object as it is mapped. @start to @end bounds every byte that is read, so all of it must be
 * readable; it may be narrowed to the segment that holds .eh_frame_hdr and .eh_frame. The pc need
 * not lie in it.
 */
struct cfi_module {
	const uint8_t *eh_frame_hdr; /* NULL: there is none */
	uintptr_t start, end;
};

/* What cfi_compile() works in: too much for a stack that may be tiny. Contents do not matter. */
struct cfi_work {
	uint64_t words[48];
};

/**
 * cfi_compile - make the rule for one pc
 * @m:	      the object that holds @pc; nothing of it is kept
 * @pc:	      a code address
 * @exact_pc: false: @pc is a return address, and the rule is the one of the call before it;
 *	      true: @pc itself is about to run (interrupted by a signal, or after CFI_SIGNAL)
 * @ret_rule: always written; zeroed unless CFI_FOUND is returned
 *
 * An .eh_frame_hdr without a usable search table makes it scan .eh_frame from its start, up to
 * 16,384 entries; that takes up to a millisecond, so the result should be remembered.
 *
 * Threads, signals: no state, safe anywhere. The module must stay mapped during the call.
 */
enum cfi_result cfi_compile(const struct cfi_module *m, uintptr_t pc, bool exact_pc,
			    struct cfi_work *work, struct cfi_rule *ret_rule);

#endif
