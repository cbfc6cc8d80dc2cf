/* SPDX-License-Identifier: MIT */
/* What a function is called. Private to the files dwarf_*.c. */
#ifndef SEEP_SYMBOL_DWARF_NAME_H
#define SEEP_SYMBOL_DWARF_NAME_H

#include "base/arena.h"
#include "symbol/dwarf_entry.h"
#include "symbol/dwarf_unit.h"

struct dwarf_function {
	const char *name;    /* demangled, or qualified by its scopes; NULL unknown */
	const char *linkage; /* NULL when there is none */
	const uint8_t *at;   /* the entry that inlined copies refer to */
};

/* Of one module. Begins with arena and elf alone. */
struct dwarf_names {
	struct seep_arena *arena;
	const struct seep_elf *elf; /* of which code counts */
	struct dwarf_function **functions;
	size_t count;
	struct seep_idtable ids; /* by at */
};

void dwarf_names_done(struct dwarf_names *names);

/* The name of the function that @entry, a subprogram or an inlined copy of one, is. Never NULL. */
struct dwarf_function *dwarf_names_of(struct dwarf_names *names, const struct dwarf_entry *entry);

#endif
