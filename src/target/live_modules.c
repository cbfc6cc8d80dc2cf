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
	CHAIN_MAX = 1024, /* symbols in one bucket of a hash table; there are a few */
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

static void forget_symbols(struct seep_live_module *module)
{
	free(module->symbols);
	free(module->names);
}

/* Of a mapping of a file's begin, or of the kernel's own library. False: it is of no module. */
static bool make_module(const struct seep_live_modules *modules, const struct seep_mapping *mapping,
			struct seep_live_module *ret_module)
{
	struct seep_live_module module = { .start = mapping->begin, .path = mapping->name };
	Elf64_Phdr segments[SEEP_MODULE_SEGMENTS_MAX];
	const bool is_vdso = strcmp(mapping->name, "[vdso]") == 0;
	const struct seep_mapping *code;
	size_t count;

	if ((mapping->name[0] != '/' && !is_vdso) || (mapping->offset != 0 && !is_vdso) ||
	    !mapping->readable)
		return false;
	count = seep_memory_segments(modules->memory, mapping->begin, segments, &module.bias);
	if (count == 0)
		return false;
	take_segments(&module, segments, count);
	/* A module has its code mapped as code; a file that is only read has none there. */
	code = seep_maps_find(&modules->maps, module.code_begin);
	*ret_module = module;
	return module.end > module.start && module.start - module.bias < module.end - module.bias &&
	       code && code->executable;
}

/* The modules that the loader knows, but those of namespaces of their own: dlmopen(3). */
struct listed {
	uint64_t bias, dynamic;
};
struct listing {
	struct listed *items;
	size_t count;
	uint64_t loader; /* where that begins */
};

static void read_list(const struct seep_live_modules *modules, uint64_t debug, struct listing *list)
{
	enum { LIST_AT = 8 }; /* of struct r_debug (link.h) */
	struct {
		uint64_t bias, name, dynamic, next, previous;
	} map;
	uint64_t at;

	if (!seep_memory_read(modules->memory, debug + LIST_AT, &at, sizeof(at)))
		return;
	/* Other threads may load and unload. The program, the C library and the loader come first, and stay. */
	while (at && list->count < MODULES_MAX &&
	       seep_memory_read(modules->memory, at, &map, sizeof(map))) {
		*SEEP_APPEND(list->items, list->count) = (struct listed){ map.bias, map.dynamic };
		at = map.next;
	}
}

/* Where the kernel has put it; whoever starts the loader by its name has it as the program. */
static void find_loader(struct seep_live_modules *modules, struct listing *list)
{
	size_t bytes = 0;
	SEEP_FREED const uint64_t *words = (const uint64_t *)(const void *)seep_procfs_read(
		(uint32_t)modules->maps.tid, "auxv", &bytes);
	uint64_t base = 0, entry = 0, clock = 0;
	const struct seep_mapping *at, *vdso;
	struct seep_live_module module;
	const Elf64_Sym *symbol;

	for (size_t i = 0; words && i + 1 < bytes / sizeof(*words); i += 2)
		if (words[i] == AT_BASE)
			base = words[i + 1];
		else if (words[i] == AT_ENTRY)
			entry = words[i + 1];
		else if (words[i] == AT_SYSINFO_EHDR)
			clock = words[i + 1];
	vdso = seep_maps_find(&modules->maps, clock);
	modules->lacks_vdso = clock && !(vdso && vdso->executable);
	at = seep_maps_find(&modules->maps, base ? base : entry);
	while (!base && at && at > modules->maps.items && strcmp(at[-1].name, at->name) == 0)
		at--;
	if (!at || !make_module(modules, at, &module))
		return;
	symbol = seep_live_symbol(modules, &module, "_r_debug");
	if (symbol) {
		list->loader = module.start;
		read_list(modules, module.bias + symbol->st_value, list);
	}
	forget_symbols(&module);
}

static bool is_same(const struct listed *listed, const struct seep_live_module *module)
{
	return listed->bias == module->bias && listed->dynamic == module->dynamic;
}

static bool is_listed_in(const struct listing *list, const struct seep_live_module *module)
{
	for (size_t i = 0; i < list->count; i++)
		if (is_same(&list->items[i], module))
			return true;
	return false;
}

/* As it was linked. To ask whether its file is called alike first spares a read. */
static bool has_soname(const struct seep_live_modules *modules,
		       const struct seep_live_module *module, const char *name)
{
	uint64_t tables[SEEP_LIVE_TABLES];
	const size_t bytes = strlen(name) + 1;
	char text[16];

	return bytes <= sizeof(text) && seep_live_dynamic(modules, module, tables) &&
	       seep_memory_read(modules->memory, tables[DT_STRTAB] + tables[DT_SONAME], text,
				bytes) &&
	       memcmp(text, name, bytes) == 0;
}

static void take_mapping(struct seep_live_modules *modules, const struct seep_mapping *mapping,
			 const struct listing *list, const char *program)
{
	const struct seep_live_module *around = seep_live_module_at(modules, mapping->begin);
	const char *base = seep_path_base(mapping->name);
	struct seep_live_module module;
	bool is_listed;

	if (modules->count >= MODULES_MAX || !make_module(modules, mapping, &module))
		return;
	is_listed = is_listed_in(list, &module);
	if (around && strcmp(around->path, mapping->name) == 0 && !is_listed)
		return;
	/* It is the first that is listed. Musl's list is not known. */
	module.is_program = list->count ? is_same(&list->items[0], &module)
					: program && strcmp(mapping->name, program) == 0;
	module.is_loader = list->loader == module.start;
	module.is_libc = is_listed && strstr(base, "libc") &&
			 has_soname(modules, &module, "libc.so.6");
	module.is_ours = strstr(base, "libseep.so") && has_soname(modules, &module, "libseep.so");
	*SEEP_APPEND(modules->items, modules->count) = module;
}

int seep_live_modules_read(pid_t pid, struct seep_live_modules *ret_modules, struct seep_error *err)
{
	SEEP_FREED char *program = NULL;
	struct listing list = { 0 };
	int rc;

	*ret_modules = (struct seep_live_modules){ .pid = pid };
	rc = seep_maps_read(pid, &ret_modules->maps, err);
	if (rc == 0)
		rc = seep_memory_open(ret_modules->maps.tid, 0, &ret_modules->memory, err);
	if (rc == 0) {
		program = seep_procfs_exe((uint32_t)ret_modules->maps.tid);
		find_loader(ret_modules, &list);
	}
	for (size_t i = 0; rc == 0 && i < ret_modules->maps.count; i++)
		take_mapping(ret_modules, &ret_modules->maps.items[i], &list, program);
	free(list.items);
	if (rc < 0)
		seep_live_modules_done(ret_modules);
	return rc;
}

void seep_live_modules_done(struct seep_live_modules *modules)
{
	for (size_t i = 0; i < modules->count; i++) {
		forget_symbols(&modules->items[i]);
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
		       const struct seep_live_module *module, uint64_t tables[SEEP_LIVE_TABLES])
{
	static const uint8_t addresses[] = { DT_SYMTAB, DT_RELA, DT_JMPREL,
					     DT_STRTAB, DT_HASH, SEEP_LIVE_GNU_HASH };
	Elf64_Dyn dynamic[SEEP_LIVE_DYNAMIC_MAX_BYTES / sizeof(Elf64_Dyn)];
	const size_t count = (size_t)(module->dynamic_bytes / sizeof(*dynamic));

	memset(tables, 0, SEEP_LIVE_TABLES * sizeof(*tables));
	if (!seep_memory_read(modules->memory, module->dynamic, dynamic, count * sizeof(*dynamic)))
		return false;
	for (size_t i = 0; i < count && dynamic[i].d_tag != DT_NULL; i++)
		if (dynamic[i].d_tag > 0 && dynamic[i].d_tag < DT_NUM)
			tables[dynamic[i].d_tag] = dynamic[i].d_un.d_val;
		else if (dynamic[i].d_tag == DT_GNU_HASH)
			tables[SEEP_LIVE_GNU_HASH] = dynamic[i].d_un.d_val;
	if (!tables[DT_SYMTAB] || !tables[DT_STRTAB] || !tables[DT_STRSZ])
		return false;
	/* Some the loader has relocated, some are as linked. */
	for (size_t i = 0; i < sizeof(addresses); i++)
		if (tables[addresses[i]] && tables[addresses[i]] < module->bias)
			tables[addresses[i]] += module->bias;
	return true;
}

/* All in the module, so that a damaged one asks for no more than it takes itself. */
static bool is_inside(const struct seep_live_module *module, uint64_t at, uint64_t bytes)
{
	return at >= module->start && at <= module->end && bytes <= module->end - at &&
	       bytes <= TABLE_MAX_BYTES;
}

/*
 * Behind the last symbol of the last chain; those in front of the first are not defined here (the format:
 * binutils, elflink.c).
 */
static size_t count_gnu(const struct seep_live_modules *modules,
			const struct seep_live_module *module, uint64_t table)
{
	enum { BUCKETS, FIRST, BLOOM_WORDS, SHIFT, HEADER };
	uint32_t header[HEADER], chain[CHAIN_MAX], last = 0;
	SEEP_FREED uint32_t *buckets = NULL;
	uint64_t at, bytes;

	if (!seep_memory_read(modules->memory, table, header, sizeof(header)))
		return 0;
	at = table + sizeof(header) + header[BLOOM_WORDS] * sizeof(uint64_t);
	if (!is_inside(module, at, header[BUCKETS] * sizeof(*buckets)))
		return 0;
	buckets = seep_xcalloc(header[BUCKETS], sizeof(*buckets));
	if (!seep_memory_read(modules->memory, at, buckets, header[BUCKETS] * sizeof(*buckets)))
		return 0;
	for (uint32_t i = 0; i < header[BUCKETS]; i++)
		last = buckets[i] > last ? buckets[i] : last;
	if (last < header[FIRST])
		return header[FIRST];
	at += header[BUCKETS] * sizeof(*buckets) + (last - header[FIRST]) * sizeof(*chain);
	bytes = core_smaller(module->end - at, sizeof(chain));
	if (!is_inside(module, at, bytes) ||
	    !seep_memory_read(modules->memory, at, chain, (size_t)bytes))
		return 0;
	for (size_t i = 0; i < bytes / sizeof(*chain); i++)
		if (chain[i] & 1)
			return last + i + 1;
	return 0;
}

static size_t count_symbols(const struct seep_live_modules *modules,
			    const struct seep_live_module *module,
			    const uint64_t tables[SEEP_LIVE_TABLES])
{
	uint32_t header[2] = { 0 }; /* buckets, symbols (System V ABI, "Hash Table") */

	if (tables[SEEP_LIVE_GNU_HASH])
		return count_gnu(modules, module, tables[SEEP_LIVE_GNU_HASH]);
	if (tables[DT_HASH])
		(void)seep_memory_read(modules->memory, tables[DT_HASH], header, sizeof(header));
	return header[1];
}

void seep_live_symbols(const struct seep_live_modules *modules, struct seep_live_module *module)
{
	uint64_t tables[SEEP_LIVE_TABLES];
	size_t count;

	if (module->has_symbols)
		return;
	module->has_symbols = true;
	if (!seep_live_dynamic(modules, module, tables))
		return;
	count = count_symbols(modules, module, tables);
	if (!is_inside(module, tables[DT_SYMTAB], count * sizeof(*module->symbols)) ||
	    !is_inside(module, tables[DT_STRTAB], tables[DT_STRSZ]))
		return;
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

const Elf64_Sym *seep_live_symbol_at(const struct seep_live_module *module, uint64_t address)
{
	for (size_t i = 0; i < module->symbol_count; i++) {
		const Elf64_Sym *symbol = &module->symbols[i];

		if (symbol->st_shndx != SHN_UNDEF &&
		    address - module->bias - symbol->st_value < symbol->st_size)
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
