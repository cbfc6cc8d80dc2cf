/* SPDX-License-Identifier: MIT */
#include "symbol/dwarf_unit.h"

#include "base/xalloc.h"

#include <dwarf.h>
#include <stdlib.h>

/* Far beyond what compilers write, and small enough for the stack and for memory. */
enum { DEPTH_MAX = 1024, NODES_MAX = 1 << 24, RANGES_MAX = 1 << 25 };

struct walk {
	struct dwarf_unit_index *index;
	const struct seep_elf *elf;
	struct seep_interval_list intervals;
	uint32_t ranges_left;
	uint32_t scope; /* the innermost open one */
	void *last;	/* the entry visited last */
};

static uint32_t add_node(struct walk *walk, Dwarf_Die *die, uint32_t parent)
{
	struct dwarf_unit_index *index = walk->index;

	if (index->node_count >= NODES_MAX)
		return SEEP_INTERVAL_NONE;
	index->nodes = seep_xgrow(index->nodes, &index->node_room, index->node_count + 1,
				  sizeof(*index->nodes));
	index->nodes[index->node_count] = (struct dwarf_node){ .addr = die->addr,
							       .parent = parent };
	return (uint32_t)index->node_count++;
}

/* The node for @die: @node, or when that is none, a new one if there is code. */
static uint32_t add_ranges(struct walk *walk, Dwarf_Die *die, uint32_t node, uint32_t depth)
{
	Dwarf_Addr base = 0;
	Dwarf_Addr from = 0;
	Dwarf_Addr to = 0;
	ptrdiff_t next = 0;

	while (walk->ranges_left && (next = dwarf_ranges(die, next, &base, &from, &to)) > 0) {
		walk->ranges_left--;
		/* Code that the linker dropped is at 0 or -1. */
		if (to <= from || !seep_elf_is_code(walk->elf, from))
			continue;
		if (node == SEEP_INTERVAL_NONE)
			node = add_node(walk, die, SEEP_INTERVAL_NONE);
		if (node == SEEP_INTERVAL_NONE)
			break;
		seep_interval_add(&walk->intervals, (struct seep_interval){
							    .from = from,
							    .to = to,
							    .depth = depth,
							    .id = node,
						    });
	}
	return node;
}

/* Even without code of its own: functions that have some may be inlined into this one. */
static uint32_t add_inlined(struct walk *walk, Dwarf_Die *die, uint32_t parent, uint32_t depth)
{
	uint32_t node;

	if (parent == SEEP_INTERVAL_NONE)
		return parent;
	node = add_node(walk, die, parent);
	return node == SEEP_INTERVAL_NONE ? parent : add_ranges(walk, die, node, depth);
}

static void open_scope(struct walk *walk, Dwarf_Die *die)
{
	struct dwarf_unit_index *index = walk->index;

	index->scopes = seep_xgrow(index->scopes, &index->scope_room, index->scope_count + 1,
				   sizeof(*index->scopes));
	index->scopes[index->scope_count] = (struct dwarf_scope){
		.addr = die->addr,
		.parent = walk->scope,
	};
	walk->scope = (uint32_t)index->scope_count++;
}

static void close_scope(struct walk *walk)
{
	struct dwarf_scope *scope = &walk->index->scopes[walk->scope];

	scope->last = walk->last;
	walk->scope = scope->parent;
}

static void walk_children(struct walk *walk, Dwarf_Die *parent_die, uint32_t parent,
			  uint32_t depth);

static void walk_scope(struct walk *walk, Dwarf_Die *die, uint32_t node, uint32_t depth)
{
	if (dwarf_haschildren(die) <= 0 || walk->index->scope_count >= NODES_MAX)
		return;
	open_scope(walk, die);
	walk_children(walk, die, node, depth + 1);
	close_scope(walk);
}

static void walk_entry(struct walk *walk, Dwarf_Die *die, uint32_t parent, uint32_t depth)
{
	switch (dwarf_tag(die)) {
	case DW_TAG_subprogram:
		/* A function inside a function is not part of it. */
		walk_scope(walk, die, add_ranges(walk, die, SEEP_INTERVAL_NONE, depth), depth);
		break;
	case DW_TAG_inlined_subroutine:
		walk_children(walk, die, add_inlined(walk, die, parent, depth), depth + 1);
		break;
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_with_stmt:
		walk_children(walk, die, parent, depth + 1);
		break;
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_interface_type:
		walk_scope(walk, die, SEEP_INTERVAL_NONE, depth);
		break;
	default:
		break;
	}
}

static void walk_children(struct walk *walk, Dwarf_Die *parent_die, uint32_t parent, uint32_t depth)
{
	Dwarf_Die die;

	if (depth > DEPTH_MAX || dwarf_child(parent_die, &die) != 0)
		return;
	for (;;) {
		void *here = die.addr;

		walk->last = here;
		walk_entry(walk, &die, parent, depth);
		/* DW_AT_sibling of a damaged file may lead back. */
		if (dwarf_siblingof(&die, &die) != 0 || die.addr <= here)
			return;
	}
}

struct dwarf_unit_index *dwarf_unit_index_new(Dwarf_Die *unit, const struct seep_elf *elf)
{
	struct dwarf_unit_index *index = seep_xcalloc(1, sizeof(*index));
	struct walk walk = {
		.index = index, .elf = elf, .ranges_left = RANGES_MAX, .scope = SEEP_INTERVAL_NONE
	};

	index->cu = unit->cu;
	walk_children(&walk, unit, SEEP_INTERVAL_NONE, 0);
	seep_segments_build(&index->segments, &walk.intervals);
	seep_interval_list_done(&walk.intervals);
	return index;
}

void dwarf_unit_index_free(struct dwarf_unit_index *index)
{
	if (!index)
		return;
	seep_segments_done(&index->segments);
	free(index->nodes);
	free(index->scopes);
	free(index);
}
