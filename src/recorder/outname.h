/* SPDX-License-Identifier: MIT */
/*
 * Names of recordings: what -o FILE and its patterns come to, and what the children's are called.
 */
#ifndef SEEP_RECORDER_OUTNAME_H
#define SEEP_RECORDER_OUTNAME_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

/**
 * seep_outname_expand - the main program's recording
 * @pattern:  with %p (pid), %e (program), %h (host), %% in it; NULL = "./%e.%p.seep"
 * @exe:      path or name of the program; its last component is used
 * @ret_path: set on success only; release with free()
 *
 * Returns: 0, or -SEEP_EUSAGE (another letter after %).
 */
SEEP_NODISCARD int seep_outname_expand(const char *pattern, const char *exe, uint32_t pid,
				       char **ret_path, struct seep_error *err);

/**
 * seep_outname_check - can a recording be written there?
 *
 * Asked before the program starts, so that nothing is lost at its end.
 *
 * Returns: 0, or
 *   -SEEP_EEXIST  the file exists and @force is false, or it is not a plain file
 *   -SEEP_ESYS    its folder is missing or cannot be written to
 */
SEEP_NODISCARD int seep_outname_check(const char *path, bool force, struct seep_error *err);

/**
 * seep_outname_child - <main>.<pid>.<exe>.seep, or <main>.<pid>.seep for a fork without exec
 * @exe:    NULL for a fork
 * @number: 1; larger ones give further names, <main>.<pid>.<exe>.<number>.seep, where one is taken
 *
 * What makes the name too long for a file system is cut from the end of <main>. Release with free().
 */
char *seep_outname_child(const char *main_path, uint32_t pid, const char *exe, unsigned number)
	__attribute__((returns_nonnull));

/*
 * <path without .seep>.<number, three digits or more>.seep, the path cut as above. Release with
 * free().
 */
char *seep_outname_snapshot(const char *path, unsigned number) __attribute__((returns_nonnull));

#endif
