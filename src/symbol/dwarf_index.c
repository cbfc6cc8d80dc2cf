/* SPDX-License-Identifier: MIT */
#include "symbol/dwarf_index.h"

#include "base/work.h"
#include "base/xalloc.h"
#include "symbol/dwarf_entry.h"
#include "symbol/dwarf_name.h"
#include "symbol/dwarf_split.h"
#include "symbol/line_table.h"

#include <dwarf.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct seep_dwarf {
	struct seep_dwarf_source source;
	struct dwarf_file file;
	struct dwarf_file alternate;
	struct dwarf_split *split;
	const char *missing;
	struct seep_segments segments;	    /* ids are units */
	struct seep_segments late_segments; /* of units that do not say where their code is */
	bool late_done;
	struct dwarf_names names;
};

/*
 * Of an inline function that several units have, the linker keeps the first one's code and lets the
 * others' descriptions point to it: the first unit is inside, where they start together.
 */
static void add_unit_ranges(struct seep_dwarf *dwarf, struct seep_interval_list *list, uint32_t id)
{
	struct dwarf_unit *unit = &dwarf->file.units[id];
	struct dwarf_ranges ranges;
	struct dwarf_entry entry;
	bool any = false;
	uint64_t from;
	uint64_t to;

	if (!dwarf_unit_prepare(unit) || !dwarf_entry_read(unit, unit->entries, &entry))
		return;
	dwarf_ranges_begin(&entry, &ranges);
	while (dwarf_ranges_next(&ranges, &from, &to)) {
		any = true;
		if (seep_elf_is_code(dwarf->source.elf, from))
			seep_interval_add(list, (struct seep_interval){
							.from = from,
							.to = to,
							.depth = UINT32_MAX - id,
							.id = id,
						});
	}
	/* DWARF 2 has no way to name more than one range. */
	unit->is_vague = !any || unit->version < 3;
}

static void read_units(struct seep_dwarf *dwarf)
{
	struct seep_interval_list list = { 0 };

	for (uint32_t i = 0; i < dwarf->file.unit_count && !seep_work_is_over(); i++)
		add_unit_ranges(dwarf, &list, i);
	seep_segments_build(&dwarf->segments, &list);
}

/* The unit whose tree has the functions: the other half of a skeleton where there is one. */
static struct dwarf_unit *whole_unit(struct seep_dwarf *dwarf, struct dwarf_unit *unit)
{
	const char *missing;

	if (!unit->split_sought) {
		unit->split_sought = true;
		unit->split = dwarf_split_find(dwarf->split, unit, &missing);
		if (missing && !dwarf->missing)
			dwarf->missing = seep_arena_strndup(dwarf->source.arena, missing,
							    strnlen(missing, PATH_MAX));
	}
	return unit->split ? unit->split : unit;
}

static const struct dwarf_unit_index *unit_index(struct seep_dwarf *dwarf, uint32_t id)
{
	return dwarf_unit_walk(whole_unit(dwarf, &dwarf->file.units[id]), dwarf->source.elf);
}

/* @skeleton: of @unit, or NULL. */
static struct seep_line_table *unit_lines(struct seep_dwarf *dwarf, struct dwarf_unit *unit,
					  struct dwarf_unit *skeleton)
{
	struct seep_line_source source = { .elf = dwarf->source.elf,
					   .parts = &unit->file->parts,
					   .offset = UINT64_MAX };
	struct dwarf_entry entry;

	if (unit->lines)
		return unit->lines;
	if (dwarf_entry_read(unit, unit->entries, &entry)) {
		source.offset = dwarf_entry_number(&entry, DW_AT_stmt_list, UINT64_MAX);
		source.unit_dir = dwarf_entry_text(&entry, DW_AT_comp_dir);
		source.unit_name = dwarf_entry_text(&entry, DW_AT_name);
	}
	if (skeleton && !source.unit_dir && dwarf_entry_read(skeleton, skeleton->entries, &entry))
		source.unit_dir = dwarf_entry_text(&entry, DW_AT_comp_dir);
	unit->lines = seep_line_table_new(&source, dwarf->source.arena);
	return unit->lines;
}

/* Walk the units that do not say where all their code is, when nothing else is left. */
static void read_late_units(struct seep_dwarf *dwarf)
{
	struct seep_interval_list list = { 0 };

	dwarf->late_done = true;
	for (uint32_t i = 0; i < dwarf->file.unit_count && !seep_work_is_over(); i++) {
		const struct seep_segments *segments;

		if (!dwarf->file.units[i].is_vague)
			continue;
		segments = &unit_index(dwarf, i)->segments;
		for (size_t k = 0; k + 1 < segments->count; k++)
			if (segments->items[k].id != SEEP_INTERVAL_NONE)
				seep_interval_add(&list, (struct seep_interval){
								 .from = segments->items[k].from,
								 .to = segments->items[k + 1].from,
								 .id = i,
							 });
	}
	seep_segments_build(&dwarf->late_segments, &list);
}

static uint32_t find_unit(struct seep_dwarf *dwarf, uint64_t address)
{
	uint32_t id = seep_segments_find(&dwarf->segments, address);

	if (id == SEEP_INTERVAL_NONE) {
		if (!dwarf->late_done)
			read_late_units(dwarf);
		id = seep_segments_find(&dwarf->late_segments, address);
	}
	return id;
}

static struct dwarf_node *get_node(struct seep_dwarf *dwarf, const struct dwarf_unit_index *index,
				   uint32_t id)
{
	struct dwarf_node *node = &index->nodes[id];
	struct dwarf_entry entry;

	if (node->function || !dwarf_entry_read(index->unit, node->at, &entry))
		return node;
	node->function = dwarf_names_of(&dwarf->names, &entry);
	node->call_file = dwarf_entry_number(&entry, DW_AT_call_file, UINT64_MAX);
	node->call_line = (uint32_t)dwarf_entry_number(&entry, DW_AT_call_line, 0);
	return node;
}

/*
 * The other half of a unit may number its files by a table of its own, without rows; when it has
 * none, the skeleton's counts.
 */
static const char *call_path(struct seep_dwarf *dwarf, struct dwarf_unit *unit, uint64_t file)
{
	struct seep_line_table *lines = unit_lines(dwarf, unit, NULL);
	struct dwarf_unit *split = unit->split;

	if (split && split->file->parts.at[DWARF_LINE].bytes &&
	    seep_line_table_has_files(unit_lines(dwarf, split, unit)))
		lines = split->lines;
	return seep_line_table_path(lines, file);
}

static void name_frame(struct seep_symbol_frame *frame, const struct dwarf_node *node)
{
	if (node->function) {
		frame->function = node->function->name;
		frame->linkage_name = node->function->linkage;
	}
	frame->inlined = node->parent != SEEP_INTERVAL_NONE;
}

size_t seep_dwarf_lookup(struct seep_dwarf *dwarf, uint64_t address,
			 struct seep_symbol_frame *frames, size_t frames_max)
{
	uint32_t unit_id = find_unit(dwarf, address);
	const struct dwarf_unit_index *index;
	struct dwarf_unit *unit;
	struct dwarf_node *node;
	size_t count = 1;
	uint32_t id;

	if (unit_id == SEEP_INTERVAL_NONE)
		return 0;
	unit = &dwarf->file.units[unit_id];
	index = unit_index(dwarf, unit_id);
	id = seep_segments_find(&index->segments, address);
	frames[0] = (struct seep_symbol_frame){ 0 };
	frames[0].file = seep_line_table_find(unit_lines(dwarf, unit, NULL), address,
					      &frames[0].line);
	if (id == SEEP_INTERVAL_NONE)
		return frames[0].file ? 1 : 0;
	node = get_node(dwarf, index, id);
	name_frame(&frames[0], node);
	while (node->parent != SEEP_INTERVAL_NONE) {
		struct dwarf_node *parent = get_node(dwarf, index, node->parent);

		/* Without room for all, the function really called takes the last place. */
		if (count < frames_max)
			count++;
		frames[count - 1] = (struct seep_symbol_frame){
			.file = call_path(dwarf, unit, node->call_file),
			.line = node->call_line,
		};
		name_frame(&frames[count - 1], parent);
		node = parent;
	}
	return count;
}

const char *seep_dwarf_missing(const struct seep_dwarf *dwarf)
{
	return dwarf->missing;
}

struct seep_dwarf *seep_dwarf_open(const struct seep_dwarf_source *source)
{
	struct seep_dwarf *dwarf = seep_xcalloc(1, sizeof(*dwarf));
	struct dwarf_parts parts;

	dwarf->source = *source;
	dwarf->split = dwarf_split_new(source->dirs, source->module_path, source->elf->path);
	dwarf->names = (struct dwarf_names){ .arena = source->arena, .elf = source->elf };
	dwarf_parts_of(source->elf, false, &parts);
	dwarf_file_init(&dwarf->file, &parts);
	if (source->alternate) {
		dwarf_parts_of(source->alternate, false, &parts);
		dwarf_file_init(&dwarf->alternate, &parts);
		dwarf->file.alternate = &dwarf->alternate;
	}
	read_units(dwarf);
	if (!dwarf->file.unit_count) {
		seep_dwarf_close(dwarf);
		return NULL;
	}
	return dwarf;
}

void seep_dwarf_close(struct seep_dwarf *dwarf)
{
	if (!dwarf)
		return;
	dwarf_names_done(&dwarf->names);
	seep_segments_done(&dwarf->segments);
	seep_segments_done(&dwarf->late_segments);
	dwarf_split_free(dwarf->split);
	dwarf_file_done(&dwarf->file);
	dwarf_file_done(&dwarf->alternate);
	free(dwarf);
}
