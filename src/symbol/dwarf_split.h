/* SPDX-License-Identifier: MIT */
/*
 * Split DWARF (-gsplit-dwarf): the linked file has skeletons of units, the rest lies in a .dwo file
 * per unit, or all together in a package (.dwp). DWARF 5's form and GNU's before it.
 */
#ifndef SEEP_SYMBOL_DWARF_SPLIT_H
#define SEEP_SYMBOL_DWARF_SPLIT_H

#include "symbol/debug_file.h"
#include "symbol/dwarf_file.h"

/* The files of one module that were opened so far. */
struct dwarf_split;

/**
 * dwarf_split_new - nothing opened yet
 * @dirs:  searched after the places that the unit names; borrowed
 * @paths: of the module and of its debug file, either may be NULL; borrowed: beside them the
 *         package is looked for
 */
struct dwarf_split *dwarf_split_new(const struct seep_debug_dirs *dirs, const char *const paths[2]);

/* NULL is a no-op. */
void dwarf_split_free(struct dwarf_split *split);

/* The name of the file that the rest of @unit is in; NULL when the unit is whole. */
const char *dwarf_split_name(struct dwarf_unit *unit);

/**
 * dwarf_split_find - the other half of @skeleton
 * @name: of its file, by dwarf_split_name()
 *
 * Looked for by its id in a package: PATH.dwp for each path, also below and in the directories.
 * Then in the file that the skeleton names, in the directory of its compilation; then below and in
 * the directories.
 *
 * Returns: prepared; NULL when no file has a unit of that id.
 */
struct dwarf_unit *dwarf_split_find(struct dwarf_split *split, struct dwarf_unit *skeleton,
				    const char *name);

#endif
