/* SPDX-License-Identifier: MIT */
#include "symbol/dwarf_index.h"

#include "base/xalloc.h"
#include "symbol/dwarf_name.h"
#include "symbol/dwarf_unit.h"
#include "symbol/line_table.h"

#include <dwarf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct unit {
	Dwarf_Die die;
	struct dwarf_unit_index *index; /* NULL until the first address falls into the unit */
	struct seep_line_table *lines;	/* the same */
	Dwarf_Die split;		/* the unit's other half in a .dwo file; addr NULL: none */
	const char **split_paths;	/* of its files, as far as they were needed */
	size_t split_path_count;
	bool is_skeleton;
	bool is_vague; /* may have code elsewhere than it says */
};

struct seep_dwarf {
	const struct seep_elf *elf;
	struct seep_arena *arena;
	Elf *handle;
	Elf *alternate_handle;
	Dwarf *dwarf;
	Dwarf *alternate;
	struct unit *units;
	size_t unit_count;
	size_t unit_room;
	struct seep_pointer_map units_by_cu;	   /* value: unit number + 1 */
	struct seep_pointer_map alternate_indexes; /* by cu: of units that dwz moved elsewhere */
	struct seep_segments segments;		   /* ids are units */
	struct seep_segments late_segments; /* of units that do not say where their code is */
	bool late_done;
	struct dwarf_names names;
};

static void add_unit_ranges(struct seep_dwarf *dwarf, struct seep_interval_list *list, uint32_t id)
{
	struct unit *unit = &dwarf->units[id];
	Dwarf_Addr base = 0;
	Dwarf_Addr from = 0;
	Dwarf_Addr to = 0;
	ptrdiff_t next = 0;
	bool any = false;

	while ((next = dwarf_ranges(&unit->die, next, &base, &from, &to)) > 0) {
		any = true;
		if (seep_elf_is_code(dwarf->elf, from))
			seep_interval_add(list, (struct seep_interval){
							.from = from,
							.to = to,
							.id = id,
						});
	}
	unit->is_vague |= !any;
}

static void add_unit(struct seep_dwarf *dwarf, Dwarf_Die *die, uint8_t type, Dwarf_Half version)
{
	uint32_t id = (uint32_t)dwarf->unit_count;

	dwarf->units = seep_xgrow(dwarf->units, &dwarf->unit_room, dwarf->unit_count + 1,
				  sizeof(*dwarf->units));
	dwarf->units[dwarf->unit_count++] = (struct unit){
		.die = *die,
		.is_skeleton = type == DW_UT_skeleton,
		/* DWARF 2 has no way to name more than one range. */
		.is_vague = version < 3,
	};
	seep_pointer_map_put(&dwarf->units_by_cu, (uintptr_t)die->cu, (void *)((uintptr_t)id + 1));
}

static void read_units(struct seep_dwarf *dwarf)
{
	struct seep_interval_list list = { 0 };
	Dwarf_CU *cu = NULL;
	uint32_t i;
	Dwarf_Half version;
	uint8_t type;
	Dwarf_Die die;

	while (dwarf->unit_count < SEEP_INTERVAL_NONE - 1 &&
	       dwarf_get_units(dwarf->dwarf, cu, &cu, &version, &type, &die, NULL) == 0)
		if (die.addr && type != DW_UT_type && type != DW_UT_split_type)
			add_unit(dwarf, &die, type, version);
	for (i = 0; i < dwarf->unit_count; i++)
		add_unit_ranges(dwarf, &list, i);
	seep_segments_build(&dwarf->segments, &list);
	seep_interval_list_done(&list);
}

static const char *unit_string(struct unit *unit, unsigned int name)
{
	Dwarf_Attribute attribute;

	return dwarf_attr(&unit->die, name, &attribute) ? dwarf_formstring(&attribute) : NULL;
}

/*
 * libdw opens whatever a skeleton names. Only regular files: reading a pipe would never end.
 */
static bool split_file_exists(struct unit *unit)
{
	const char *name = unit_string(unit, DW_AT_dwo_name);
	const char *dir = unit_string(unit, DW_AT_comp_dir);
	char path[PATH_MAX];
	struct stat st;
	int bytes;

	if (!name)
		name = unit_string(unit, DW_AT_GNU_dwo_name);
	if (!name)
		return false;
	if (stat(name, &st) == 0)
		return S_ISREG(st.st_mode);
	bytes = snprintf(path, sizeof(path), "%s/%s", dir ? dir : ".", name);
	return bytes > 0 && (size_t)bytes < sizeof(path) && stat(path, &st) == 0 &&
	       S_ISREG(st.st_mode);
}

static void find_split(struct seep_dwarf *dwarf, struct unit *unit)
{
	Dwarf_Half version;
	uint8_t type;
	Dwarf_Die die;
	Dwarf_Die split;
	uint64_t id;
	uint8_t address_bytes;
	uint8_t offset_bytes;

	if (!unit->is_skeleton || !split_file_exists(unit))
		return;
	if (dwarf_cu_info(unit->die.cu, &version, &type, &die, &split, &id, &address_bytes,
			  &offset_bytes) == 0 &&
	    split.addr) {
		unit->split = split;
		seep_pointer_map_put(&dwarf->units_by_cu, (uintptr_t)split.cu,
				     (void *)(uintptr_t)(unit - dwarf->units + 1));
	}
}

static const struct dwarf_unit_index *unit_index(struct seep_dwarf *dwarf, struct unit *unit)
{
	if (unit->index)
		return unit->index;
	find_split(dwarf, unit);
	unit->index = dwarf_unit_index_new(unit->split.addr ? &unit->split : &unit->die,
					   dwarf->elf);
	return unit->index;
}

/* The unit is one of the alternate file's, of which no list was made. */
static const struct dwarf_unit_index *alternate_index(struct seep_dwarf *dwarf, Dwarf_CU *cu)
{
	struct dwarf_unit_index *index = seep_pointer_map_get(&dwarf->alternate_indexes,
							      (uintptr_t)cu);
	Dwarf_Half version;
	uint8_t type;
	Dwarf_Die die;

	if (index)
		return index;
	if (dwarf_cu_info(cu, &version, &type, &die, NULL, NULL, NULL, NULL) != 0 || !die.addr)
		return NULL;
	index = dwarf_unit_index_new(&die, dwarf->elf);
	seep_pointer_map_put(&dwarf->alternate_indexes, (uintptr_t)cu, index);
	return index;
}

static const struct dwarf_unit_index *find_index(void *opaque, Dwarf_CU *cu)
{
	struct seep_dwarf *dwarf = opaque;
	uintptr_t id = (uintptr_t)seep_pointer_map_get(&dwarf->units_by_cu, (uintptr_t)cu);

	return id ? unit_index(dwarf, &dwarf->units[id - 1]) : alternate_index(dwarf, cu);
}

static struct seep_line_table *unit_lines(struct seep_dwarf *dwarf, struct unit *unit)
{
	struct seep_line_source source = { .elf = dwarf->elf };
	Dwarf_Attribute attribute;
	Dwarf_Word offset;

	if (unit->lines)
		return unit->lines;
	source.offset = UINT64_MAX;
	if (dwarf_attr(&unit->die, DW_AT_stmt_list, &attribute) &&
	    dwarf_formudata(&attribute, &offset) == 0)
		source.offset = offset;
	source.unit_dir = unit_string(unit, DW_AT_comp_dir);
	source.unit_name = unit_string(unit, DW_AT_name);
	unit->lines = seep_line_table_new(&source, dwarf->arena);
	return unit->lines;
}

/* Walk the units that do not say where all their code is, when nothing else is left. */
static void read_late_units(struct seep_dwarf *dwarf)
{
	struct seep_interval_list list = { 0 };
	uint32_t i;

	dwarf->late_done = true;
	for (i = 0; i < dwarf->unit_count; i++) {
		const struct seep_segments *segments;
		size_t k;

		if (!dwarf->units[i].is_vague)
			continue;
		segments = &unit_index(dwarf, &dwarf->units[i])->segments;
		for (k = 0; k + 1 < segments->count; k++)
			if (segments->items[k].id != SEEP_INTERVAL_NONE)
				seep_interval_add(&list, (struct seep_interval){
								 .from = segments->items[k].from,
								 .to = segments->items[k + 1].from,
								 .id = i,
							 });
	}
	seep_segments_build(&dwarf->late_segments, &list);
	seep_interval_list_done(&list);
}

static struct unit *find_unit(struct seep_dwarf *dwarf, uint64_t address)
{
	uint32_t id = seep_segments_find(&dwarf->segments, address);

	if (id == SEEP_INTERVAL_NONE) {
		if (!dwarf->late_done)
			read_late_units(dwarf);
		id = seep_segments_find(&dwarf->late_segments, address);
	}
	return id == SEEP_INTERVAL_NONE ? NULL : &dwarf->units[id];
}

static uint64_t attribute_number(Dwarf_Die *die, unsigned int name, uint64_t otherwise)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value = 0;

	if (!dwarf_attr(die, name, &attribute) || dwarf_formudata(&attribute, &value) != 0)
		return otherwise;
	return value;
}

static struct dwarf_node *get_node(struct seep_dwarf *dwarf, const struct dwarf_unit_index *index,
				   uint32_t id)
{
	struct dwarf_node *node = &index->nodes[id];

	if (!node->function) {
		Dwarf_Die die = dwarf_unit_entry(index, node->addr);

		node->function = dwarf_names_of(&dwarf->names, &die);
		node->call_file = attribute_number(&die, DW_AT_call_file, UINT64_MAX);
		node->call_line = (uint32_t)attribute_number(&die, DW_AT_call_line, 0);
	}
	return node;
}

/* A split unit numbers its files by a table of its own, without rows. */
static const char *split_path(struct seep_dwarf *dwarf, struct unit *unit, uint64_t file)
{
	Dwarf_Files *files;
	const char *path;
	size_t count;

	if (dwarf_getsrcfiles(&unit->split, &files, &count) != 0 || file >= count)
		return NULL;
	if (!unit->split_paths) {
		unit->split_paths = seep_xcalloc(count, sizeof(*unit->split_paths));
		unit->split_path_count = count;
	}
	if (file < unit->split_path_count && !unit->split_paths[file]) {
		path = dwarf_filesrc(files, file, NULL, NULL);
		if (path)
			unit->split_paths[file] = seep_arena_strndup(dwarf->arena, path,
								     strlen(path));
	}
	return file < unit->split_path_count ? unit->split_paths[file] : NULL;
}

static const char *call_path(struct seep_dwarf *dwarf, struct unit *unit, uint64_t file)
{
	if (unit->split.addr)
		return split_path(dwarf, unit, file);
	return seep_line_table_path(unit_lines(dwarf, unit), file);
}

static void name_frame(struct seep_symbol_frame *frame, const struct dwarf_node *node)
{
	frame->function = node->function->name;
	frame->linkage_name = node->function->linkage;
	frame->inlined = node->parent != SEEP_INTERVAL_NONE;
}

size_t seep_dwarf_lookup(struct seep_dwarf *dwarf, uint64_t address,
			 struct seep_symbol_frame *frames, size_t frames_max)
{
	struct unit *unit = find_unit(dwarf, address);
	const struct dwarf_unit_index *index;
	struct dwarf_node *node;
	uint32_t file = 0;
	size_t count = 1;
	uint32_t id;

	if (!unit)
		return 0;
	index = unit_index(dwarf, unit);
	id = seep_segments_find(&index->segments, address);
	frames[0] = (struct seep_symbol_frame){ 0 };
	if (seep_line_table_find(unit_lines(dwarf, unit), address, &file, &frames[0].line))
		frames[0].file = seep_line_table_path(unit->lines, file);
	if (id == SEEP_INTERVAL_NONE)
		return frames[0].file ? 1 : 0;
	node = get_node(dwarf, index, id);
	name_frame(&frames[0], node);
	while (node->parent != SEEP_INTERVAL_NONE) {
		struct dwarf_node *parent = get_node(dwarf, index, node->parent);

		/* Without room for all, the function that was really called takes the last place. */
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

static Dwarf *open_handle(const struct seep_elf *elf, Elf **ret_handle)
{
	*ret_handle = elf_memory((char *)elf->image, elf->image_bytes);
	return *ret_handle ? dwarf_begin_elf(*ret_handle, DWARF_C_READ, NULL) : NULL;
}

struct seep_dwarf *seep_dwarf_open(const struct seep_elf *elf, const struct seep_elf *alternate,
				   struct seep_arena *arena)
{
	struct seep_dwarf *dwarf = seep_xcalloc(1, sizeof(*dwarf));

	dwarf->elf = elf;
	dwarf->arena = arena;
	dwarf->names =
		(struct dwarf_names){ .arena = arena, .find_index = find_index, .opaque = dwarf };
	dwarf->dwarf = open_handle(elf, &dwarf->handle);
	if (!dwarf->dwarf) {
		seep_dwarf_close(dwarf);
		return NULL;
	}
	if (alternate) {
		dwarf->alternate = open_handle(alternate, &dwarf->alternate_handle);
		if (dwarf->alternate)
			dwarf_setalt(dwarf->dwarf, dwarf->alternate);
	}
	read_units(dwarf);
	if (!dwarf->unit_count) {
		seep_dwarf_close(dwarf);
		return NULL;
	}
	return dwarf;
}

static void free_index(void *index)
{
	dwarf_unit_index_free(index);
}

void seep_dwarf_close(struct seep_dwarf *dwarf)
{
	size_t i;

	if (!dwarf)
		return;
	for (i = 0; i < dwarf->unit_count; i++) {
		dwarf_unit_index_free(dwarf->units[i].index);
		seep_line_table_free(dwarf->units[i].lines);
		free(dwarf->units[i].split_paths);
	}
	free(dwarf->units);
	seep_pointer_map_done(&dwarf->units_by_cu);
	seep_pointer_map_each(&dwarf->alternate_indexes, free_index);
	seep_pointer_map_done(&dwarf->alternate_indexes);
	seep_pointer_map_done(&dwarf->names.functions);
	seep_segments_done(&dwarf->segments);
	seep_segments_done(&dwarf->late_segments);
	(void)dwarf_end(dwarf->dwarf);
	(void)dwarf_end(dwarf->alternate);
	(void)elf_end(dwarf->handle);
	(void)elf_end(dwarf->alternate_handle);
	free(dwarf);
}
