/* SPDX-License-Identifier: MIT */
/*
 * Entries lie one after the other, children after their parent: the walk is one pass over the bytes
 * with a stack of open parents. What cannot contain functions is jumped over where the parent says
 * where its next sibling is, and is read through, dead, where it does not.
 */
#include "symbol/dwarf_unit.h"

#include "base/work.h"
#include "base/xalloc.h"
#include "symbol/dwarf_entry.h"

#include <dwarf.h>
#include <stdlib.h>

/* Far beyond what compilers write, and small enough for the stack and for memory. */
enum { DEPTH_MAX = 1024, NODES_MAX = 1 << 24 };

/* A parent whose children are being read. */
struct level {
	uint32_t node; /* what inlined children are inlined into */
	bool is_scope;
	bool is_dead; /* nothing inside counts */
};

struct walk {
	struct dwarf_unit_index *index;
	const struct seep_elf *elf;
	struct seep_interval_list intervals;
	uint32_t scope; /* the innermost open one */
	uint32_t depth;
	struct level levels[DEPTH_MAX];
};

static uint32_t add_node(struct walk *walk, const struct dwarf_entry *entry, uint32_t parent)
{
	struct dwarf_unit_index *index = walk->index;

	if (index->node_count >= NODES_MAX)
		return SEEP_INTERVAL_NONE;
	*SEEP_APPEND(index->nodes, index->node_count) = (struct dwarf_node){ .at = entry->at,
									     .parent = parent };
	return (uint32_t)index->node_count - 1;
}

/* The code of @entry is *@node's, or when that is none, a new one's. */
static void add_ranges(struct walk *walk, const struct dwarf_entry *entry, uint32_t *node)
{
	struct dwarf_ranges ranges;
	uint64_t from;
	uint64_t to;

	dwarf_ranges_begin(entry, &ranges);
	while (dwarf_ranges_next(&ranges, &from, &to)) {
		/* Code that the linker dropped is at 0 or -1. */
		if (to <= from || !seep_elf_is_code(walk->elf, from))
			continue;
		if (*node == SEEP_INTERVAL_NONE)
			*node = add_node(walk, entry, SEEP_INTERVAL_NONE);
		if (*node == SEEP_INTERVAL_NONE)
			break;
		seep_interval_add(&walk->intervals, (struct seep_interval){
							    .from = from,
							    .to = to,
							    .depth = walk->depth,
							    .id = *node,
						    });
	}
}

/* The entry's children come next. */
static bool open_level(struct walk *walk, const struct dwarf_entry *entry, struct level level)
{
	struct dwarf_unit_index *index = walk->index;

	if (walk->depth == DEPTH_MAX)
		return false;
	level.is_scope &= index->scope_count < NODES_MAX;
	walk->levels[walk->depth++] = level;
	if (!level.is_scope)
		return true;
	*SEEP_APPEND(index->scopes, index->scope_count) = (struct dwarf_scope){
		.at = entry->at,
		.end = entry->unit->end,
		.parent = walk->scope,
	};
	walk->scope = (uint32_t)index->scope_count - 1;
	return true;
}

static void close_level(struct walk *walk, const uint8_t *at)
{
	struct dwarf_scope *scope;

	walk->depth--;
	if (!walk->levels[walk->depth].is_scope)
		return;
	scope = &walk->index->scopes[walk->scope];
	scope->end = at;
	walk->scope = scope->parent;
}

/* What @entry is to its children, in the place of what its parent is to it. */
static struct level read_entry(struct walk *walk, const struct dwarf_entry *entry,
			       struct level level)
{
	uint32_t parent = level.node;

	level = (struct level){ .node = SEEP_INTERVAL_NONE };
	switch (entry->abbrev->tag) {
	case DW_TAG_subprogram:
		/* A function inside a function is not part of it. */
		level.is_scope = true;
		if (entry->abbrev->has_code)
			add_ranges(walk, entry, &level.node);
		break;
	case DW_TAG_inlined_subroutine:
		/* Even without code of its own: what was inlined into it may have some. */
		if (parent != SEEP_INTERVAL_NONE)
			level.node = add_node(walk, entry, parent);
		if (level.node != SEEP_INTERVAL_NONE)
			add_ranges(walk, entry, &level.node);
		break;
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_with_stmt:
		level.node = parent;
		break;
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_interface_type:
	case DW_TAG_enumeration_type: /* rustc: with methods */
		level.is_scope = true;
		break;
	default:
		level.is_dead = true;
		break;
	}
	return level;
}

/* Read the entry at @at. Returns where the next one is, NULL at the end and at damage. */
static const uint8_t *step(struct walk *walk, const uint8_t *at)
{
	struct level level = walk->levels[walk->depth - 1];
	struct dwarf_entry entry = { 0 };
	const uint8_t *sibling;
	const uint8_t *next;

	if (!dwarf_entry_read(walk->index->unit, at, &entry)) {
		/* A zero ends the children. */
		if (at >= walk->index->unit->end || entry.abbrev || *at != 0)
			return NULL;
		close_level(walk, at);
		return entry.values;
	}
	if (!level.is_dead)
		level = read_entry(walk, &entry, level);
	next = dwarf_entry_end(&entry, &sibling);
	if (!next || !entry.abbrev->has_children)
		return next;
	if (level.is_dead && sibling)
		return sibling;
	return open_level(walk, &entry, level) ? next : NULL;
}

static void walk_unit(struct walk *walk)
{
	struct dwarf_unit *unit = walk->index->unit;
	struct dwarf_entry entry;
	const uint8_t *at;

	if (!dwarf_entry_read(unit, unit->entries, &entry) || !entry.abbrev->has_children)
		return;
	walk->levels[walk->depth++] = (struct level){ .node = SEEP_INTERVAL_NONE };
	at = dwarf_entry_end(&entry, &(const uint8_t *){ NULL });
	while (at && walk->depth && !seep_work_is_over())
		at = step(walk, at);
}

const struct dwarf_unit_index *dwarf_unit_walk(struct dwarf_unit *unit, const struct seep_elf *elf)
{
	struct walk walk = { .elf = elf, .scope = SEEP_INTERVAL_NONE };
	struct dwarf_unit_index *index;

	if (unit->index)
		return unit->index;
	unit->index = walk.index = index = seep_xcalloc(1, sizeof(*index));
	index->unit = unit;
	walk_unit(&walk);
	seep_segments_build(&index->segments, &walk.intervals);
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
