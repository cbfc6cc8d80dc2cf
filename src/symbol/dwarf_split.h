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
 * @dirs: searched after the places that the unit names; borrowed, as both paths
 *
 * The package is looked for beside the module and its debug file; either path may be NULL.
 */
struct dwarf_split *dwarf_split_new(const struct seep_debug_dirs *dirs, const char *module_path,
				    const char *debug_path);
void dwarf_split_free(struct dwarf_split *split);

/**
 * dwarf_split_find - the other half of @unit, if that is a skeleton
 * @ret_missing: the name of the file that should have it and was not found; else NULL
 *
 * Looked for by its id in a package: PATH.dwp for each path, also below and in the directories.
 * Then in the file that the skeleton names, in the directory of its compilation; then below and in
 * the directories.
 *
 * Returns: prepared; NULL when the unit is whole, or no file has a unit of that id.
 */
struct dwarf_unit *dwarf_split_find(struct dwarf_split *split, struct dwarf_unit *unit,
				    const char **ret_missing);

#endif
