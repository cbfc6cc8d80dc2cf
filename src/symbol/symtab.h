/* SPDX-License-Identifier: MIT */
/* The function names of ELF symbol tables, by address: what remains where there is no DWARF. */
#ifndef SEEP_SYMBOL_SYMTAB_H
#define SEEP_SYMBOL_SYMTAB_H

#include "base/arena.h"
#include "symbol/elf_image.h"
#include "symbol/interval.h"

struct symtab_entry;

/* A name of the symbol table as people read it. */
struct seep_symtab_name {
	const char *function; /* NULL: not made yet */
	const char *linkage;  /* NULL when it is the same */
};

/* Zero is empty. Names are borrowed from the images that were added. */
struct seep_symtab {
	struct symtab_entry *entries;
	size_t count;
	struct seep_segments segments;
};

/* Add .symtab and .dynsym of an image, which must outlive the table. */
void seep_symtab_add(struct seep_symtab *table, const struct seep_elf *elf);

/* Sort what was added; before the first look. */
void seep_symtab_finish(struct seep_symtab *table);

/**
 * seep_symtab_find - the name of the function at @address
 *
 * A symbol with a size covers that many bytes and no more. One without (hand-written assembly)
 * covers what follows in its section up to the next symbol. Of several names for one place the
 * one a person would use wins: functions before labels, global before weak before local, fewest
 * leading underscores, then the shortest.
 *
 * Versions ("memcpy@@GLIBC_2.14") and optimisers' suffixes are not part of the function's name, so
 * that it is called the same with and without DWARF.
 *
 * Returns: NULL when no symbol covers it. The strings are @arena's.
 */
const struct seep_symtab_name *seep_symtab_find(const struct seep_symtab *table,
						struct seep_arena *arena, uint64_t address);

/*
 * The variable of @elf (NULL: none) that @address is in, and where in it; NULL: none is known. No
 * index is made: few are asked for. The string is @arena's.
 */
const char *seep_symtab_variable(const struct seep_elf *elf, struct seep_arena *arena,
				 uint64_t address, uint64_t *ret_offset);
void seep_symtab_done(struct seep_symtab *table);

#endif
