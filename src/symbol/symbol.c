/* SPDX-License-Identifier: MIT */
#include "symbol/symbol.h"

#include "base/strbuf.h"
#include "base/xalloc.h"
#include "core/fnv.h"
#include "symbol/debug_file.h"
#include "symbol/demangle.h"
#include "symbol/dwarf_index.h"
#include "symbol/inflate.h"
#include "symbol/pointer_map.h"
#include "symbol/symtab.h"

#include <stdlib.h>
#include <string.h>

/* Of a linkage name that is kept: what is longer helps nobody. */
enum { NAME_MAX_BYTES = 64 << 10, PROBLEM_MAX_BYTES = 8 << 10 };

struct seep_symbol_module {
	struct seep_symbols *symbols;
	struct seep_symbol_module *next; /* of the same hash */
	char *path;
	uint8_t build_id[SEEP_BUILD_ID_MAX_BYTES];
	size_t build_id_bytes;
	const char *problem;
	struct seep_elf *main;	    /* the file that was loaded; NULL: gone or another one */
	struct seep_elf *separate;  /* with the DWARF that main lacks */
	struct seep_elf *alternate; /* what dwz moved out of either */
	struct seep_elf *mini;	    /* the symbol table inside .gnu_debugdata */
	uint8_t *mini_bytes;
	struct seep_dwarf *dwarf;
	struct seep_symtab symtab;
	struct seep_pointer_map symbols_named; /* struct symbol_name by address of the name */
	bool lacks_alternate;		       /* what dwz moved elsewhere was not found */
};

/* A name of the symbol table, in the arena. */
struct symbol_name {
	const char *function;
	const char *linkage; /* NULL when it is the same */
};

struct seep_symbols {
	struct seep_arena *arena;
	struct seep_debug_dirs dirs;
	struct seep_pointer_map modules; /* by hash of path and build-id */
};

int seep_symbols_new(const struct seep_symbols_options *opt, struct seep_symbols **ret,
		     struct seep_error *err)
{
	struct seep_debuginfod *servers = NULL;
	struct seep_symbols *symbols;
	const char **dirs;
	size_t i;

	if (opt && opt->debuginfod) {
		int rc = seep_debuginfod_new(&servers, err);

		if (rc < 0)
			return rc;
	}
	symbols = seep_xcalloc(1, sizeof(*symbols));
	symbols->arena = seep_arena_new();
	if (opt && opt->debug_dir_count) {
		dirs = seep_arena_alloc(symbols->arena, opt->debug_dir_count * sizeof(*dirs));
		for (i = 0; i < opt->debug_dir_count; i++)
			dirs[i] = seep_arena_strndup(symbols->arena, opt->debug_dirs[i],
						     strlen(opt->debug_dirs[i]));
		symbols->dirs = (struct seep_debug_dirs){ .items = dirs,
							  .count = opt->debug_dir_count };
	}
	symbols->dirs.servers = servers;
	*ret = symbols;
	return 0;
}

static void module_free(struct seep_symbol_module *module)
{
	seep_dwarf_close(module->dwarf);
	seep_symtab_done(&module->symtab);
	seep_pointer_map_done(&module->symbols_named);
	seep_elf_close(module->main);
	seep_elf_close(module->separate);
	seep_elf_close(module->alternate);
	seep_elf_close(module->mini);
	free(module->mini_bytes);
	free(module->path);
	free(module);
}

static void free_chain(void *chain)
{
	struct seep_symbol_module *module = chain;

	while (module) {
		struct seep_symbol_module *next = module->next;

		module_free(module);
		module = next;
	}
}

void seep_symbols_free(struct seep_symbols *symbols)
{
	if (!symbols)
		return;
	seep_pointer_map_each(&symbols->modules, free_chain);
	seep_pointer_map_done(&symbols->modules);
	seep_debuginfod_free(symbols->dirs.servers);
	seep_arena_free(symbols->arena);
	free(symbols);
}

const char *seep_symbols_trouble(const struct seep_symbols *symbols)
{
	return seep_debuginfod_trouble(symbols->dirs.servers);
}

static bool load(struct seep_elf **elf)
{
	if (*elf && !seep_elf_load(*elf)) {
		seep_elf_close(*elf);
		*elf = NULL;
	}
	return *elf != NULL;
}

/* @name, a file with a part of the module's debug information, is not to be had. */
static void set_missing(struct seep_symbol_module *module, const char *name)
{
	struct seep_strbuf text;

	seep_strbuf_init(&text, PROBLEM_MAX_BYTES);
	seep_strbuf_addf(&text, "%s with its debug information was not found", name);
	module->problem = seep_arena_strndup(module->symbols->arena, text.text, text.length);
	seep_strbuf_done(&text);
}

/* @elf has the module's DWARF, and what dwz moved elsewhere is looked for. */
static void open_dwarf(struct seep_symbol_module *module, const struct seep_elf *elf)
{
	module->alternate = seep_debug_find_alternate(&module->symbols->dirs, elf);
	module->lacks_alternate = !load(&module->alternate) &&
				  seep_elf_has_section(elf, ".gnu_debugaltlink");
	if (module->lacks_alternate)
		set_missing(module, seep_debug_alternate_name(elf));
	module->dwarf = seep_dwarf_open(&(struct seep_dwarf_source){
		.elf = elf,
		.alternate = module->alternate,
		.dirs = &module->symbols->dirs,
		.module_path = module->path,
		.arena = module->symbols->arena,
	});
}

static void open_mini(struct seep_symbol_module *module)
{
	struct seep_elf_bytes packed = seep_elf_section(module->main, ".gnu_debugdata");
	const char *problem;
	size_t bytes;

	if (!packed.bytes ||
	    !seep_inflate_xz(packed.data, packed.bytes, &module->mini_bytes, &bytes) ||
	    !seep_elf_open_memory(module->mini_bytes, bytes, &module->mini, &problem))
		return;
	if (load(&module->mini))
		seep_symtab_add(&module->symtab, module->mini);
}

static void explain(struct seep_symbol_module *module)
{
	if (module->dwarf && !module->lacks_alternate)
		module->problem = NULL;
	else if (module->dwarf || module->problem)
		return;
	else if (!module->main)
		module->problem = "file cannot be read";
	else if (module->symtab.count)
		module->problem = "no debug information";
	else
		module->problem = "no debug information and no symbols";
}

static void open_files(struct seep_symbol_module *module)
{
	const struct seep_debug_dirs *dirs = &module->symbols->dirs;
	struct seep_debug_query query = { .path = module->path,
					  .build_id = module->build_id,
					  .build_id_bytes = module->build_id_bytes };

	/* "[vdso]", "[heap]": the kernel's names for what is no file. */
	if (module->path[0] == '[')
		module->problem = "not a file";
	else
		module->main = seep_debug_find_main(dirs, &query, &module->problem);
	if (load(&module->main) && seep_elf_has_dwarf(module->main))
		open_dwarf(module, module->main);
	if (!module->dwarf) {
		module->separate = seep_debug_find_separate(dirs, &query, module->main);
		if (load(&module->separate))
			open_dwarf(module, module->separate);
	}
	if (!module->main && !module->dwarf) {
		module->main = seep_debug_fetch_main(dirs, &query);
		(void)load(&module->main);
	}
	if (module->main)
		seep_symtab_add(&module->symtab, module->main);
	if (module->separate)
		seep_symtab_add(&module->symtab, module->separate);
	if (module->main)
		open_mini(module);
	seep_symtab_finish(&module->symtab);
	explain(module);
}

/* Only the start of a search. */
static uint64_t hash_of(const char *path, const uint8_t *build_id, size_t build_id_bytes)
{
	uint64_t hash = core_fnv_bytes(CORE_FNV_BASIS, path, strlen(path));

	hash = core_fnv_bytes(hash, build_id, build_id_bytes);
	return hash ? hash : 1;
}

struct seep_symbol_module *seep_symbols_module(struct seep_symbols *symbols, const char *path,
					       const uint8_t *build_id, size_t build_id_bytes)
{
	struct seep_symbol_module *first;
	struct seep_symbol_module *module;
	uint64_t hash;

	if (!build_id || build_id_bytes > SEEP_BUILD_ID_MAX_BYTES)
		build_id_bytes = 0;
	hash = hash_of(path, build_id, build_id_bytes);
	first = seep_pointer_map_get(&symbols->modules, hash);
	for (module = first; module; module = module->next)
		if (strcmp(module->path, path) == 0 && module->build_id_bytes == build_id_bytes &&
		    (!build_id_bytes || memcmp(module->build_id, build_id, build_id_bytes) == 0))
			return module;
	module = seep_xcalloc(1, sizeof(*module));
	module->symbols = symbols;
	module->next = first;
	module->path = seep_xstrdup(path);
	if (build_id_bytes)
		memcpy(module->build_id, build_id, build_id_bytes);
	module->build_id_bytes = build_id_bytes;
	seep_pointer_map_put(&symbols->modules, hash, module);
	open_files(module);
	return module;
}

const char *seep_symbol_module_problem(const struct seep_symbol_module *module)
{
	return module->problem;
}

static struct symbol_name *read_symbol(struct seep_arena *arena, const char *name)
{
	struct symbol_name *symbol = seep_arena_alloc(arena, sizeof(*symbol));
	size_t name_bytes = strnlen(name, NAME_MAX_BYTES);
	size_t version_at = strcspn(name, "@");
	size_t bytes = seep_name_base_bytes(name);
	const char *base;

	bytes = bytes < version_at ? bytes : version_at;
	bytes = bytes < name_bytes ? bytes : name_bytes;
	base = seep_arena_strndup(arena, name, bytes);
	symbol->function = seep_demangle(arena, base);
	if (!symbol->function)
		symbol->function = base;
	if (strcmp(symbol->function, name) != 0)
		symbol->linkage = seep_arena_strndup(arena, name, name_bytes);
	return symbol;
}

/*
 * Versions ("memcpy@@GLIBC_2.14") and optimisers' suffixes are not part of the function's name, so
 * that it is called the same with and without DWARF.
 */
static const struct symbol_name *symbol_at(struct seep_symbol_module *module, uint64_t address)
{
	const char *name = seep_symtab_find(&module->symtab, address);
	struct symbol_name *symbol;

	if (!name)
		return NULL;
	symbol = seep_pointer_map_get(&module->symbols_named, (uintptr_t)name);
	if (!symbol) {
		symbol = read_symbol(module->symbols->arena, name);
		seep_pointer_map_put(&module->symbols_named, (uintptr_t)name, symbol);
	}
	return symbol;
}

static void name_by_symtab(struct seep_symbol_module *module, uint64_t address,
			   struct seep_symbol_frame *frame)
{
	const struct symbol_name *symbol;

	if (frame->linkage_name)
		return;
	symbol = symbol_at(module, address);
	if (!symbol)
		return;
	/* DWARF has the plain name of a static C++ function; its symbol also says whose it is. */
	if (frame->function && !(symbol->linkage && strncmp(symbol->linkage, "_Z", 2) == 0))
		return;
	frame->function = symbol->function;
	frame->linkage_name = symbol->linkage;
}

/* Half of the debug information of a unit lies in another file, which is not to be had. */
static void note_missing(struct seep_symbol_module *module)
{
	const char *name = seep_dwarf_missing(module->dwarf);

	if (name && !module->problem)
		set_missing(module, name);
}

size_t seep_symbol_lookup(struct seep_symbol_module *module, uint64_t address,
			  struct seep_symbol_frame *frames, size_t frames_max)
{
	size_t count = 0;

	if (module->dwarf) {
		count = seep_dwarf_lookup(module->dwarf, address, frames, frames_max);
		note_missing(module);
	}
	if (count == 0) {
		frames[0] = (struct seep_symbol_frame){ 0 };
		count = 1;
	}
	name_by_symtab(module, address, &frames[count - 1]);
	return count;
}
