/* SPDX-License-Identifier: MIT */
#include "base/file.h"
#include "base/maps.h"
#include "base/path.h"
#include "base/procfs.h"
#include "target/facts.h"

#include <ctype.h>
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* "Max address space         unlimited            unlimited            bytes": the first. */
static uint64_t limit_of(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	if (!at)
		return SEEP_NO_LIMIT;
	at += strlen(name) + strspn(at + strlen(name), " ");
	return isdigit((unsigned char)*at) ? strtoull(at, NULL, 10) : SEEP_NO_LIMIT;
}

void seep_facts_look_at_limits(struct seep_facts *facts, const char *process)
{
	struct core_cgroup_buffers buffers;
	char path[64], text[4096];

	facts->looked |= SEEP_FACTS_LIMITS;
	(void)snprintf(path, sizeof(path), "/proc/%s/limits", process);
	(void)seep_file_read_start(path, text, sizeof(text));
	facts->limits = (struct seep_limits){
		.address_space_bytes = limit_of(text, "Max address space"),
		.file_bytes = limit_of(text, "Max file size"),
		.data_bytes = limit_of(text, "Max data size"),
		.descriptor_count = limit_of(text, "Max open files"),
	};
	(void)core_cgroup_memory(seep_file_read_start, "", process, &buffers, &facts->group);
}

static bool read_status(struct seep_facts *facts)
{
	struct seep_process_facts *process = &facts->process;
	struct seep_procfs_status status;
	struct seep_procfs_stat stat;

	if (!seep_procfs_stat(process->pid, &stat) ||
	    !(process->is_ours || seep_procfs_alive(process->pid, stat.start_ticks)) ||
	    !seep_procfs_status(process->pid, &status))
		return false;
	process->start_ticks = stat.start_ticks;
	process->name = seep_facts_keep(facts, stat.name);
	process->real_uid = status.real_uid;
	process->uid = status.uid;
	process->seccomp = status.seccomp;
	process->own_pid = status.own_pid;
	return true;
}

void seep_facts_look_at_inherited(struct seep_facts *facts, uint32_t pid)
{
	char digits[16];

	facts->looked |= SEEP_FACTS_PROCESS;
	facts->process.pid = pid;
	facts->process.exists = read_status(facts);
	(void)snprintf(digits, sizeof(digits), "%u", pid);
	if (facts->process.exists)
		seep_facts_look_at_limits(facts, digits);
}

/* One of the kernel has neither a program nor arguments, and nobody is kept from seeing that. */
static void read_exe(struct seep_facts *facts)
{
	struct seep_process_facts *process = &facts->process;
	char *exe = seep_procfs_exe(process->pid);

	process->is_kernels = !exe && errno == ENOENT;
	process->exe = exe;
	seep_arena_take(facts->arena, exe);
}

/* While it becomes another program, and at its end, a process has no maps. */
static void read_maps(struct seep_facts *facts)
{
	struct seep_process_facts *process = &facts->process;
	SEEP_RELEASED(seep_maps_done) struct seep_maps maps = { 0 };
	char pid[16];

	(void)snprintf(pid, sizeof(pid), ".%u.", process->own_pid);
	process->can_look = seep_maps_read((pid_t)process->pid, &maps, NULL) == 0;
	for (size_t i = 0; i < maps.count; i++) {
		const char *path = maps.items[i].name;

		if (*path != '/')
			continue;
		seep_facts_note_library(facts, path);
		if (strstr(path, "/libseep.so") || strstr(path, "/memfd:libseep.so"))
			process->has_library = true;
		if (strstr(path, ".ledger")) {
			process->ledger = seep_facts_keep(facts, path);
			process->is_forked = !strstr(seep_path_base(path), pid);
		}
	}
}

static char *read_kept(struct seep_facts *facts, const char *file, size_t *ret_bytes)
{
	char *text = seep_procfs_read(facts->process.pid, file, ret_bytes);

	seep_arena_take(facts->arena, text);
	return text;
}

static void read_environment(struct seep_facts *facts)
{
	struct seep_process_facts *process = &facts->process;
	const char *text = read_kept(facts, "environ", &process->environment_bytes);

	process->environment = text;
	for (const char *at = text; text && at < text + process->environment_bytes;
	     at += strlen(at) + 1)
		process->asked_for_library |= strncmp(at, "LD_PRELOAD=", 11) == 0 &&
					      strstr(at, "libseep.so");
}

static bool same_file(const char *one, const char *other)
{
	struct stat a, b;

	/* Where we may not look we do not claim a difference. */
	if (stat(one, &a) < 0 || stat(other, &b) < 0)
		return true;
	return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static void look_around(struct seep_facts *facts)
{
	struct seep_process_facts *process = &facts->process;
	const pid_t pid = (pid_t)process->pid;

	process->other_pid_namespace = !same_file(seep_procfs_path(pid, "ns/pid").text,
						  "/proc/self/ns/pid");
	process->other_root = !same_file(seep_procfs_path(pid, "ns/mnt").text,
					 "/proc/self/ns/mnt") ||
			      !same_file(seep_procfs_path(pid, "root/").text, "/");
	facts->ledgers = seep_facts_room(facts, seep_procfs_path(pid, "root/dev/shm").text,
					 process->other_root ? "its /dev/shm" : "/dev/shm");
}

void seep_facts_look_at_process(struct seep_facts *facts, uint32_t pid)
{
	struct seep_process_facts *process = &facts->process;
	const struct passwd *user;

	seep_facts_look_at_inherited(facts, pid);
	if (!process->exists)
		return;
	read_exe(facts);
	read_maps(facts);
	read_environment(facts);
	if (process->is_ours)
		return;
	user = getpwuid(process->uid);
	process->user = seep_facts_keep(facts, user ? user->pw_name : NULL);
	process->command = read_kept(facts, "cmdline", &process->command_bytes);
	look_around(facts);
}
