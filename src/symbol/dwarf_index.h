/* SPDX-License-Identifier: MIT */
/*
 * The DWARF of one module, by address.
 *
 * A unit's tree is walked once, when the first address falls into it, and flattened to disjoint
 * segments: what is at an address is then one binary search.
 */
#ifndef SEEP_SYMBOL_DWARF_INDEX_H
#define SEEP_SYMBOL_DWARF_INDEX_H

#include "base/arena.h"
#include "symbol/debug_file.h"
#include "symbol/symbol.h"

struct seep_dwarf;

/* All of it is borrowed and must outlive the index. */
struct seep_dwarf_source {
	const struct seep_elf *elf;
	const struct seep_elf *alternate; /* what dwz moved out of it; may be NULL */
	const struct seep_debug_dirs *dirs;
	const char *module_path;  /* beside it, and beside elf, lie packages of split units */
	struct seep_arena *arena; /* receives names and paths */
};

/**
 * seep_dwarf_open - read the list of units and where their code is
 *
 * Returns: NULL when there is no unit that can be used.
 */
struct seep_dwarf *seep_dwarf_open(const struct seep_dwarf_source *source);

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

/* The first file of split units that a look needed and that was not found; NULL: none. */
const char *seep_dwarf_missing(const struct seep_dwarf *dwarf);

#endif
