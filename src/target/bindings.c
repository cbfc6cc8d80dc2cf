/* SPDX-License-Identifier: MIT */
#include "target/bindings.h"

#include "base/file.h"
#include "base/idtable.h"
#include "base/path.h"
#include "base/procfs.h"
#include "base/xalloc.h"
#include "target/got.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	MAPS_MAX_BYTES = 16 * 1024 * 1024,
	FOLDER_BYTES = 48, /* of a thread in /proc */
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
	char *path; /* borrowed from the text of the maps */
	bool has_code;
	bool is_program;
	bool is_ours;
	const struct seep_got *got;
};

struct process {
	struct seep_elf memory; /* an offset is an address */
	char *maps;
	char program[4096]; /* path; "" unknown */
	struct mapped *modules;
	size_t count;
	size_t capacity;
};

static struct mapped *module_at(const struct process *process, uint64_t address)
{
	for (size_t i = 0; i < process->count; i++)
		if (address >= process->modules[i].module.start &&
		    address < process->modules[i].module.end)
			return &process->modules[i];
	return NULL;
}

/* "start-end perms offset device inode path" */
static void take_line(struct process *process, char *line)
{
	struct seep_got_module module;
	uint64_t start, end, offset;
	struct mapped *around;
	char perms[5];
	int used = 0;
	char *path;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %n", &start, &end, perms,
		   &offset, &used) < 4 ||
	    used == 0 || line[used] != '/')
		return;
	path = line + used;
	around = module_at(process, start);
	if (around && strcmp(around->path, path) == 0) {
		around->has_code |= perms[2] == 'x';
		return;
	}
	/* What else begins with an ELF header, a file that is only read, has no code. */
	if (offset != 0 || perms[0] != 'r' || process->count >= MODULES_MAX ||
	    !seep_got_find_module(&process->memory, start, &module))
		return;
	process->modules = seep_xgrow(process->modules, &process->capacity, process->count + 1,
				      sizeof(*process->modules));
	process->modules[process->count++] = (struct mapped){
		.module = module,
		.path = path,
		.has_code = perms[2] == 'x',
		.is_program = strcmp(path, process->program) == 0,
		.is_ours = strcmp(seep_path_base(path), "libseep.so") == 0,
	};
}

struct proc_path {
	char text[FOLDER_BYTES + sizeof("/maps")];
};

static struct proc_path path_in(const char *folder, const char *file)
{
	struct proc_path path;

	(void)snprintf(path.text, sizeof(path.text), "%s/%s", folder, file);
	return path;
}

/*
 * By the folder of any thread: the first may have ended before the others, and shows nothing any
 * more. Returns -1 with errno.
 */
static int open_memory(uint32_t pid, char folder[FOLDER_BYTES])
{
	DIR *threads = seep_procfs_threads((pid_t)pid);
	int fd = -1, problem = errno;
	pid_t tid;

	while (fd < 0 && (tid = seep_procfs_thread(threads))) {
		(void)snprintf(folder, FOLDER_BYTES, "/proc/%" PRIu32 "/task/%d", pid, tid);
		fd = open(path_in(folder, "mem").text, O_RDONLY | O_CLOEXEC);
		problem = errno;
	}
	seep_procfs_threads_done(threads);
	errno = problem;
	return fd;
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

static int open_process(uint32_t pid, struct process *ret_process, struct seep_error *err)
{
	char folder[FOLDER_BYTES];
	int rc;

	*ret_process = (struct process){ .memory = { .file_bytes = UINT64_MAX } };
	ret_process->memory.fd = open_memory(pid, folder);
	rc = ret_process->memory.fd < 0
		     ? seep_fail_errno(err, errno, "cannot read the memory of process %" PRIu32,
				       pid)
		     : seep_file_read(path_in(folder, "maps").text, MAPS_MAX_BYTES,
				      &ret_process->maps, NULL, err);
	/* At a process's end its files become root's, whoever it was: nobody refuses. */
	if (rc < 0 && !has_memory(pid))
		return seep_fail(err, SEEP_ENOTFOUND, "process %" PRIu32 " has ended", pid);
	if (rc < 0)
		return rc;
	(void)!readlink(path_in(folder, "exe").text, ret_process->program,
			sizeof(ret_process->program) - 1);
	for (char *line = ret_process->maps, *end; *line; line = end + 1) {
		end = strchrnul(line, '\n');
		if (!*end)
			break;
		*end = '\0';
		take_line(ret_process, line);
	}
	return 0;
}

static void close_process(struct process *process)
{
	if (process->memory.fd >= 0)
		(void)close(process->memory.fd);
	free(process->maps);
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
static bool is_lazy_stub(const struct seep_elf *memory, uint64_t address)
{
	static const unsigned char endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	unsigned char code[5];

	if (!seep_elf_read_at(memory, address, code, sizeof(code)))
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
	bindings->items = seep_xgrow(bindings->items, &bindings->capacity, bindings->count + 1,
				     sizeof(*bindings->items));
	bindings->items[bindings->count++] = (struct seep_binding){
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

	if (!seep_elf_read_at(&process->memory, from->module.bias + entry->address, &target,
			      sizeof(target)))
		return;
	to = module_at(process, target);
	/* Of no module: somebody's own interposition, made while the program runs. */
	if (!to || to->is_ours || !to->has_code)
		return;
	if (to == from && entry->may_be_lazy && is_lazy_stub(&process->memory, target))
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

int seep_bindings_read(uint32_t pid, struct seep_bindings *bindings, struct seep_error *err)
{
	struct process process;
	int rc;

	rc = open_process(pid, &process, err);
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
