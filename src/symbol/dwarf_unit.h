/* SPDX-License-Identifier: MIT */
/*
 * One walked unit: its functions with what was inlined into them, and the scopes around them.
 * Private to the files dwarf_*.c.
 */
#ifndef SEEP_SYMBOL_DWARF_UNIT_H
#define SEEP_SYMBOL_DWARF_UNIT_H

#include "symbol/elf_image.h"
#include "symbol/interval.h"

#include <elfutils/libdw.h>
#include <stdbool.h>

struct dwarf_function;

/* A function, or one inlined copy of it. The entry is addr in the unit's libdw handle. */
struct dwarf_node {
	void *addr;
	struct dwarf_function *function; /* NULL until a lookup needed it */
	uint32_t parent;		 /* into which this is inlined; SEEP_INTERVAL_NONE */
	uint32_t call_line;		 /* this and call_file: set with function */
	uint64_t call_file;
};

/* A namespace, class or function with entries inside. In the order of their entries. */
struct dwarf_scope {
	void *addr;
	void *last;	 /* the last entry inside */
	uint32_t parent; /* the scope around it; SEEP_INTERVAL_NONE */
};

struct dwarf_unit_index {
	Dwarf_CU *cu; /* which the addr of nodes and scopes belong to */
	struct dwarf_node *nodes;
	size_t node_count;
	size_t node_room;
	struct seep_segments segments; /* ids are nodes */
	struct dwarf_scope *scopes;
	size_t scope_count;
	size_t scope_room;
};

/* Walk the tree below @unit, of bounded depth and size. Never NULL. */
struct dwarf_unit_index *dwarf_unit_index_new(Dwarf_Die *unit, const struct seep_elf *elf);
void dwarf_unit_index_free(struct dwarf_unit_index *index);

/* The entry at @addr of the unit. */
static inline Dwarf_Die dwarf_unit_entry(const struct dwarf_unit_index *index, void *addr)
{
	return (Dwarf_Die){ .addr = addr, .cu = index->cu };
}

#endif
