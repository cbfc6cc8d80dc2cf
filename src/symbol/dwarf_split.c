/* SPDX-License-Identifier: MIT */
#include "symbol/dwarf_split.h"

#include "base/xalloc.h"
#include "symbol/dwarf_entry.h"
#include "symbol/dwarf_package.h"

#include <dwarf.h>
#include <limits.h>
#include <stdio.h>
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
	size_t room;
	struct seep_idtable ids; /* of halves with a path, by its hash */
	struct seep_elf *package;
	bool package_sought;
};

struct dwarf_split *dwarf_split_new(const struct seep_debug_dirs *dirs, const char *const paths[2])
{
	struct dwarf_split *split = seep_xcalloc(1, sizeof(*split));

	split->dirs = dirs;
	split->paths[0] = paths[0];
	split->paths[1] = paths[1];
	seep_idtable_init(&split->ids, 0);
	return split;
}

void dwarf_split_free(struct dwarf_split *split)
{
	if (!split)
		return;
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

const char *dwarf_split_name(struct dwarf_unit *unit)
{
	const char *name = NULL;

	/* A split unit of version 4 names its own file too. */
	if (!unit->is_split && unit->id && unit->type != DW_UT_type)
		name = text_of(unit, unit->version >= 5 ? DW_AT_dwo_name : DW_AT_GNU_dwo_name);
	return name && *name ? name : NULL;
}

static struct half *add_half(struct dwarf_split *split)
{
	struct half *half = seep_xcalloc(1, sizeof(*half));

	split->halves = seep_xgrow(split->halves, &split->room, split->count + 1,
				   sizeof(struct half *));
	split->halves[split->count++] = half;
	return half;
}

/* What the unit's other half shares with the skeleton's file. */
static void borrow_parts(struct dwarf_parts *parts, const struct dwarf_unit *skeleton)
{
	const struct dwarf_parts *linked = &skeleton->file->parts;

	parts->at[DWARF_ADDR] = linked->at[DWARF_ADDR];
	/* Lists of version 4 stay in the linked file. */
	parts->at[DWARF_RANGES] = linked->at[DWARF_RANGES];
}

static struct dwarf_unit *unit_of_id(struct dwarf_file *file, const struct dwarf_unit *skeleton)
{
	size_t i;

	for (i = 0; i < file->info_count; i++) {
		struct dwarf_unit *unit = &file->units[i];

		if (unit->type_offset || !dwarf_unit_prepare(unit) || unit->id != skeleton->id ||
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

/* ---- packages ----------------------------------------------------------------------------- */

static bool open_package(struct dwarf_split *split, const char *path)
{
	const char *problem;

	if (!seep_elf_open(path, &split->package, &problem))
		return false;
	if (seep_elf_has_section(split->package, ".debug_cu_index") &&
	    seep_elf_load(split->package))
		return true;
	seep_elf_close(split->package);
	split->package = NULL;
	return false;
}

static bool open_package_of(struct dwarf_split *split, const char *module)
{
	char path[PATH_MAX];
	size_t i;
	int bytes;

	bytes = snprintf(path, sizeof(path), "%s.dwp", module);
	if (bytes < 0 || (size_t)bytes >= sizeof(path))
		return false;
	if (open_package(split, path))
		return true;
	for (i = 0; i < seep_debug_place_count(split->dirs); i++) {
		char place[PATH_MAX];

		if (seep_debug_place(split->dirs, i, path, place) && open_package(split, place))
			return true;
	}
	return false;
}

static struct dwarf_unit *find_in_package(struct dwarf_split *split,
					  const struct dwarf_unit *skeleton)
{
	struct dwarf_parts parts;
	struct half *half;

	if (!split->package_sought) {
		split->package_sought = true;
		if (!split->paths[0] || !open_package_of(split, split->paths[0]))
			(void)(split->paths[1] && open_package_of(split, split->paths[1]));
	}
	if (!split->package || !dwarf_package_find(split->package, skeleton->id, &parts))
		return NULL;
	borrow_parts(&parts, skeleton);
	half = add_half(split);
	dwarf_file_init(&half->file, &parts);
	return unit_of_id(&half->file, skeleton);
}

/* ---- single files ------------------------------------------------------------------------- */

/* Opened once. */
static struct half *half_of(struct dwarf_split *split, const char *path,
			    const struct dwarf_unit *skeleton)
{
	uint64_t hash = seep_hash_text(0, path);
	size_t at = SEEP_IDTABLE_START;
	struct dwarf_parts parts;
	const char *problem;
	struct half *half;
	uint32_t id;

	while ((id = seep_idtable_find(&split->ids, hash, &at)) != SEEP_IDTABLE_NONE)
		if (strcmp(split->halves[id]->path, path) == 0)
			return split->halves[id];
	seep_idtable_add(&split->ids, hash, (uint32_t)split->count);
	half = add_half(split);
	half->path = seep_xstrdup(path);
	if (!seep_elf_open(path, &half->elf, &problem))
		return half;
	if (!seep_elf_has_section(half->elf, ".debug_info.dwo") || !seep_elf_load(half->elf)) {
		seep_elf_close(half->elf);
		half->elf = NULL;
		return half;
	}
	dwarf_parts_of(half->elf, true, &parts);
	borrow_parts(&parts, skeleton);
	dwarf_file_init(&half->file, &parts);
	return half;
}

static struct dwarf_unit *find_at(struct dwarf_split *split, const char *path,
				  const struct dwarf_unit *skeleton)
{
	struct half *half = half_of(split, path, skeleton);

	return half->elf ? unit_of_id(&half->file, skeleton) : NULL;
}

/* A compilation that hides where it happened leaves relative paths. */
static struct dwarf_unit *find_beside_module(struct dwarf_split *split, const char *name,
					     const struct dwarf_unit *skeleton)
{
	const char *slash = split->paths[0] ? strrchr(split->paths[0], '/') : NULL;
	char path[PATH_MAX];
	int bytes;

	if (!slash)
		return NULL;
	bytes = snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - split->paths[0]),
			 split->paths[0], name);
	return bytes > 0 && (size_t)bytes < sizeof(path) ? find_at(split, path, skeleton) : NULL;
}

static struct dwarf_unit *find_in_files(struct dwarf_split *split, struct dwarf_unit *skeleton,
					const char *name)
{
	const char *dir = text_of(skeleton, DW_AT_comp_dir);
	struct dwarf_unit *unit;
	char path[PATH_MAX];
	size_t i;
	int bytes;

	bytes = name[0] == '/' || !dir ? snprintf(path, sizeof(path), "%s", name)
				       : snprintf(path, sizeof(path), "%s/%s", dir, name);
	if (bytes < 0 || (size_t)bytes >= sizeof(path))
		return NULL;
	unit = path[0] == '/' ? find_at(split, path, skeleton)
			      : find_beside_module(split, path, skeleton);
	for (i = 0; !unit && i < seep_debug_place_count(split->dirs); i++) {
		char place[PATH_MAX];

		if (seep_debug_place(split->dirs, i, path, place))
			unit = find_at(split, place, skeleton);
	}
	return unit;
}

struct dwarf_unit *dwarf_split_find(struct dwarf_split *split, struct dwarf_unit *skeleton)
{
	const char *name = dwarf_split_name(skeleton);
	struct dwarf_unit *unit;

	if (!name)
		return NULL;
	unit = find_in_package(split, skeleton);
	return unit ? unit : find_in_files(split, skeleton, name);
}
