/* SPDX-License-Identifier: MIT */
#include "target/bindings.h"

#include "base/idtable.h"
#include "base/maps.h"
#include "base/path.h"
#include "base/procfs.h"
#include "base/xalloc.h"
#include "core/bits.h"
#include "target/remote_memory.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
	MODULES_MAX = 4096,
	FOUND_MAX = 256, /* more modules than anybody reads about */
	KNOWN_MAX = 8192,
	DYNAMIC_MAX_BYTES = 16 * 1024,
	TABLE_MAX_BYTES = 64 * 1024 * 1024,
	ENTRIES_MAX = 4096,
};

/* Of a global offset table. */
struct entry {
	uint64_t address; /* as linked: less the module's bias */
	bool may_be_lazy; /* leads into the module's own stubs until it is first used */
	const struct seep_allocation_function *function;
};

/* The entries of one module through which it calls allocation functions. */
struct got {
	struct entry *items;
	size_t count;
};

struct module {
	struct seep_memory *memory; /* borrowed */
	uint64_t start;
	uint64_t end; /* from the program headers, exclusive */
	uint64_t bias;
	uint64_t dynamic; /* address */
	uint64_t dynamic_bytes;
	const char *path; /* borrowed from the maps */
	bool has_code;
	bool is_program;
	bool is_ours;
	const struct got *got; /* NULL: not looked at */
};

/*
 * Where the module lies whose ELF header is at @start. False: there is none, or it is not linked
 * dynamically.
 */
static bool find_module(struct seep_memory *memory, uint64_t start, struct module *ret_module)
{
	struct module module = { .memory = memory, .start = start };
	Elf64_Phdr segments[SEEP_MODULE_SEGMENTS_MAX];
	const size_t count = seep_memory_segments(memory, start, segments, &module.bias);
	uint64_t last = 0;

	for (size_t i = 0; i < count; i++) {
		const Elf64_Phdr h = segments[i];

		if (h.p_type == PT_LOAD) {
			last = core_larger(last, h.p_vaddr + h.p_memsz);
		} else if (h.p_type == PT_DYNAMIC) {
			module.dynamic = module.bias + h.p_vaddr;
			module.dynamic_bytes = core_smaller(h.p_memsz, DYNAMIC_MAX_BYTES);
		}
	}
	module.end = module.bias + last;
	if (start - module.bias >= last || module.end <= start || !module.dynamic_bytes)
		return false;
	*ret_module = module;
	return true;
}

/* Something that changes with the module's contents: of its headers and dynamic section. */
static uint64_t identity_of(const struct module *module)
{
	uint64_t words[DYNAMIC_MAX_BYTES / sizeof(uint64_t)];
	size_t count = (size_t)(module->dynamic_bytes / sizeof(*words));
	uint64_t hash = module->end - module->start;

	if (!seep_memory_read(module->memory, module->dynamic, words, count * sizeof(*words)))
		return 0;
	/* Addresses as linked: the dynamic linker has added the bias to some. */
	for (size_t i = 0; i < count; i++) {
		uint64_t word = words[i] - module->start < module->end - module->start
					? words[i] - module->bias
					: words[i];

		/* Of the process, not of the file: what DT_DEBUG points to. */
		if (i % 2 && words[i - 1] == DT_DEBUG)
			word = 0;
		hash = core_hash_step(hash, word);
	}
	return hash;
}

/* @tables: values of the dynamic section by tag; addresses of tables are absolute. */
static bool find_tables(const struct module *module, uint64_t tables[DT_NUM])
{
	static const uint8_t addresses[] = { DT_SYMTAB, DT_RELA, DT_JMPREL, DT_STRTAB };
	Elf64_Dyn dynamic[DYNAMIC_MAX_BYTES / sizeof(Elf64_Dyn)];
	size_t count = (size_t)(module->dynamic_bytes / sizeof(*dynamic));

	if (!seep_memory_read(module->memory, module->dynamic, dynamic, count * sizeof(*dynamic)))
		return false;
	memset(tables, 0, DT_NUM * sizeof(*tables));
	for (size_t i = 0; i < count && dynamic[i].d_tag != DT_NULL; i++)
		if (dynamic[i].d_tag > 0 && dynamic[i].d_tag < DT_NUM)
			tables[dynamic[i].d_tag] = dynamic[i].d_un.d_val;
	if (!tables[DT_SYMTAB] || !tables[DT_STRTAB] || !tables[DT_STRSZ])
		return false;
	/* Some are addresses already, some still as linked. */
	for (size_t i = 0; i < sizeof(addresses); i++)
		if (tables[addresses[i]] < module->bias)
			tables[addresses[i]] += module->bias;
	return tables[DT_STRSZ] <= TABLE_MAX_BYTES && tables[DT_RELASZ] <= TABLE_MAX_BYTES &&
	       tables[DT_PLTRELSZ] <= TABLE_MAX_BYTES;
}

/* Of one relocation, when it is of an allocation function. */
static void add_entry(const struct module *module, const uint64_t tables[DT_NUM], const char *names,
		      const Elf64_Rela *rela, struct got *got)
{
	uint64_t type = ELF64_R_TYPE(rela->r_info);
	const struct seep_allocation_function *function;
	Elf64_Sym symbol;

	if ((type != R_X86_64_GLOB_DAT && type != R_X86_64_JUMP_SLOT) || got->count >= ENTRIES_MAX)
		return;
	if (!seep_memory_read(module->memory,
			      tables[DT_SYMTAB] + ELF64_R_SYM(rela->r_info) * sizeof(symbol),
			      &symbol, sizeof(symbol)) ||
	    symbol.st_name >= tables[DT_STRSZ])
		return;
	function = seep_allocation_function(names + symbol.st_name);
	if (!function)
		return;
	*SEEP_APPEND(got->items, got->count) = (struct entry){
		.address = rela->r_offset,
		.may_be_lazy = type == R_X86_64_JUMP_SLOT,
		.function = function,
	};
}

static void read_relocations(const struct module *module, const uint64_t tables[DT_NUM],
			     const char *names, uint64_t at, uint64_t bytes, struct got *got)
{
	const size_t count = (size_t)bytes / sizeof(Elf64_Rela);
	SEEP_FREED Elf64_Rela *all = seep_xcalloc(count, sizeof(*all));

	if (seep_memory_read(module->memory, at, all, count * sizeof(*all)))
		for (size_t i = 0; i < count; i++)
			add_entry(module, tables, names, &all[i], got);
}

/* Empty where something is unreadable. */
static struct got read_got(const struct module *module)
{
	struct got got = { 0 };
	uint64_t tables[DT_NUM];
	SEEP_FREED char *names = NULL;

	if (!find_tables(module, tables))
		return got;
	names = seep_xcalloc((size_t)tables[DT_STRSZ] + 1, 1);
	if (seep_memory_read(module->memory, tables[DT_STRTAB], names, tables[DT_STRSZ])) {
		read_relocations(module, tables, names, tables[DT_RELA], tables[DT_RELASZ], &got);
		read_relocations(module, tables, names, tables[DT_JMPREL], tables[DT_PLTRELSZ],
				 &got);
	}
	return got;
}

/* Of this whole run, because a build starts the same few files thousands of times. */
static struct known {
	char *path;
	uint64_t identity;
	struct got got;
} known_files[KNOWN_MAX];
static struct seep_idtable known_ids;			       /* to indices above */
static pthread_mutex_t known_lock = PTHREAD_MUTEX_INITIALIZER; /* leaf; guards both above */

static const struct got *got_of(const struct module *module)
{
	const uint64_t identity = identity_of(module);
	const uint64_t hash = seep_hash_text(identity, module->path);
	size_t at = SEEP_IDTABLE_START;
	uint32_t id;

	(void)pthread_mutex_lock(&known_lock);
	do
		id = seep_idtable_find(&known_ids, hash, &at);
	while (id != SEEP_IDTABLE_NONE && (known_files[id].identity != identity ||
					   strcmp(known_files[id].path, module->path) != 0));
	if (id == SEEP_IDTABLE_NONE && known_ids.count < KNOWN_MAX) {
		id = (uint32_t)known_ids.count;
		known_files[id] = (struct known){ seep_xstrdup(module->path), identity,
						  read_got(module) };
		seep_idtable_add(&known_ids, hash, id);
	}
	(void)pthread_mutex_unlock(&known_lock);
	/* An entry is never changed nor released. */
	return id == SEEP_IDTABLE_NONE ? NULL : &known_files[id].got;
}

struct process {
	struct seep_memory *memory;
	struct seep_maps maps;
	char *program; /* path; NULL unknown */
	struct module *modules;
	size_t count;
};

static struct module *module_at(const struct process *process, uint64_t address)
{
	for (size_t i = 0; i < process->count; i++)
		if (address >= process->modules[i].start && address < process->modules[i].end)
			return &process->modules[i];
	return NULL;
}

static void take_mapping(struct process *process, const struct seep_mapping *mapping)
{
	struct module module;
	struct module *around;

	if (mapping->name[0] != '/')
		return;
	around = module_at(process, mapping->begin);
	if (around && strcmp(around->path, mapping->name) == 0) {
		around->has_code |= mapping->executable;
		return;
	}
	/* What else begins with an ELF header, a file that is only read, has no code. */
	if (mapping->offset != 0 || !mapping->readable || process->count >= MODULES_MAX ||
	    !find_module(process->memory, mapping->begin, &module))
		return;
	module.path = mapping->name;
	module.has_code = mapping->executable;
	module.is_program = process->program && strcmp(mapping->name, process->program) == 0;
	/* Of an attached process it is a file in memory. */
	module.is_ours = strcmp(seep_path_base(mapping->name), "libseep.so") == 0 ||
			 strstr(mapping->name, "/memfd:libseep.so") == mapping->name;
	*SEEP_APPEND(process->modules, process->count) = module;
}

/* False of a process that has ended, or is about to: its memory goes first. */
static bool has_memory(uint32_t pid)
{
	DIR *threads = seep_procfs_threads((pid_t)pid);
	bool has = !threads && errno != ENOENT && errno != ESRCH;
	struct seep_procfs_status status;
	pid_t tid;

	while (!has && (tid = seep_procfs_thread(threads)))
		has = seep_procfs_status((uint32_t)tid, &status) && status.has_memory;
	seep_procfs_threads_done(threads);
	return has;
}

static int open_process(uint32_t pid, struct process *ret_process)
{
	int rc;

	*ret_process = (struct process){ 0 };
	rc = seep_maps_read((pid_t)pid, &ret_process->maps, NULL);
	if (rc == 0)
		rc = seep_memory_open(ret_process->maps.tid, 0, &ret_process->memory, NULL);
	/* At a process's end its files become root's, whoever it was: nobody refuses. */
	if (rc < 0 && !has_memory(pid))
		return -SEEP_ENOTFOUND;
	if (rc < 0)
		return rc;
	ret_process->program = seep_procfs_exe((uint32_t)ret_process->maps.tid);
	for (size_t i = 0; i < ret_process->maps.count; i++)
		take_mapping(ret_process, &ret_process->maps.items[i]);
	return 0;
}

static bool has_entry(const struct module *module, const struct seep_allocation_function *function)
{
	for (size_t i = 0; module->got && i < module->got->count; i++)
		if (module->got->items[i].function == function)
			return true;
	return false;
}

/* push $index, perhaps behind endbr64: what an entry leads to until it is first called. */
static bool is_lazy_stub(struct seep_memory *memory, uint64_t address)
{
	static const unsigned char endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	unsigned char code[5];

	if (!seep_memory_read(memory, address, code, sizeof(code)))
		return true;
	return code[0] == 0x68 || (memcmp(code, endbr, sizeof(endbr)) == 0 && code[4] == 0x68);
}

static void add_found(struct seep_bindings *bindings, const struct module *from,
		      const struct module *to, const struct seep_allocation_function *function)
{
	for (size_t i = 0; i < bindings->count; i++) {
		const struct seep_binding *seen = &bindings->items[i];

		if (seen->function->kind == function->kind && strcmp(seen->from, from->path) == 0 &&
		    strcmp(seen->to, to->path) == 0)
			return;
	}
	if (bindings->count >= FOUND_MAX)
		return;
	*SEEP_APPEND(bindings->items, bindings->count) = (struct seep_binding){
		.from = seep_xstrdup(from->path),
		.to = seep_xstrdup(to->path),
		.function = function,
		.to_program = to->is_program,
	};
}

static void look_at_entry(const struct process *process, const struct module *from,
			  const struct entry *entry, struct seep_bindings *bindings)
{
	const struct module *to;
	uint64_t target;

	if (!seep_memory_read(process->memory, from->bias + entry->address, &target,
			      sizeof(target)))
		return;
	to = module_at(process, target);
	/* Of no module: somebody's own interposition, made while the program runs. */
	if (!to || to->is_ours || !to->has_code)
		return;
	if (to == from && entry->may_be_lazy && is_lazy_stub(process->memory, target))
		return;
	/* Where the program takes a function's address, its stub is that address for all. */
	if (to->is_program && has_entry(to, entry->function))
		return;
	add_found(bindings, from, to, entry->function);
}

static void look_at(struct process *process, struct seep_bindings *bindings)
{
	bool has_ours = false;

	for (size_t i = 0; i < process->count; i++) {
		struct module *module = &process->modules[i];

		has_ours |= module->is_ours;
		if (module->has_code && !module->is_ours)
			module->got = got_of(module);
	}
	for (size_t i = 0; has_ours && i < process->count; i++) {
		const struct module *from = &process->modules[i];

		for (size_t k = 0; from->got && k < from->got->count; k++)
			look_at_entry(process, from, &from->got->items[k], bindings);
	}
}

static void look_for_manager(const struct process *process, uint32_t pid,
			     struct seep_bindings *bindings)
{
	const struct seep_memory_manager *manager = NULL;
	size_t bytes = 0;
	SEEP_FREED char *environment = NULL;

	for (size_t i = 0; i < process->count && !manager; i++)
		manager = seep_memory_manager_of(process->modules[i].path);
	if (!manager || bindings->manager)
		return;
	environment = seep_procfs_read(pid, "environ", &bytes);
	if (!environment || !seep_memory_manager_is_off(manager, environment, bytes))
		bindings->manager = manager;
}

int seep_bindings_read(uint32_t pid, struct seep_bindings *bindings)
{
	struct process process;
	int rc = open_process(pid, &process);

	if (rc == 0) {
		look_at(&process, bindings);
		look_for_manager(&process, pid, bindings);
	}
	seep_memory_close(process.memory);
	seep_maps_done(&process.maps);
	free(process.program);
	free(process.modules);
	return rc;
}

void seep_bindings_done(struct seep_bindings *bindings)
{
	for (size_t i = 0; i < bindings->count; i++) {
		free(bindings->items[i].from);
		free(bindings->items[i].to);
	}
	free(bindings->items);
	*bindings = (struct seep_bindings){ 0 };
}
