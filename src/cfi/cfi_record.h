/* SPDX-License-Identifier: MIT */
/*
 * Finding and reading the entries of .eh_frame: an FDE describes one function, its CIE what many
 * of them share.
 */
#ifndef SEEP_CFI_CFI_RECORD_H
#define SEEP_CFI_CFI_RECORD_H

#include "cfi/cfi.h"
#include "core/reader.h"

enum {
	CFI_REGISTER_FP = 6,
	CFI_REGISTER_SP = 7,
	CFI_REGISTER_RA = 16,
	CFI_REGISTER_OTHER = 255, /* any number that does not fit a byte */
};

/* Pointer encodings (DW_EH_PE_*): the low three bits are the size, bit 3 signedness. */
enum {
	CFI_PE_ABSPTR = 0x00,
	CFI_PE_ULEB = 0x01,
	CFI_PE_UDATA2 = 0x02,
	CFI_PE_UDATA4 = 0x03,
	CFI_PE_UDATA8 = 0x04,
	CFI_PE_SIZE_MASK = 0x07,
	CFI_PE_SIGNED = 0x08,
	CFI_PE_FORM_MASK = 0x0f,
	CFI_PE_PCREL = 0x10,
	CFI_PE_DATAREL = 0x30,
	CFI_PE_ALIGNED = 0x50,
	CFI_PE_BASE_MASK = 0x70,
	CFI_PE_INDIRECT = 0x80,
	CFI_PE_OMIT = 0xff,
};

struct cfi_cie {
	uint64_t code_align;
	int64_t data_align;
	struct core_reader program; /* the initial instructions */
	uint8_t fde_encoding;	    /* of the addresses in its FDEs */
	bool has_data;		    /* its FDEs carry augmentation data */
	bool is_signal;		    /* a signal-return frame */
};

struct cfi_fde {
	struct cfi_cie cie;
	struct core_reader program;
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

/**
 * cfi_read_encoded - read a pointer
 * @encoding:  a DW_EH_PE byte; absolute, pc-relative and, with @data_base, data-relative
 * @data_base: what data-relative means; 0: not allowed here
 * @ret_value: set unless false is returned; 0 when the reader failed
 *
 * Returns: false for an encoding that is not supported; nothing was read then.
 */
bool cfi_read_encoded(struct core_reader *r, uint8_t encoding, uintptr_t data_base,
		      uintptr_t *ret_value);

#endif
