/* SPDX-License-Identifier: MIT */
#include "base/file.h"
#include "base/xalloc.h"
#include "core/cgroup.h"
#include "target/capture.h"
#include "target/doctor_look.h"
#include "target/preflight.h"
#include "target/spawn.h"

#include <dirent.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

enum { SMALL_FILE_BYTES = 4096, TMPFS_MAGIC_NUMBER = 0x01021994 };

struct seep_doctor_room seep_doctor_look_room(struct seep_doctor_facts *facts, const char *path,
					      const char *shown)
{
	struct seep_doctor_room room = { .path = seep_doctor_keep(facts, shown) };
	struct statvfs fs;
	struct statfs kind;

	if (statvfs(path, &fs) < 0 || statfs(path, &kind) < 0)
		return room;
	room.total_bytes = (uint64_t)fs.f_blocks * fs.f_frsize;
	room.free_bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
	room.in_memory = kind.f_type == TMPFS_MAGIC_NUMBER;
	return room;
}

struct core_cgroup seep_doctor_look_group(uint32_t pid)
{
	struct core_cgroup group = { SEEP_NO_LIMIT, SEEP_NO_LIMIT };
	static struct core_cgroup_buffers buffers;
	char process[16];

	(void)snprintf(process, sizeof(process), "%u", pid);
	(void)core_cgroup_memory(seep_file_read_start, "", process, &buffers, &group);
	return group;
}

const char *seep_doctor_first_line(struct seep_doctor_facts *facts, const char *text)
{
	size_t bytes = strcspn(text, "\n");

	return bytes ? seep_arena_strndup(facts->arena, text, bytes) : NULL;
}

/* ---- the system --------------------------------------------------------------------------- */

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

static const char *container_name(void)
{
	const char *named = getenv("container");

	if (named && *named)
		return named;
	if (getenv("KUBERNETES_SERVICE_HOST"))
		return "kubernetes";
	if (access("/.dockerenv", F_OK) == 0)
		return "docker";
	return access("/run/.containerenv", F_OK) == 0 ? "podman" : NULL;
}

static bool selinux_enforces(void)
{
	char *text = NULL;
	bool found = seep_file_read("/sys/fs/selinux/enforce", SMALL_FILE_BYTES, &text, NULL,
				    NULL) == 0 &&
		     text[0] == '1';

	free(text);
	return found;
}

/* A profile that restricts. What Docker gives everybody does not restrict what matters here. */
static const char *confinement(struct seep_doctor_facts *facts)
{
	const char *found = NULL;
	char *text = NULL;

	if (seep_file_read("/proc/self/attr/current", SMALL_FILE_BYTES, &text, NULL, NULL) < 0)
		return NULL;
	if ((strstr(text, "(enforce)") && strncmp(text, "docker-default", 14) != 0) ||
	    (facts->machine.selinux_enforces && !strstr(text, "unconfined")))
		found = seep_doctor_first_line(facts, text);
	free(text);
	return found;
}

/* The first path in a list as LD_PRELOAD has it at which there is nothing. */
static const char *missing_of(struct seep_doctor_facts *facts, const char *list)
{
	char *copy = seep_xstrdup(list), *rest = copy, *word;
	const char *missing = NULL;

	while (!missing && (word = strsep(&rest, ": "))) {
		/* Names without a slash are searched for, $LIB and the like replaced. */
		if (strchr(word, '/') && !strchr(word, '$') && access(word, F_OK) < 0)
			missing = seep_doctor_keep(facts, word);
	}
	free(copy);
	return missing;
}

/* ---- our own library ---------------------------------------------------------------------- */

static void look_at_library(struct seep_doctor_facts *facts)
{
	struct seep_doctor_machine *machine = &facts->machine;
	struct seep_error err = { 0 };
	struct seep_elfkind kind;
	struct statvfs fs;
	char *path = NULL;
	int fd;

	machine->glibc_here = gnu_get_libc_version();
	if (seep_runtime_find(&path, &err) < 0) {
		machine->library_problem = seep_doctor_keep(facts, err.text);
		return;
	}
	machine->library = seep_doctor_keep(facts, path);
	machine->library_noexec = statvfs(path, &fs) == 0 && (fs.f_flag & ST_NOEXEC);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && seep_elfkind_read(fd, path, &kind, NULL) == 0)
		machine->glibc_needed = seep_doctor_keep(facts, kind.glibc);
	if (fd >= 0)
		(void)close(fd);
	free(path);
}

/* Remove the ledgers of a process that has ended. Returns whether there was one. */
static bool remove_ledgers(const char *folder, uint32_t pid)
{
	char *part = seep_xasprintf(".%u.", pid);
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
	free(part);
	return found;
}

/*
 * The proof of it all: this very program, which does nothing then, with the environment that
 * "seep run" would give it.
 */
static void try_it(struct seep_doctor_facts *facts)
{
	struct seep_doctor_machine *machine = &facts->machine;
	const struct seep_spawn_environment environment = {
		.library = machine->library,
		.directory = machine->ledgers.path,
	};
	char *argv[] = { (char *)(uintptr_t) "/proc/self/exe", (char *)(uintptr_t) "--version",
			 NULL };
	struct seep_capture capture;
	char **envp;

	if (!machine->library || machine->ledgers_problem)
		return;
	envp = seep_spawn_environment_list(&environment);
	if (seep_capture_run(argv, envp, SEEP_CAPTURE_STDERR, &capture, NULL) == 0) {
		machine->was_tried = true;
		machine->tried = seep_doctor_first_line(facts, capture.text);
		machine->tried_well = remove_ledgers(machine->ledgers.path, capture.pid);
		free(capture.text);
	}
	seep_spawn_environment_free(envp);
}

void seep_doctor_look_at_machine(struct seep_doctor_facts *facts, const char *ledger_dir,
				 const char *ledger_problem)
{
	struct seep_doctor_machine *machine = &facts->machine;
	struct utsname system;
	char *cwd = getcwd(NULL, 0);

	facts->subjects |= SEEP_DOCTOR_MACHINE;
	machine->kernel = seep_doctor_keep(facts, uname(&system) == 0 ? system.release : "?");
	machine->has_proc = access("/proc/self/stat", R_OK) == 0;
	machine->kernel_populates = kernel_populates();
	machine->container = seep_doctor_keep(facts, container_name());
	machine->selinux_enforces = selinux_enforces();
	machine->confined = confinement(facts);
	machine->ledgers = seep_doctor_look_room(facts, ledger_dir, ledger_dir);
	machine->ledgers_problem = seep_doctor_keep(facts, ledger_problem);
	machine->output = seep_doctor_look_room(facts, ".", cwd ? cwd : ".");
	machine->output_writable = access(".", W_OK) == 0;
	machine->limits = seep_limits_of(0);
	machine->group = seep_doctor_look_group((uint32_t)getpid());
	machine->preload = seep_doctor_keep(facts, getenv("LD_PRELOAD"));
	if (machine->preload)
		machine->preload_missing = missing_of(facts, machine->preload);
	machine->has_debug_folder = access("/usr/lib/debug", R_OK) == 0;
	machine->debuginfod_urls = seep_doctor_keep(facts, getenv("DEBUGINFOD_URLS"));
	look_at_library(facts);
	try_it(facts);
	free(cwd);
}
