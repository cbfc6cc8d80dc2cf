/* SPDX-License-Identifier: MIT */
#include "target/live_modules.h"

#include "base/path.h"
#include "base/procfs.h"
#include "base/xalloc.h"
#include "core/bits.h"

#include <stdlib.h>
#include <string.h>

enum {
	MODULES_MAX = 8192,
	PAGE_BYTES = 4096,
	TABLE_MAX_BYTES = 256 * 1024 * 1024,
};

static void take_segments(struct seep_live_module *module, const Elf64_Phdr *segments, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const Elf64_Phdr *h = &segments[i];
		const uint64_t end = module->bias + h->p_vaddr + h->p_memsz;

		if (h->p_type == PT_LOAD) {
			module->end = core_larger(module->end, end);
		} else if (h->p_type == PT_DYNAMIC) {
			module->dynamic = module->bias + h->p_vaddr;
			module->dynamic_bytes = core_smaller(h->p_memsz,
							     SEEP_LIVE_DYNAMIC_MAX_BYTES);
		} else if (h->p_type == PT_GNU_EH_FRAME) {
			module->tables_hdr = module->bias + h->p_vaddr;
		}
		if (h->p_type == PT_LOAD && h->p_flags & PF_X && h->p_filesz == h->p_memsz) {
			module->code_begin = module->bias + h->p_vaddr;
			module->code_end = end;
			module->page_end = (end + PAGE_BYTES - 1) & -(uint64_t)PAGE_BYTES;
		}
	}
	for (size_t i = 0; i < count; i++) {
		const uint64_t begin = module->bias + segments[i].p_vaddr;

		if (segments[i].p_type != PT_LOAD || module->tables_hdr < begin ||
		    module->tables_hdr - begin >= segments[i].p_filesz)
			continue;
		module->tables_at = begin;
		module->tables_end = begin + segments[i].p_filesz;
	}
}

static void take_mapping(struct seep_live_modules *modules, const struct seep_mapping *mapping,
			 const char *program)
{
	struct seep_live_module module = { .start = mapping->begin, .path = mapping->name };
	const char *base = seep_path_base(mapping->name);
	Elf64_Phdr segments[SEEP_MODULE_SEGMENTS_MAX];
	const bool is_vdso = strcmp(mapping->name, "[vdso]") == 0;
	const struct seep_live_module *around = seep_live_module_at(modules, mapping->begin);
	const struct seep_mapping *code;
	size_t count;

	if ((mapping->name[0] != '/' && !is_vdso) || (mapping->offset != 0 && !is_vdso) ||
	    !mapping->readable || modules->count >= MODULES_MAX ||
	    (around && strcmp(around->path, mapping->name) == 0))
		return;
	count = seep_memory_segments(modules->memory, mapping->begin, segments, &module.bias);
	if (count == 0)
		return;
	take_segments(&module, segments, count);
	/* A module has its code mapped as code; a file that is only read has none there. */
	code = seep_maps_find(&modules->maps, module.code_begin);
	if (module.end <= module.start || module.start - module.bias >= module.end - module.bias ||
	    !code || !code->executable)
		return;
	module.is_program = program && strcmp(mapping->name, program) == 0;
	module.is_libc = seep_begins_with(base, "libc.so.6") || seep_begins_with(base, "libc-2.");
	module.is_loader = seep_begins_with(base, "ld-linux-x86-64.so") ||
			   seep_begins_with(base, "ld-2.");
	module.is_ours = seep_begins_with(base, "libseep.so") ||
			 seep_begins_with(base, "memfd:libseep.so");
	*SEEP_APPEND(modules->items, modules->count) = module;
}

int seep_live_modules_read(pid_t pid, struct seep_live_modules *ret_modules, struct seep_error *err)
{
	SEEP_FREED char *program = NULL;
	int rc;

	*ret_modules = (struct seep_live_modules){ .pid = pid };
	rc = seep_maps_read(pid, &ret_modules->maps, err);
	if (rc == 0)
		rc = seep_memory_open(ret_modules->maps.tid, 0, &ret_modules->memory, err);
	if (rc == 0)
		program = seep_procfs_exe((uint32_t)ret_modules->maps.tid);
	for (size_t i = 0; rc == 0 && i < ret_modules->maps.count; i++)
		take_mapping(ret_modules, &ret_modules->maps.items[i], program);
	if (rc < 0)
		seep_live_modules_done(ret_modules);
	return rc;
}

void seep_live_modules_done(struct seep_live_modules *modules)
{
	for (size_t i = 0; i < modules->count; i++) {
		free(modules->items[i].symbols);
		free(modules->items[i].names);
		free(modules->items[i].tables);
	}
	free(modules->items);
	seep_memory_close(modules->memory);
	seep_maps_done(&modules->maps);
	*modules = (struct seep_live_modules){ 0 };
}

struct seep_live_module *seep_live_module_at(const struct seep_live_modules *modules,
					     uint64_t address)
{
	for (size_t i = modules->count; i-- > 0;)
		if (address >= modules->items[i].start && address < modules->items[i].end)
			return &modules->items[i];
	return NULL;
}

bool seep_live_dynamic(const struct seep_live_modules *modules,
		       const struct seep_live_module *module, uint64_t tables[DT_NUM])
{
	static const uint8_t addresses[] = { DT_SYMTAB, DT_RELA, DT_JMPREL, DT_STRTAB };
	Elf64_Dyn dynamic[SEEP_LIVE_DYNAMIC_MAX_BYTES / sizeof(Elf64_Dyn)];
	const size_t count = (size_t)(module->dynamic_bytes / sizeof(*dynamic));

	memset(tables, 0, DT_NUM * sizeof(*tables));
	if (!seep_memory_read(modules->memory, module->dynamic, dynamic, count * sizeof(*dynamic)))
		return false;
	for (size_t i = 0; i < count && dynamic[i].d_tag != DT_NULL; i++)
		if (dynamic[i].d_tag > 0 && dynamic[i].d_tag < DT_NUM)
			tables[dynamic[i].d_tag] = dynamic[i].d_un.d_val;
	if (!tables[DT_SYMTAB] || !tables[DT_STRTAB] || !tables[DT_STRSZ])
		return false;
	/* Some the loader has relocated, some are as linked. */
	for (size_t i = 0; i < sizeof(addresses); i++)
		if (tables[addresses[i]] < module->bias)
			tables[addresses[i]] += module->bias;
	return true;
}

/* All in the module, so that a damaged one asks for no more than it takes itself. */
static bool are_inside(const uint64_t tables[DT_NUM], const struct seep_live_module *module)
{
	return tables[DT_SYMTAB] >= module->start && tables[DT_STRTAB] > tables[DT_SYMTAB] &&
	       tables[DT_STRTAB] < module->end &&
	       tables[DT_STRSZ] <= module->end - tables[DT_STRTAB] &&
	       module->end - module->start <= TABLE_MAX_BYTES;
}

/* Linkers put the names behind the symbols, whose number nothing else says. */
void seep_live_symbols(const struct seep_live_modules *modules, struct seep_live_module *module)
{
	uint64_t tables[DT_NUM];
	size_t count;

	if (module->has_symbols)
		return;
	module->has_symbols = true;
	if (!seep_live_dynamic(modules, module, tables) || !are_inside(tables, module))
		return;
	count = (size_t)(tables[DT_STRTAB] - tables[DT_SYMTAB]) / sizeof(Elf64_Sym);
	module->symbols = seep_xcalloc(count + 1, sizeof(*module->symbols));
	module->names = seep_xcalloc((size_t)tables[DT_STRSZ] + 1, 1);
	module->name_bytes = tables[DT_STRSZ];
	if (seep_memory_read(modules->memory, tables[DT_SYMTAB], module->symbols,
			     count * sizeof(*module->symbols)) &&
	    seep_memory_read(modules->memory, tables[DT_STRTAB], module->names, tables[DT_STRSZ]))
		module->symbol_count = count;
}

const char *seep_live_symbol_name(const struct seep_live_module *module, const Elf64_Sym *symbol)
{
	return symbol->st_name < module->name_bytes ? module->names + symbol->st_name : "";
}

const Elf64_Sym *seep_live_symbol(const struct seep_live_modules *modules,
				  struct seep_live_module *module, const char *name)
{
	seep_live_symbols(modules, module);
	for (size_t i = 0; i < module->symbol_count; i++) {
		const Elf64_Sym *symbol = &module->symbols[i];

		if (symbol->st_shndx != SHN_UNDEF &&
		    strcmp(seep_live_symbol_name(module, symbol), name) == 0)
			return symbol;
	}
	return NULL;
}

void seep_live_tables(const struct seep_live_modules *modules, struct seep_live_module *module)
{
	const uint64_t bytes = module->tables_end - module->tables_at;

	if (module->has_tables)
		return;
	module->has_tables = true;
	if (bytes == 0 || bytes > TABLE_MAX_BYTES)
		return;
	module->tables = seep_xcalloc((size_t)bytes, 1);
	if (seep_memory_read(modules->memory, module->tables_at, module->tables, (size_t)bytes))
		return;
	free(module->tables);
	module->tables = NULL;
}

/* All that the tables say is relative to where they lie, so a copy lies anywhere. */
enum cfi_result seep_live_rule(const struct seep_live_module *module, uint64_t pc, bool exact_pc,
			       struct cfi_rule *ret_rule)
{
	const uintptr_t shift = (uintptr_t)module->tables - module->tables_at;
	const struct cfi_module copy = {
		.eh_frame_hdr = (const uint8_t *)(module->tables_hdr + shift),
		.start = (uintptr_t)module->tables,
		.end = module->tables_end + shift,
	};
	struct cfi_work work;

	*ret_rule = (struct cfi_rule){ 0 };
	return module->tables ? cfi_compile(&copy, pc + shift, exact_pc, &work, ret_rule)
			      : CFI_MISS_TABLE;
}
