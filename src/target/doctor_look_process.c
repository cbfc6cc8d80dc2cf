/* SPDX-License-Identifier: MIT */
#include "base/file.h"
#include "base/procfs.h"
#include "target/doctor_checks.h"
#include "target/doctor_look.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LARGE_MAX_BYTES = 64 << 20 };

struct proc_path {
	char text[64];
};

static struct proc_path path_of(uint32_t pid, const char *file)
{
	struct proc_path path;

	(void)snprintf(path.text, sizeof(path.text), "/proc/%u/%s", pid, file);
	return path;
}

/* NULL when it cannot be read. Release with free(). */
static char *read_of(uint32_t pid, const char *file, size_t max_bytes, size_t *ret_bytes)
{
	char *text = NULL;

	if (seep_file_read(path_of(pid, file).text, max_bytes, &text, ret_bytes, NULL) < 0)
		return NULL;
	return text;
}

static const char *link_of(struct seep_doctor_facts *facts, uint32_t pid, const char *file)
{
	char target[PATH_MAX];
	ssize_t bytes = readlink(path_of(pid, file).text, target, sizeof(target) - 1);

	return bytes > 0 ? seep_arena_strndup(facts->arena, target, (size_t)bytes) : NULL;
}

static const char *user_name(struct seep_doctor_facts *facts, uint32_t uid)
{
	const struct passwd *entry = getpwuid(uid);

	return entry ? seep_doctor_keep(facts, entry->pw_name) : NULL;
}

/* One of the kernel has neither a program nor arguments, and nobody is kept from seeing that. */
static bool is_kernels(uint32_t pid)
{
	char target[PATH_MAX];

	return readlink(path_of(pid, "exe").text, target, sizeof(target)) < 0 && errno == ENOENT;
}

static bool read_status(struct seep_doctor_process *process)
{
	struct seep_procfs_status status;

	if (seep_procfs_status(process->pid, &status, NULL) < 0)
		return false;
	process->real_uid = status.real_uid;
	process->uid = status.uid;
	process->seccomp = status.seccomp;
	process->rss_bytes = status.rss_bytes;
	process->anonymous_bytes = status.anon_rss_bytes;
	process->locked_bytes = status.locked_bytes;
	return true;
}

static void read_maps(struct seep_doctor_process *process)
{
	char *text = read_of(process->pid, "maps", LARGE_MAX_BYTES, NULL);
	char *rest = text, *line;

	process->can_look = text != NULL;
	while (rest && (line = strsep(&rest, "\n"))) {
		const char *path = strchr(line, '/');
		const char *allocator = path ? seep_doctor_allocator_of(path) : NULL;

		if (allocator)
			process->allocator = allocator;
		if (path && strstr(path, "/libseep.so"))
			process->has_library = true;
	}
	free(text);
}

static void read_environment(struct seep_doctor_process *process)
{
	size_t bytes = 0;
	char *text = read_of(process->pid, "environ", LARGE_MAX_BYTES, &bytes);

	for (const char *at = text; text && at < text + bytes; at += strlen(at) + 1) {
		if (strncmp(at, "LD_PRELOAD=", 11) == 0 && strstr(at, "libseep.so"))
			process->asked_for_library = true;
	}
	free(text);
}

static void read_command(struct seep_doctor_facts *facts)
{
	struct seep_doctor_process *process = &facts->process;
	size_t bytes = 0;
	char *text = read_of(process->pid, "cmdline", LARGE_MAX_BYTES, &bytes), *copy;

	if (!text)
		return;
	copy = seep_arena_alloc(facts->arena, bytes + 1);
	memcpy(copy, text, bytes);
	process->command = copy;
	process->command_bytes = bytes;
	free(text);
}

static bool same_file(const char *one, const char *other)
{
	struct stat a, b;

	/* Where we may not look we do not claim a difference. */
	if (stat(one, &a) < 0 || stat(other, &b) < 0)
		return true;
	return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static void look_around(struct seep_doctor_facts *facts)
{
	struct seep_doctor_process *process = &facts->process;
	uint32_t pid = process->pid;

	process->other_pid_namespace = !same_file(path_of(pid, "ns/pid").text, "/proc/self/ns/pid");
	process->other_root = !same_file(path_of(pid, "ns/mnt").text, "/proc/self/ns/mnt") ||
			      !same_file(path_of(pid, "root/").text, "/");
	process->shm = seep_doctor_look_room(facts, path_of(pid, "root/dev/shm").text,
					     process->other_root ? "Its /dev/shm" : "/dev/shm");
}

void seep_doctor_look_at_process(struct seep_doctor_facts *facts, uint32_t pid)
{
	struct seep_doctor_process *process = &facts->process;
	struct seep_procfs_stat stat;

	facts->subjects |= SEEP_DOCTOR_PROCESS;
	process->pid = pid;
	process->limits = seep_limits_of(pid);
	process->group = seep_doctor_look_group(pid);
	process->exists = seep_procfs_stat(pid, &stat, NULL) == 0 &&
			  seep_procfs_alive(pid, stat.start_ticks) && read_status(process);
	if (!process->exists)
		return;
	process->exe = link_of(facts, pid, "exe");
	process->is_kernels = !process->exe && is_kernels(pid);
	process->user = user_name(facts, process->uid);
	read_maps(process);
	read_environment(process);
	read_command(facts);
	look_around(facts);
}
