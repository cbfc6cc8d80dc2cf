/* SPDX-License-Identifier: MIT */
/*
 * Finding and reading the entries of .eh_frame: an FDE describes one function, its CIE what many
 * of them share.
 */
#ifndef SEEP_CFI_CFI_RECORD_H
#define SEEP_CFI_CFI_RECORD_H

#include "cfi/cfi.h"
#include "cfi/cfi_read.h"

enum {
	CFI_REGISTER_FP = 6,
	CFI_REGISTER_SP = 7,
	CFI_REGISTER_RA = 16,
	CFI_REGISTER_OTHER = 255, /* any number that does not fit a byte */
};

struct cfi_cie {
	uint64_t code_align;
	int64_t data_align;
	struct cfi_reader program; /* the initial instructions */
	uint8_t fde_encoding;	   /* of the addresses in its FDEs */
	bool has_data;		   /* its FDEs carry augmentation data */
	bool is_signal;		   /* a signal-return frame */
};

struct cfi_fde {
	struct cfi_cie cie;
	struct cfi_reader program;
	uintptr_t pc_start, pc_bytes;
};

/**
 * cfi_fde_find - the FDE that covers an address
 * @ret_fde: complete when CFI_FOUND is returned, scratch otherwise
 *
 * Returns: CFI_FOUND, CFI_MISS_TABLE, _PC, _CORRUPT, _FORMAT or _LIMIT.
 */
enum cfi_result cfi_fde_find(const struct cfi_module *m, uintptr_t address,
			     struct cfi_fde *ret_fde);

#endif
