/* SPDX-License-Identifier: MIT */
/*
 * Can libseep.so be preloaded into this program? This is checked before the program starts, because
 * a program that ignores LD_PRELOAD would run to its end unrecorded, without any message.
 */
#ifndef SEEP_TARGET_PREFLIGHT_H
#define SEEP_TARGET_PREFLIGHT_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

/* What kind of ELF file a program is. */
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

/* The sanitizer whose runtime a library of this file name is; NULL: of none. Static storage. */
const char *seep_sanitizer_library(const char *name);

/* Zeroed storage is empty. Release with seep_program_done(). */
struct seep_program {
	char *path;   /* for execve(); absolute or relative as PATH led to it */
	char *name;   /* last component of what was asked for */
	char *loaded; /* the ELF file that the kernel will start: the program or its interpreter */
};

/**
 * seep_preflight - find a program as execvp(3) would and check that it can be recorded
 * @name:        a path, or a name to look up in PATH
 * @ret_program: filled on success only
 * @err:         filled on failure only; says what to do where something can be done
 *
 * A script is judged by its interpreter; a text without "#!" by /bin/sh, as execvp() does.
 *
 * Returns: 0, or
 *   -SEEP_ENOTFOUND     no such program, or its interpreter or loader is missing
 *   -SEEP_ESYS          it is there but may not be executed
 *   -SEEP_EUNSUPPORTED  static, not 64-bit x86, not glibc, a sanitizer's, or run with more
 *                       privileges than we have, where the loader ignores LD_PRELOAD
 */
SEEP_NODISCARD int seep_preflight(const char *name, struct seep_program *ret_program,
				  struct seep_error *err);

void seep_program_done(struct seep_program *program);

/**
 * seep_runtime_find - where libseep.so is
 * @ret_path: absolute; set on success only; release with free()
 *
 * In this order: $SEEP_LIB, beside this executable, ../lib/seep/ from it, the installation's
 * folder.
 *
 * Returns: 0, -SEEP_ENOTFOUND (none of these), or -SEEP_EUNSUPPORTED (its path has a character that
 * separates libraries in LD_PRELOAD).
 */
SEEP_NODISCARD int seep_runtime_find(char **ret_path, struct seep_error *err);

#endif
