/* SPDX-License-Identifier: MIT */
#include "symbol/dwarf_split.h"

#include "base/path.h"
#include "base/work.h"
#include "base/xalloc.h"
#include "symbol/dwarf_entry.h"

#include <dwarf.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* A file of split units, or the part of a package that is one unit's. */
struct half {
	char *path;	      /* NULL: a part of the package */
	struct seep_elf *elf; /* NULL: there is no such file; or it is the package */
	struct dwarf_file file;
};

struct dwarf_split {
	const struct seep_debug_dirs *dirs;
	const char *paths[2];
	struct half **halves;
	size_t count;
	struct seep_idtable ids; /* of halves with a path, by its hash */
	struct seep_elf *package;
	bool package_sought;
};

struct dwarf_split *dwarf_split_new(const struct seep_debug_dirs *dirs, const char *module_path,
				    const char *debug_path)
{
	struct dwarf_split *split = seep_xcalloc(1, sizeof(*split));

	*split = (struct dwarf_split){ .dirs = dirs, .paths = { module_path, debug_path } };
	return split;
}

void dwarf_split_free(struct dwarf_split *split)
{
	for (size_t i = 0; i < split->count; i++) {
		struct half *half = split->halves[i];

		dwarf_file_done(&half->file);
		seep_elf_close(half->elf);
		free(half->path);
		free(half);
	}
	free(split->halves);
	seep_idtable_done(&split->ids);
	seep_elf_close(split->package);
	free(split);
}

static const char *text_of(struct dwarf_unit *unit, unsigned int name)
{
	struct dwarf_entry entry;

	return dwarf_entry_read(unit, unit->entries, &entry) ? dwarf_entry_text(&entry, name)
							     : NULL;
}

/* The name of the file that the rest of @unit is in; NULL when the unit is whole. */
static const char *half_name(struct dwarf_unit *unit)
{
	const char *name = NULL;

	/* A split unit of version 4 names its own file too. */
	if (!unit->is_split && unit->id)
		name = text_of(unit, unit->version >= 5 ? DW_AT_dwo_name : DW_AT_GNU_dwo_name);
	return name && *name ? name : NULL;
}

static struct half *add_half(struct dwarf_split *split)
{
	struct half *half = seep_xcalloc(1, sizeof(*half));

	*SEEP_APPEND(split->halves, split->count) = half;
	return half;
}

static struct dwarf_unit *unit_of_id(struct dwarf_file *file, const struct dwarf_unit *skeleton)
{
	for (size_t i = 0; i < file->unit_count && !seep_work_is_over(); i++) {
		struct dwarf_unit *unit = &file->units[i];

		if (!dwarf_unit_prepare(unit) || unit->id != skeleton->id ||
		    unit->version != skeleton->version)
			continue;
		unit->is_split = true;
		unit->addr_base = skeleton->addr_base;
		unit->base_address = skeleton->base_address;
		if (unit->version < 5)
			unit->ranges_base = skeleton->ranges_base;
		return unit;
	}
	return NULL;
}

/* The unit in @half, of @parts and what it shares with the skeleton's file. */
static struct dwarf_unit *unit_of_parts(struct half *half, struct dwarf_parts *parts,
					const struct dwarf_unit *skeleton)
{
	const struct dwarf_parts *linked = &skeleton->file->parts;

	parts->at[DWARF_ADDR] = linked->at[DWARF_ADDR];
	/* Lists of version 4 stay in the linked file. */
	parts->at[DWARF_RANGES] = linked->at[DWARF_RANGES];
	dwarf_file_init(&half->file, parts);
	return unit_of_id(&half->file, skeleton);
}

/*
 * .debug_cu_index is a hash table from ids to rows, and two tables of rows and columns: where the
 * part of each section starts, and how long it is. Version 2 is GNU's, version 5 the standard's;
 * they differ in what the columns' numbers mean.
 */
enum { COLUMNS_MAX = 16, BUCKETS_MAX = 1 << 26 };

struct package_index {
	uint32_t version;
	uint32_t column_count;
	uint32_t row_count;
	uint32_t bucket_count;
	struct seep_elf_bytes bytes; /* what follows the header */
};

static bool read_index(const struct seep_elf *elf, struct package_index *ret)
{
	struct seep_elf_bytes section = seep_elf_section(elf, ".debug_cu_index");
	struct core_reader reader = core_reader_of(section.data, section.bytes);
	uint64_t needed;

	/* Version 5 is a half word and a zero one. */
	ret->version = (uint32_t)core_read_number(&reader, 4);
	ret->column_count = (uint32_t)core_read_number(&reader, 4);
	ret->row_count = (uint32_t)core_read_number(&reader, 4);
	ret->bucket_count = (uint32_t)core_read_number(&reader, 4);
	if (reader.failed || (ret->version != 2 && ret->version != 5) ||
	    ret->column_count > COLUMNS_MAX || ret->bucket_count > BUCKETS_MAX ||
	    ret->row_count > ret->bucket_count ||
	    (ret->bucket_count & (ret->bucket_count - 1)) != 0)
		return false;
	ret->bytes = (struct seep_elf_bytes){ reader.at, core_reader_left(&reader) };
	needed = (uint64_t)ret->bucket_count * 12 +
		 (uint64_t)ret->column_count * 4 * (1 + 2 * (uint64_t)ret->row_count);
	return needed <= ret->bytes.bytes;
}

/* The row of @id, from 1; 0: it is not there. */
static uint32_t find_row(const struct package_index *index, uint64_t id)
{
	uint64_t mask = (uint64_t)index->bucket_count - 1;
	uint64_t bucket = id & mask;

	for (uint32_t steps = 0; steps < index->bucket_count && !seep_work_is_over(); steps++) {
		uint64_t found = core_load(index->bytes.data + bucket * 8, 8);
		uint64_t row = core_load(
			index->bytes.data + (uint64_t)index->bucket_count * 8 + bucket * 4, 4);

		if (row == 0 || row > index->row_count)
			return 0;
		if (found == id)
			return (uint32_t)row;
		bucket = (bucket + ((id >> 32 & mask) | 1)) & mask;
	}
	return 0;
}

/* A column's section; in version 2 some numbers mean others. DWARF_PART_COUNT: none of ours. */
static enum dwarf_part part_of_column(uint32_t version, uint64_t column)
{
	static const struct {
		uint8_t column, only; /* in that version */
		enum dwarf_part part;
	} columns[] = {
		{ 1, 0, DWARF_INFO },	     { 3, 0, DWARF_ABBREV },   { 4, 0, DWARF_LINE },
		{ 6, 0, DWARF_STR_OFFSETS }, { 8, 5, DWARF_RNGLISTS },
	};

	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		if (columns[i].column == column && (!columns[i].only || columns[i].only == version))
			return columns[i].part;
	return DWARF_PART_COUNT;
}

static bool cut(struct seep_elf_bytes *part, uint64_t from, uint64_t bytes)
{
	if (from > part->bytes || bytes > part->bytes - from)
		return false;
	*part = (struct seep_elf_bytes){ from ? part->data + from : part->data, bytes };
	return true;
}

/*
 * What the index of @elf, a loaded package, says about the unit @id: every section, cut to the
 * unit's part where it has one. False: the unit is not there, or the index is damaged.
 */
static bool find_parts(const struct seep_elf *elf, uint64_t id, struct dwarf_parts *ret)
{
	struct package_index index;
	uint64_t columns_at;
	uint64_t offsets_at;
	uint64_t sizes_at;
	uint32_t row;

	if (!read_index(elf, &index))
		return false;
	row = find_row(&index, id);
	if (row == 0)
		return false;
	dwarf_parts_of(elf, true, ret);
	columns_at = (uint64_t)index.bucket_count * 12;
	offsets_at = columns_at + (uint64_t)index.column_count * 4 * row;
	sizes_at = offsets_at + (uint64_t)index.column_count * 4 * index.row_count;
	for (uint32_t i = 0; i < index.column_count; i++) {
		enum dwarf_part part = part_of_column(
			index.version, core_load(index.bytes.data + columns_at + 4 * i, 4));

		if (part != DWARF_PART_COUNT &&
		    !cut(&ret->at[part], core_load(index.bytes.data + offsets_at + 4 * i, 4),
			 core_load(index.bytes.data + sizes_at + 4 * i, 4)))
			return false;
	}
	return true;
}

/* @path is taken. */
static bool open_package(struct dwarf_split *split, char *path)
{
	SEEP_FREED char *taken = path;

	if (seep_elf_open(path, &split->package))
		return false;
	if (seep_elf_has_section(split->package, ".debug_cu_index"))
		return true;
	seep_elf_close(split->package);
	split->package = NULL;
	return false;
}

static bool open_package_of(struct dwarf_split *split, const char *module)
{
	SEEP_FREED char *path = NULL;
	bool is_open;
	char *place;

	if (!module)
		return false;
	path = seep_xasprintf("%s.dwp", module);
	is_open = open_package(split, seep_xstrdup(path));
	for (size_t i = 0; !is_open && (place = seep_debug_place(split->dirs, i, path)); i++)
		is_open = open_package(split, place);
	return is_open;
}

static struct dwarf_unit *find_in_package(struct dwarf_split *split,
					  const struct dwarf_unit *skeleton)
{
	struct dwarf_parts parts;

	if (!split->package_sought) {
		split->package_sought = true;
		if (!open_package_of(split, split->paths[0]))
			(void)open_package_of(split, split->paths[1]);
	}
	if (!split->package || !find_parts(split->package, skeleton->id, &parts))
		return NULL;
	return unit_of_parts(add_half(split), &parts, skeleton);
}

/* In the file at @path, which is taken, and opened once. */
static struct dwarf_unit *find_at(struct dwarf_split *split, char *path,
				  const struct dwarf_unit *skeleton)
{
	uint64_t hash = seep_hash_text(0, path);
	size_t at = SEEP_IDTABLE_START;
	struct dwarf_parts parts;
	struct half *half;
	uint32_t id;

	while ((id = seep_idtable_find(&split->ids, hash, &at)) != SEEP_IDTABLE_NONE)
		if (strcmp(split->halves[id]->path, path) == 0) {
			free(path);
			return unit_of_id(&split->halves[id]->file, skeleton);
		}
	seep_idtable_add(&split->ids, hash, (uint32_t)split->count);
	half = add_half(split);
	half->path = path;
	if (seep_elf_open(path, &half->elf))
		return NULL;
	dwarf_parts_of(half->elf, true, &parts);
	/* There may be thousands of such files. */
	seep_elf_stop_reading(half->elf);
	return unit_of_parts(half, &parts, skeleton);
}

static struct dwarf_unit *find_in_files(struct dwarf_split *split, struct dwarf_unit *skeleton,
					const char *name)
{
	const char *dir = text_of(skeleton, DW_AT_comp_dir);
	const char *module = split->paths[0] ? split->paths[0] : "";
	int folder_bytes = (int)(seep_path_base(module) - module);
	SEEP_FREED char *path = NULL;
	struct dwarf_unit *unit = NULL;
	char *place;

	/* Each of millions of units may name one that is as long as the file. */
	if (strnlen(name, PATH_MAX) == PATH_MAX || (dir && strnlen(dir, PATH_MAX) == PATH_MAX))
		return NULL;
	path = name[0] == '/' || !dir ? seep_xstrdup(name) : seep_xasprintf("%s/%s", dir, name);
	/* A compilation that hides where it happened leaves relative paths: beside the module. */
	if (path[0] == '/')
		unit = find_at(split, seep_xstrdup(path), skeleton);
	else if (folder_bytes)
		unit = find_at(split, seep_xasprintf("%.*s%s", folder_bytes, module, path),
			       skeleton);
	for (size_t i = 0; !unit && (place = seep_debug_place(split->dirs, i, path)); i++)
		unit = find_at(split, place, skeleton);
	return unit;
}

struct dwarf_unit *dwarf_split_find(struct dwarf_split *split, struct dwarf_unit *unit,
				    const char **ret_missing)
{
	const char *name = half_name(unit);
	struct dwarf_unit *half = NULL;

	if (name)
		half = find_in_package(split, unit);
	if (name && !half)
		half = find_in_files(split, unit, name);
	*ret_missing = half ? NULL : name;
	return half;
}
