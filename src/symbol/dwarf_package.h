/* SPDX-License-Identifier: MIT */
/* A package of split units (.dwp): which parts of its sections are one unit's. */
#ifndef SEEP_SYMBOL_DWARF_PACKAGE_H
#define SEEP_SYMBOL_DWARF_PACKAGE_H

#include "symbol/dwarf_file.h"

/**
 * dwarf_package_find - what the index of @elf, a loaded package, says about the unit @id
 * @ret: every section, cut to the unit's part where it has one
 *
 * Returns: false when the unit is not in the package, or the index is damaged.
 */
bool dwarf_package_find(const struct seep_elf *elf, uint64_t id, struct dwarf_parts *ret);

#endif
