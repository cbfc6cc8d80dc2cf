/* SPDX-License-Identifier: MIT */
/*
 * Where a module's debug information is: in the file itself, or in a separate file named by its
 * build-id or its .gnu_debuglink, under /usr/lib/debug and the directories that the user gave.
 */
#ifndef SEEP_SYMBOL_DEBUG_FILE_H
#define SEEP_SYMBOL_DEBUG_FILE_H

#include "symbol/debuginfod.h"
#include "symbol/elf_image.h"

/* Borrowed; searched in this order, /usr/lib/debug after all of them, servers last. */
struct seep_debug_dirs {
	const char *const *items;
	size_t count;
	struct seep_debuginfod *servers; /* NULL: nobody is asked */
};

/*
 * The places for a file that belongs to @path: the same path below each directory, /usr/lib/debug
 * among them, then its name alone in each that was given. Release with free(); NULL after the last.
 */
char *seep_debug_place(const struct seep_debug_dirs *dirs, size_t index, const char *path);

/* What to look for. */
struct seep_debug_query {
	const char *path;
	const uint8_t *build_id; /* NULL when it is not known */
	size_t build_id_bytes;
	uint32_t checksum; /* of the right file, where there is no build-id */
};

/**
 * seep_debug_find_main - open the module's own file
 * @ret_problem: set when NULL is returned: why
 *
 * Tries the path, then the same path and the same basename under each directory of @dirs, then its
 * build-id (.build-id/ab/cdef…); those only when a build-id can prove that the file is the right
 * one.
 */
struct seep_elf *seep_debug_find_main(const struct seep_debug_dirs *dirs,
				      const struct seep_debug_query *query,
				      const char **ret_problem);

/* The module's own file from a server, by its build-id; NULL: there is none. */
struct seep_elf *seep_debug_fetch_main(const struct seep_debug_dirs *dirs,
				       const struct seep_debug_query *query);

/**
 * seep_debug_find_separate - open the file with the module's DWARF
 * @main: may be NULL; then only the build-id leads there
 *
 * Returns: NULL when there is none. A file found by .gnu_debuglink has the same build-id, or,
 * where there is none, the checksum that the link asks for.
 */
struct seep_elf *seep_debug_find_separate(const struct seep_debug_dirs *dirs,
					  const struct seep_debug_query *query,
					  const struct seep_elf *main);

/*
 * Open the file that .gnu_debugaltlink of @elf names (dwz). NULL: there is none; @ret_missing: what
 * it is called, without its folder, if it should be there, else NULL; lives as long as @elf.
 */
struct seep_elf *seep_debug_find_alternate(const struct seep_debug_dirs *dirs,
					   const struct seep_elf *elf, const char **ret_missing);

#endif
