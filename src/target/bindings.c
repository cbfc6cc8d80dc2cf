/* SPDX-License-Identifier: MIT */
#include "target/bindings.h"

#include "base/idtable.h"
#include "base/maps.h"
#include "base/path.h"
#include "base/procfs.h"
#include "base/xalloc.h"
#include "target/got.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
	MODULES_MAX = 4096,
	FOUND_MAX = 256, /* more modules than anybody reads about */
	KNOWN_MAX = 8192,
};

struct known {
	char *path;
	uint64_t identity;
	struct seep_got got;
};

/* Of this whole run, because a build starts the same few files thousands of times. */
static struct known *known_files[KNOWN_MAX];
static struct seep_idtable known_ids;			       /* to indices above */
static pthread_mutex_t known_lock = PTHREAD_MUTEX_INITIALIZER; /* leaf; guards both above */

static const struct known *find_known(const struct seep_got_module *module, const char *path)
{
	uint64_t identity = seep_got_identity(module), hash = seep_hash_text(identity, path);
	size_t at = SEEP_IDTABLE_START;
	struct known *known;
	uint32_t id;

	if (!known_ids.buckets)
		seep_idtable_init(&known_ids, 64);
	while ((id = seep_idtable_find(&known_ids, hash, &at)) != SEEP_IDTABLE_NONE)
		if (known_files[id]->identity == identity &&
		    strcmp(known_files[id]->path, path) == 0)
			return known_files[id];
	if (known_ids.count >= KNOWN_MAX)
		return NULL;
	known = seep_xcalloc(1, sizeof(*known));
	known->path = seep_xstrdup(path);
	known->identity = identity;
	seep_got_read(module, &known->got);
	known_files[known_ids.count] = known;
	seep_idtable_add(&known_ids, hash, (uint32_t)known_ids.count);
	return known;
}

static const struct seep_got *got_of(const struct seep_got_module *module, const char *path)
{
	const struct known *known;

	(void)pthread_mutex_lock(&known_lock);
	known = find_known(module, path);
	(void)pthread_mutex_unlock(&known_lock);
	/* An entry is never changed nor released. */
	return known ? &known->got : NULL;
}

struct mapped {
	struct seep_got_module module;
	const char *path; /* borrowed from the maps */
	bool has_code;
	bool is_program;
	bool is_ours;
	const struct seep_got *got;
};

struct process {
	struct seep_memory *memory;
	struct seep_maps maps;
	char *program; /* path; NULL unknown */
	struct mapped *modules;
	size_t count;
};

static struct mapped *module_at(const struct process *process, uint64_t address)
{
	for (size_t i = 0; i < process->count; i++)
		if (address >= process->modules[i].module.start &&
		    address < process->modules[i].module.end)
			return &process->modules[i];
	return NULL;
}

static void take_mapping(struct process *process, const struct seep_mapping *mapping)
{
	struct seep_got_module module;
	struct mapped *around;

	if (mapping->name[0] != '/')
		return;
	around = module_at(process, mapping->begin);
	if (around && strcmp(around->path, mapping->name) == 0) {
		around->has_code |= mapping->executable;
		return;
	}
	/* What else begins with an ELF header, a file that is only read, has no code. */
	if (mapping->offset != 0 || !mapping->readable || process->count >= MODULES_MAX ||
	    !seep_got_find_module(process->memory, mapping->begin, &module))
		return;
	*SEEP_APPEND(process->modules, process->count) = (struct mapped){
		.module = module,
		.path = mapping->name,
		.has_code = mapping->executable,
		.is_program = process->program && strcmp(mapping->name, process->program) == 0,
		.is_ours = strcmp(seep_path_base(mapping->name), "libseep.so") == 0,
	};
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

static void close_process(struct process *process)
{
	seep_memory_close(process->memory);
	seep_maps_done(&process->maps);
	free(process->program);
	free(process->modules);
}

static bool has_entry(const struct mapped *module, const struct seep_allocation_function *function)
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

static void add_found(struct seep_bindings *bindings, const struct mapped *from,
		      const struct mapped *to, const struct seep_allocation_function *function)
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

static void look_at_entry(const struct process *process, const struct mapped *from,
			  const struct seep_got_entry *entry, struct seep_bindings *bindings)
{
	const struct mapped *to;
	uint64_t target;

	if (!seep_memory_read(process->memory, from->module.bias + entry->address, &target,
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
		struct mapped *mapped = &process->modules[i];

		has_ours |= mapped->is_ours;
		if (mapped->has_code && !mapped->is_ours)
			mapped->got = got_of(&mapped->module, mapped->path);
	}
	for (size_t i = 0; has_ours && i < process->count; i++) {
		const struct mapped *from = &process->modules[i];

		for (size_t k = 0; from->got && k < from->got->count; k++)
			look_at_entry(process, from, &from->got->items[k], bindings);
	}
}

static void look_for_manager(const struct process *process, uint32_t pid,
			     struct seep_bindings *bindings)
{
	const struct seep_memory_manager *manager = NULL;
	size_t bytes = 0;
	char *environment;

	for (size_t i = 0; i < process->count && !manager; i++)
		manager = seep_memory_manager_of(process->modules[i].path);
	if (!manager || bindings->manager)
		return;
	environment = seep_procfs_read(pid, "environ", &bytes);
	if (!environment || !seep_memory_manager_is_off(manager, environment, bytes))
		bindings->manager = manager;
	free(environment);
}

int seep_bindings_read(uint32_t pid, struct seep_bindings *bindings)
{
	struct process process;
	int rc = open_process(pid, &process);

	if (rc == 0) {
		look_at(&process, bindings);
		look_for_manager(&process, pid, bindings);
	}
	close_process(&process);
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
