/* SPDX-License-Identifier: MIT */
/*
 * The DWARF of one module, by address.
 *
 * libdw decodes entries, attributes and range lists; what it does not do fast is answer "what is
 * at this address" (it walks the tree of a unit for each question). Here a unit's tree is walked
 * once, when the first address falls into it, and flattened to disjoint segments.
 */
#ifndef SEEP_SYMBOL_DWARF_INDEX_H
#define SEEP_SYMBOL_DWARF_INDEX_H

#include "base/arena.h"
#include "symbol/elf_image.h"
#include "symbol/symbol.h"

struct seep_dwarf;

/**
 * seep_dwarf_open - read the list of units and where their code is
 * @elf:       loaded; must outlive the index
 * @alternate: loaded, what dwz moved out of @elf; must outlive the index; may be NULL
 * @arena:     receives names and paths
 *
 * Returns: NULL when libdw finds nothing that it can use.
 */
struct seep_dwarf *seep_dwarf_open(const struct seep_elf *elf, const struct seep_elf *alternate,
				   struct seep_arena *arena);

/* NULL is a no-op. */
void seep_dwarf_close(struct seep_dwarf *dwarf);

/**
 * seep_dwarf_lookup - as seep_symbol_lookup(), from DWARF alone
 *
 * Returns: 0 when no unit covers @address. The last frame's function is NULL where there are lines
 * but no function (assembly).
 */
size_t seep_dwarf_lookup(struct seep_dwarf *dwarf, uint64_t address,
			 struct seep_symbol_frame *frames, size_t frames_max);

#endif
