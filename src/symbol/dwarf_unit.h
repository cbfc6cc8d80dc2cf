/* SPDX-License-Identifier: MIT */
/*
 * One walked unit: its functions with what was inlined into them, and the scopes around them.
 * Private to the files dwarf_*.c.
 */
#ifndef SEEP_SYMBOL_DWARF_UNIT_H
#define SEEP_SYMBOL_DWARF_UNIT_H

#include "symbol/dwarf_file.h"
#include "symbol/interval.h"

struct dwarf_function;

/* A function, or one inlined copy of it. */
struct dwarf_node {
	const uint8_t *at;		 /* its entry */
	struct dwarf_function *function; /* NULL until a lookup needed it */
	uint32_t parent;		 /* into which this is inlined; SEEP_INTERVAL_NONE */
	uint32_t call_line;		 /* this and call_file: set with function */
	uint64_t call_file;
};

/* A namespace, class or function with entries inside. In the order of their entries. */
struct dwarf_scope {
	const uint8_t *at;
	const uint8_t *end; /* of the entries inside */
	uint32_t parent;    /* the scope around it; SEEP_INTERVAL_NONE */
};

struct dwarf_unit_index {
	struct dwarf_unit *unit;
	struct dwarf_node *nodes;
	size_t node_count;
	struct seep_segments segments; /* ids are nodes */
	struct dwarf_scope *scopes;
	size_t scope_count;
};

/* The tree of a prepared @unit, walked once, to a bounded depth. Only code of @elf's counts. */
const struct dwarf_unit_index *dwarf_unit_walk(struct dwarf_unit *unit, const struct seep_elf *elf);
void dwarf_unit_index_free(struct dwarf_unit_index *index);

#endif
