/* SPDX-License-Identifier: MIT */
/* Running the instructions of a CIE and an FDE up to one address. */
#ifndef SEEP_CFI_CFI_ROW_H
#define SEEP_CFI_CFI_ROW_H

#include "cfi/cfi_record.h"

/* Where a register of the caller is; for the CFA, what it is. */
enum cfi_how {
	CFI_HOW_SAME = 0,   /* not saved; for the CFA: not defined */
	CFI_HOW_UNDEFINED,  /* it has no value */
	CFI_HOW_OFFSET,	    /* at CFA + value; for the CFA: a register + value */
	CFI_HOW_EXPRESSION, /* at what an expression computes; value is where its length lies */
	CFI_HOW_OTHER,	    /* in another register, or computed */
};

/* One row of the unwind table, as far as we follow it. */
struct cfi_row {
	int64_t cfa, fp, ra;
	uint8_t cfa_how, fp_how, ra_how; /* enum cfi_how */
	uint8_t cfa_register;
};

enum { CFI_SAVED_ROWS_MAX = 4 }; /* compilers nest them one deep, hand-written code two */

struct cfi_machine {
	const struct cfi_cie *cie;
	uintptr_t at, address; /* the row being built starts at @at; we want the one of @address */
	enum cfi_result result;
	bool done;
	unsigned saved_count;
	struct cfi_row row, initial; /* @initial: what DW_CFA_restore goes back to */
	struct cfi_row saved[CFI_SAVED_ROWS_MAX];
};

/**
 * cfi_row_find - the row of @fde that holds for @address
 * @machine: to work in
 * @ret_row: set on CFI_FOUND only
 *
 * Returns: CFI_FOUND, CFI_MISS_CORRUPT, _FORMAT or _LIMIT.
 */
enum cfi_result cfi_row_find(const struct cfi_fde *fde, uintptr_t address,
			     struct cfi_machine *machine, struct cfi_row *ret_row);

#endif
