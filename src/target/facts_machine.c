/* SPDX-License-Identifier: MIT */
#include "base/file.h"
#include "base/procfs.h"
#include "base/xalloc.h"
#include "target/facts.h"
#include "target/preflight.h"
#include "target/spawn.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

void seep_facts_init(struct seep_facts *facts)
{
	*facts = (struct seep_facts){
		.arena = seep_arena_new(),
		.uid = geteuid(),
		.group = { SEEP_NO_LIMIT, SEEP_NO_LIMIT },
	};
}

void seep_facts_done(struct seep_facts *facts)
{
	seep_arena_free(facts->arena);
	*facts = (struct seep_facts){ 0 };
}

const char *seep_facts_keep(struct seep_facts *facts, const char *text)
{
	return text ? seep_arena_strndup(facts->arena, text, strlen(text)) : NULL;
}

/* The first line of @text; NULL when it is empty. */
static const char *keep_line(struct seep_facts *facts, const char *text)
{
	size_t bytes = strcspn(text, "\n");

	return bytes ? seep_arena_strndup(facts->arena, text, bytes) : NULL;
}

struct seep_room seep_facts_room(struct seep_facts *facts, const char *path, const char *shown)
{
	struct seep_room room = { .path = seep_facts_keep(facts, shown) };
	struct statvfs fs;

	if (statvfs(path, &fs) < 0)
		return room;
	room.total_bytes = (uint64_t)fs.f_blocks * fs.f_frsize;
	room.free_bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
	return room;
}

void seep_facts_look_at_output(struct seep_facts *facts)
{
	SEEP_FREED char *cwd = getcwd(NULL, 0);

	facts->looked |= SEEP_FACTS_OUTPUT;
	facts->output = seep_facts_room(facts, ".", cwd ? cwd : ".");
	facts->output_writable = access(".", W_OK) == 0;
}

static bool kernel_populates(void)
{
	const size_t bytes = 4096;
	void *page = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool done;

	if (page == MAP_FAILED)
		return true;
	done = madvise(page, bytes, MADV_POPULATE_WRITE) == 0;
	(void)munmap(page, bytes);
	return done;
}

/* Remove the ledgers of a process that has ended. Returns whether there was one. */
static bool remove_ledgers(const char *folder, uint32_t pid)
{
	SEEP_FREED char *part = seep_xasprintf(".%u.", pid);
	DIR *dir = opendir(folder);
	const struct dirent *entry;
	bool found = false;

	while (dir && (entry = readdir(dir))) {
		if (strncmp(entry->d_name, "seep.", 5) != 0 || !strstr(entry->d_name, part))
			continue;
		found |= strstr(entry->d_name, ".ledger") != NULL;
		(void)unlinkat(dirfd(dir), entry->d_name, 0);
	}
	if (dir)
		(void)closedir(dir);
	return found;
}

/*
 * The proof of it all: this very program, which does nothing then, with the environment that
 * "seep run" would give it.
 */
static void try_it(struct seep_facts *facts)
{
	struct seep_machine_facts *machine = &facts->machine;
	const struct seep_spawn_environment environment = {
		.library = machine->library,
		.directory = machine->ledger_dir,
	};
	char *argv[] = { (char *)(uintptr_t) "/proc/self/exe", (char *)(uintptr_t) "--version",
			 NULL };
	struct seep_capture capture;
	char **envp;

	if (!machine->library || machine->ledgers_problem)
		return;
	envp = seep_spawn_environment_list(&environment);
	if (seep_capture_run(argv, envp, SEEP_CAPTURE_STDERR, &capture)) {
		machine->was_tried = true;
		machine->tried = keep_line(facts, capture.text);
		machine->tried_well = remove_ledgers(machine->ledger_dir, capture.pid);
		free(capture.text);
	}
	seep_spawn_environment_free(envp);
}

static void look_at_library(struct seep_facts *facts)
{
	struct seep_machine_facts *machine = &facts->machine;
	struct seep_error err = { 0 };
	struct statvfs fs;
	SEEP_FREED char *path = NULL;

	if (seep_runtime_find(&path, &err) < 0) {
		machine->library_problem = seep_facts_keep(facts, err.text);
		return;
	}
	machine->library = seep_facts_keep(facts, path);
	machine->library_noexec = statvfs(path, &fs) == 0 && (fs.f_flag & ST_NOEXEC);
}

void seep_facts_look_at_machine(struct seep_facts *facts, const char *ledger_dir,
				const char *ledger_problem)
{
	struct seep_machine_facts *machine = &facts->machine;
	struct utsname system;

	facts->looked |= SEEP_FACTS_MACHINE;
	machine->kernel = seep_facts_keep(facts, uname(&system) == 0 ? system.release : "?");
	machine->has_proc = access("/proc/self/stat", R_OK) == 0;
	machine->kernel_populates = kernel_populates();
	machine->confined = keep_line(facts, seep_procfs_confinement(getpid()).text);
	machine->ledger_dir = seep_facts_keep(facts, ledger_dir);
	facts->ledgers = seep_facts_room(facts, ledger_dir, ledger_dir);
	machine->ledgers_problem = seep_facts_keep(facts, ledger_problem);
	machine->preload = seep_facts_keep(facts, getenv("LD_PRELOAD"));
	if (machine->preload)
		seep_facts_note_library(facts, machine->preload);
	seep_facts_look_at_limits(facts, "self");
	look_at_library(facts);
	try_it(facts);
}
