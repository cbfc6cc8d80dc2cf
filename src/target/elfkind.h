/* SPDX-License-Identifier: MIT */
/*
 * What kind of ELF file a program is: can libseep.so be preloaded into it?
 */
#ifndef SEEP_TARGET_ELFKIND_H
#define SEEP_TARGET_ELFKIND_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

enum { SEEP_ELFKIND_LOADER_BYTES = 256 };

struct seep_elfkind {
	bool is_64bit;
	bool is_little_endian;
	uint16_t machine;			/* EM_* */
	uint16_t type;				/* ET_* */
	char loader[SEEP_ELFKIND_LOADER_BYTES]; /* PT_INTERP, "" = none */
	bool is_library;			/* it is no program, as far as it says */
	bool is_loader;				/* it is glibc's ld.so, run as a program */
	const char *sanitizer; /* "AddressSanitizer", ...: brings its own malloc; NULL none */
	bool has_unwind;       /* .eh_frame */
	bool is_go;
};

/**
 * seep_elfkind_read - look at an ELF file
 * @fd:   open for reading
 * @name: for the error sentence
 *
 * Returns: 0, -SEEP_ECORRUPT (headers do not fit the file), or -SEEP_ESYS.
 */
SEEP_NODISCARD int seep_elfkind_read(int fd, const char *name, struct seep_elfkind *ret_kind,
				     struct seep_error *err);

/**
 * seep_elfkind_check - can it be preloaded into?
 *
 * Returns: 0, or -SEEP_EUNSUPPORTED with a sentence that says why and what to do.
 */
SEEP_NODISCARD int seep_elfkind_check(const struct seep_elfkind *kind, const char *name,
				      struct seep_error *err);

#endif
