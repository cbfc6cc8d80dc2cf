/* SPDX-License-Identifier: MIT */
/*
 * Names of recordings: what -o FILE and its patterns come to, and the folder FILE.d, which has
 * those of the children.
 */
#ifndef SEEP_RECORDER_OUTNAME_H
#define SEEP_RECORDER_OUTNAME_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * seep_outname_expand - the main program's recording
 * @pattern:  with %p (pid), %e (program), %h (host), %% in it; NULL = "./%e.%p.seep"
 * @exe:      path or name of the program; its last component is used
 * @ret_path: set on success only; release with free()
 *
 * Returns: 0, or -SEEP_EUSAGE (another letter after %; nothing is left, or more than PATH_MAX).
 */
SEEP_NODISCARD int seep_outname_expand(const char *pattern, const char *exe, uint32_t pid,
				       char **ret_path, struct seep_error *err);

/**
 * seep_outname_check - can a recording be written there, and those of children into its folder?
 *
 * Asked before the program starts, so that nothing is lost at its end.
 *
 * Returns: 0, or
 *   -SEEP_EUSAGE  it is "-"
 *   -SEEP_EEXIST  the file exists, or its folder holds something, and @force is false; or it is not
 *                 a regular file, but perhaps a link to one; or it is a ledger
 *   -SEEP_ESYS    the folder that it lies in is missing or cannot be written to, or that for
 *                 children cannot be read
 *   -SEEP_EUNSUPPORTED  what should be the folder for children is none, or another user's
 */
SEEP_NODISCARD int seep_outname_check(const char *path, bool force, struct seep_error *err);

/*
 * "<main_path>.d": where the recordings of children are. What makes it too long for a file system
 * is cut from the end of <main_path>. Release with free().
 */
char *seep_outname_folder(const char *main_path) __attribute__((returns_nonnull));

/**
 * seep_outname_clear - remove what an earlier run left beside the recording @main_path
 *
 * That is its snapshots, the recordings in its folder, and the folder if nothing else is in it.
 * What is no recording, whatever its name, stays.
 *
 * Returns: how many other files are in the folder.
 */
size_t seep_outname_clear(const char *main_path);

/*
 * "<folder>/<pid>.<exe>.seep", or "<folder>/<pid>.<exe>.<number>.seep" from 2 on. Release with
 * free().
 */
char *seep_outname_child(const char *folder, uint32_t pid, const char *exe, unsigned number)
	__attribute__((returns_nonnull));

/*
 * <path without .seep>.<number, three digits or more>.seep, the path cut as above. Release with
 * free().
 */
char *seep_outname_snapshot(const char *path, unsigned number) __attribute__((returns_nonnull));

#endif
