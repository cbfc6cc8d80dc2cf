/* SPDX-License-Identifier: MIT */
#include "target/bindings.h"

#include "base/idtable.h"
#include "base/procfs.h"
#include "base/xalloc.h"
#include "core/bits.h"
#include "target/live_modules.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
	FOUND_MAX = 256, /* more modules than anybody reads about */
	KNOWN_MAX = 8192,
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

/* Something that changes with the module's contents: of its headers and dynamic section. */
static uint64_t identity_of(struct seep_memory *memory, const struct seep_live_module *module)
{
	uint64_t words[SEEP_LIVE_DYNAMIC_MAX_BYTES / sizeof(uint64_t)];
	size_t count = (size_t)(module->dynamic_bytes / sizeof(*words));
	uint64_t hash = module->end - module->start;

	if (!seep_memory_read(memory, module->dynamic, words, count * sizeof(*words)))
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

/* Of one relocation, when it is of an allocation function. */
static void add_entry(struct seep_memory *memory, const uint64_t tables[SEEP_LIVE_TABLES],
		      const char *names, const Elf64_Rela *rela, struct got *got)
{
	uint64_t type = ELF64_R_TYPE(rela->r_info);
	const struct seep_allocation_function *function;
	Elf64_Sym symbol;

	if ((type != R_X86_64_GLOB_DAT && type != R_X86_64_JUMP_SLOT) || got->count >= ENTRIES_MAX)
		return;
	if (!seep_memory_read(memory,
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

static void read_relocations(struct seep_memory *memory, const uint64_t tables[SEEP_LIVE_TABLES],
			     const char *names, uint64_t at, uint64_t bytes, struct got *got)
{
	const size_t count = (size_t)bytes / sizeof(Elf64_Rela);
	SEEP_FREED Elf64_Rela *all = seep_xcalloc(count, sizeof(*all));

	if (seep_memory_read(memory, at, all, count * sizeof(*all)))
		for (size_t i = 0; i < count; i++)
			add_entry(memory, tables, names, &all[i], got);
}

/* Empty where something is unreadable. */
static struct got read_got(const struct seep_live_modules *modules,
			   const struct seep_live_module *module)
{
	struct seep_memory *memory = modules->memory;
	struct got got = { 0 };
	uint64_t tables[SEEP_LIVE_TABLES];
	SEEP_FREED char *names = NULL;

	if (!seep_live_dynamic(modules, module, tables) || tables[DT_STRSZ] > TABLE_MAX_BYTES ||
	    tables[DT_RELASZ] > TABLE_MAX_BYTES || tables[DT_PLTRELSZ] > TABLE_MAX_BYTES)
		return got;
	names = seep_xcalloc((size_t)tables[DT_STRSZ] + 1, 1);
	if (seep_memory_read(memory, tables[DT_STRTAB], names, tables[DT_STRSZ])) {
		read_relocations(memory, tables, names, tables[DT_RELA], tables[DT_RELASZ], &got);
		read_relocations(memory, tables, names, tables[DT_JMPREL], tables[DT_PLTRELSZ],
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

static const struct got *got_of(const struct seep_live_modules *modules,
				const struct seep_live_module *module)
{
	const uint64_t identity = identity_of(modules->memory, module);
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
						  read_got(modules, module) };
		seep_idtable_add(&known_ids, hash, id);
	}
	(void)pthread_mutex_unlock(&known_lock);
	/* An entry is never changed nor released. */
	return id == SEEP_IDTABLE_NONE ? NULL : &known_files[id].got;
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

static bool has_entry(const struct got *got, const struct seep_allocation_function *function)
{
	for (size_t i = 0; got && i < got->count; i++)
		if (got->items[i].function == function)
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

static void add_found(struct seep_bindings *bindings, const struct seep_live_module *from,
		      const struct seep_live_module *to,
		      const struct seep_allocation_function *function)
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

struct look {
	struct seep_live_modules modules;
	const struct got **gots; /* of each module; NULL: not looked at */
};

static void look_at_entry(const struct look *look, const struct seep_live_module *from,
			  const struct entry *entry, struct seep_bindings *bindings)
{
	struct seep_memory *memory = look->modules.memory;
	const struct seep_live_module *to;
	uint64_t target;

	if (!seep_memory_read(memory, from->bias + entry->address, &target, sizeof(target)))
		return;
	to = seep_live_module_at(&look->modules, target);
	/* Of no module: somebody's own interposition, made while the program runs. */
	if (!to || to->is_ours)
		return;
	if (to == from && entry->may_be_lazy && is_lazy_stub(memory, target))
		return;
	/* Where the program takes a function's address, its stub is that address for all. */
	if (to->is_program && has_entry(look->gots[to - look->modules.items], entry->function))
		return;
	add_found(bindings, from, to, entry->function);
}

static void look_at(const struct look *look, struct seep_bindings *bindings)
{
	bool has_ours = false;

	for (size_t i = 0; i < look->modules.count; i++) {
		const struct seep_live_module *module = &look->modules.items[i];

		has_ours |= module->is_ours;
		if (!module->is_ours)
			look->gots[i] = got_of(&look->modules, module);
	}
	for (size_t i = 0; has_ours && i < look->modules.count; i++)
		for (size_t k = 0; look->gots[i] && k < look->gots[i]->count; k++)
			look_at_entry(look, &look->modules.items[i], &look->gots[i]->items[k],
				      bindings);
}

static void look_for_manager(const struct seep_live_modules *modules,
			     struct seep_bindings *bindings)
{
	const struct seep_memory_manager *manager = NULL;
	size_t bytes = 0;
	SEEP_FREED char *environment = NULL;

	for (size_t i = 0; i < modules->count && !manager; i++)
		manager = seep_memory_manager_of(modules->items[i].path);
	if (!manager || bindings->manager)
		return;
	environment = seep_procfs_read((uint32_t)modules->pid, "environ", &bytes);
	if (!environment || !seep_memory_manager_is_off(manager, environment, bytes))
		bindings->manager = manager;
}

int seep_bindings_read(uint32_t pid, struct seep_bindings *bindings)
{
	struct look look = { 0 };
	int rc = seep_live_modules_read((pid_t)pid, &look.modules, NULL);

	/* At a process's end its files become root's, whoever it was: nobody refuses. */
	if (rc < 0)
		return has_memory(pid) ? rc : -SEEP_ENOTFOUND;
	look.gots = seep_xcalloc(look.modules.count + 1, sizeof(*look.gots));
	look_at(&look, bindings);
	look_for_manager(&look.modules, bindings);
	free(look.gots);
	seep_live_modules_done(&look.modules);
	return 0;
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
