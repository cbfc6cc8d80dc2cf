/* SPDX-License-Identifier: MIT */
/* What a function is called. Private to the files dwarf_*.c. */
#ifndef SEEP_SYMBOL_DWARF_NAME_H
#define SEEP_SYMBOL_DWARF_NAME_H

#include "base/arena.h"
#include "symbol/dwarf_entry.h"
#include "symbol/dwarf_unit.h"
#include "symbol/pointer_map.h"

struct dwarf_function {
	const char *name;    /* demangled, or qualified by its scopes; NULL unknown */
	const char *linkage; /* NULL when there is none */
};

/* Gives the walked @unit, for the scopes of an entry in it; NULL when there is none. */
typedef const struct dwarf_unit_index *dwarf_find_index(void *opaque, struct dwarf_unit *unit);

/* Zero is empty, but for the first three. */
struct dwarf_names {
	struct seep_arena *arena;
	dwarf_find_index *find_index;
	void *opaque;
	struct seep_pointer_map functions; /* by the entry that inlined copies refer to */
};

/* The name of the function that @entry, a subprogram or an inlined copy of one, is. Never NULL. */
struct dwarf_function *dwarf_names_of(struct dwarf_names *names, const struct dwarf_entry *entry);

#endif
