/* SPDX-License-Identifier: MIT */
#include "symbol/symbol.h"

#include "base/idtable.h"
#include "base/work.h"
#include "base/xalloc.h"
#include "symbol/debug_file.h"
#include "symbol/dwarf_index.h"
#include "symbol/symtab.h"

#include <stdlib.h>
#include <string.h>

enum { PROBLEM_MAX_BYTES = 8 << 10, PAGE_BYTES = 4096 };

struct seep_symbol_module {
	struct seep_symbols *symbols;
	char *path;
	uint8_t build_id[SEEP_BUILD_ID_MAX_BYTES];
	size_t build_id_bytes;
	const char *problem;
	struct seep_elf *main;	    /* the file that was loaded; NULL: gone or another one */
	struct seep_elf *separate;  /* with the DWARF that main lacks */
	struct seep_elf *alternate; /* what dwz moved out of either */
	struct seep_elf *mini;	    /* the symbol table inside .gnu_debugdata */
	struct seep_dwarf *dwarf;
	struct seep_symtab symtab;
};

struct seep_symbols {
	struct seep_arena *arena;
	struct seep_debug_dirs dirs;
	struct seep_symbol_module **modules;
	size_t count;
	struct seep_idtable ids; /* of modules, by path */
	bool is_in_part;	 /* something was not read to its end */
};

int seep_symbols_new(const struct seep_symbols_options *opt, struct seep_symbols **ret,
		     struct seep_error *err)
{
	struct seep_symbols *symbols = seep_xcalloc(1, sizeof(*symbols));
	int rc = 0;

	symbols->arena = seep_arena_new();
	if (opt)
		symbols->dirs = (struct seep_debug_dirs){ .items = opt->debug_dirs,
							  .count = opt->debug_dir_count };
	if (opt && opt->debuginfod)
		rc = seep_debuginfod_new(&symbols->dirs.servers, err);
	if (rc < 0)
		seep_symbols_free(symbols);
	else
		*ret = symbols;
	return rc;
}

static void module_free(struct seep_symbol_module *module)
{
	seep_dwarf_close(module->dwarf);
	seep_symtab_done(&module->symtab);
	seep_elf_close(module->main);
	seep_elf_close(module->separate);
	seep_elf_close(module->alternate);
	seep_elf_close(module->mini);
	free(module->path);
	free(module);
}

static void forget_modules(struct seep_symbols *symbols)
{
	for (size_t i = 0; i < symbols->count; i++)
		module_free(symbols->modules[i]);
	free(symbols->modules);
	symbols->modules = NULL;
	symbols->count = 0;
	seep_idtable_done(&symbols->ids);
}

void seep_symbols_begin(struct seep_symbols *symbols)
{
	if (symbols->is_in_part)
		forget_modules(symbols);
	symbols->is_in_part = false;
	seep_work_begin();
}

void seep_symbols_end(struct seep_symbols *symbols)
{
	symbols->is_in_part = seep_work_problem();
	seep_work_end();
}

void seep_symbols_free(struct seep_symbols *symbols)
{
	if (!symbols)
		return;
	forget_modules(symbols);
	seep_debuginfod_free(symbols->dirs.servers);
	seep_arena_free(symbols->arena);
	free(symbols);
}

const char *seep_symbols_trouble(const struct seep_symbols *symbols)
{
	return seep_debuginfod_trouble(symbols->dirs.servers);
}

/* @name, a file with a part of the module's debug information, is not to be had. */
static void set_missing(struct seep_symbol_module *module, const char *name)
{
	SEEP_FREED char *text = seep_xasprintf("%.*s with its debug information was not found",
					       PROBLEM_MAX_BYTES, name);

	module->problem = seep_arena_strndup(module->symbols->arena, text, strlen(text));
}

/* @elf has the module's DWARF, and what dwz moved elsewhere is looked for. */
static void open_dwarf(struct seep_symbol_module *module, const struct seep_elf *elf)
{
	const char *missing;

	module->alternate = seep_debug_find_alternate(&module->symbols->dirs, elf, &missing);
	module->dwarf = seep_dwarf_open(&(struct seep_dwarf_source){
		.elf = elf,
		.alternate = module->alternate,
		.dirs = &module->symbols->dirs,
		.module_path = module->path,
		.arena = module->symbols->arena,
	});
	if (module->dwarf)
		module->problem = NULL;
	if (missing)
		set_missing(module, missing);
}

/* The last that is read of @elf, which may be NULL. */
static void take_symbols(struct seep_symbol_module *module, struct seep_elf *elf)
{
	if (elf)
		seep_symtab_add(&module->symtab, elf);
	seep_elf_stop_reading(elf);
}

static void explain(struct seep_symbol_module *module)
{
	if (module->dwarf || module->problem)
		return;
	if (!module->main)
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
	if (module->main && seep_elf_has_section(module->main, ".debug_info"))
		open_dwarf(module, module->main);
	if (!module->dwarf) {
		module->separate = seep_debug_find_separate(dirs, &query, module->main);
		if (module->separate)
			open_dwarf(module, module->separate);
	}
	if (!module->main && !module->dwarf)
		module->main = seep_debug_fetch_main(dirs, &query);
	if (module->main && seep_elf_open_mini(module->main, &module->mini))
		take_symbols(module, module->mini);
	take_symbols(module, module->main);
	take_symbols(module, module->separate);
	seep_elf_stop_reading(module->alternate);
	seep_symtab_finish(&module->symtab);
	explain(module);
}

struct seep_symbol_module *seep_symbols_module(struct seep_symbols *symbols, const char *path,
					       const uint8_t *build_id, size_t build_id_bytes)
{
	uint64_t hash = seep_hash_text(0, path);
	struct seep_symbol_module *module;
	size_t at = SEEP_IDTABLE_START;
	uint32_t id;

	if (!build_id || build_id_bytes > SEEP_BUILD_ID_MAX_BYTES)
		build_id_bytes = 0;
	while ((id = seep_idtable_find(&symbols->ids, hash, &at)) != SEEP_IDTABLE_NONE) {
		module = symbols->modules[id];
		if (strcmp(module->path, path) == 0 && module->build_id_bytes == build_id_bytes &&
		    (!build_id_bytes || memcmp(module->build_id, build_id, build_id_bytes) == 0))
			return module;
	}
	module = seep_xcalloc(1, sizeof(*module));
	module->symbols = symbols;
	module->path = seep_xstrdup(path);
	if (build_id_bytes)
		memcpy(module->build_id, build_id, build_id_bytes);
	module->build_id_bytes = build_id_bytes;
	seep_idtable_add(&symbols->ids, hash, (uint32_t)symbols->count);
	*SEEP_APPEND(symbols->modules, symbols->count) = module;
	open_files(module);
	return module;
}

const char *seep_symbol_module_problem(const struct seep_symbol_module *module)
{
	const char *problem = seep_work_problem();

	return problem ? problem : module->problem;
}

/* Under an alias without the underscores that libraries put in front: dlopen, not ___dlopen. */
static bool is_public_name(const char *symbol, const char *own)
{
	return *own == '_' && strspn(symbol, "_") < strspn(own, "_") &&
	       strcmp(symbol + strspn(symbol, "_"), own + strspn(own, "_")) == 0;
}

static void name_by_symtab(struct seep_symbol_module *module, uint64_t address,
			   struct seep_symbol_frame *frame)
{
	const struct seep_symtab_name *symbol;

	/* The line tells a lambda from others better than the number that its symbol has. */
	if (frame->linkage_name || (frame->function && strstr(frame->function, "{lambda:")))
		return;
	symbol = seep_symtab_find(&module->symtab, module->symbols->arena, address);
	if (!symbol)
		return;
	/* DWARF has the plain name of a static C++ function; its symbol also says whose it is. */
	if (frame->function && !(symbol->linkage && strncmp(symbol->linkage, "_Z", 2) == 0) &&
	    !is_public_name(symbol->function, frame->function))
		return;
	frame->function = symbol->function;
	frame->linkage_name = symbol->linkage;
}

uint64_t seep_symbol_module_shift(const struct seep_symbol_module *module, uint64_t offset)
{
	const char *path = module->main ? module->main->path : NULL;
	SEEP_RELEASED(seep_elf_close_at) struct seep_elf *elf = NULL;
	bool is_found = false;
	Elf64_Phdr segment;
	uint64_t shift = 0;

	if (!path || seep_elf_open(path, &elf))
		return 0;
	/* The last that begins there or before. Of a small file, several begin in one page. */
	for (size_t i = 0; !is_found && seep_elf_segment(elf, i, &segment); i++) {
		const uint64_t page = segment.p_offset / PAGE_BYTES * PAGE_BYTES;

		if (segment.p_type != PT_LOAD || page > offset)
			continue;
		shift = segment.p_vaddr - segment.p_offset;
		is_found = page == offset && (segment.p_flags & PF_X);
	}
	return shift;
}

size_t seep_symbol_lookup(struct seep_symbol_module *module, uint64_t address,
			  struct seep_symbol_frame *frames, size_t frames_max)
{
	const char *missing;
	size_t count = 0;

	if (module->dwarf) {
		count = seep_dwarf_lookup(module->dwarf, address, frames, frames_max);
		/* Half of what a unit says may lie in another file, which is not to be had. */
		missing = seep_dwarf_missing(module->dwarf);
		if (missing && !module->problem)
			set_missing(module, missing);
	}
	if (count == 0) {
		frames[0] = (struct seep_symbol_frame){ 0 };
		count = 1;
	}
	name_by_symtab(module, address, &frames[count - 1]);
	return count;
}

const char *seep_symbol_variable(struct seep_symbol_module *module, uint64_t address,
				 uint64_t *ret_offset)
{
	struct seep_arena *arena = module->symbols->arena;
	const char *name = seep_symtab_variable(module->main, arena, address, ret_offset);

	return name ? name : seep_symtab_variable(module->separate, arena, address, ret_offset);
}
