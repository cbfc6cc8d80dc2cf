/* SPDX-License-Identifier: MIT */
#include "target/attach_facts.h"

#include "base/file.h"
#include "base/path.h"
#include "base/procfs.h"
#include "base/xalloc.h"
#include "ledger/ledger.h"
#include "symbol/elf_image.h"
#include "target/live_modules.h"
#include "target/served_files.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
	CAPABILITY_DAC_OVERRIDE = 1,
	CAPABILITY_SYS_ADMIN = 21,
};

/* Who else lives in processes, by a part of the path of what is mapped. */
static const struct {
	const char *part;
	const char *name;
	bool is_in_the_way;
} tools[] = {
	{ "/valgrind/", "valgrind", true },	    { "/qemu-", "qemu", true },
	{ "/libdynamorio.so", "DynamoRIO", true },  { "/libheaptrack_", "heaptrack", false },
	{ "/libbytehound.so", "bytehound", false }, { "/_memray", "memray", false },
};

static uint64_t bytes_of(const char *status, const char *key)
{
	return strtoull(seep_procfs_line(status, key), NULL, 10) * 1024;
}

/*
 * The kernel asks for the same right as ptrace() before it finds that there is no memory at address 0.
 * Where a filter of our own refuses this call it says nothing.
 */
static int trace_errno(pid_t pid)
{
	char byte;
	const struct iovec here = { &byte, 1 }, there = { NULL, 1 };

	if (process_vm_readv(pid, &here, 1, &there, 1, 0) >= 0 || errno == EFAULT ||
	    errno == ENOSYS || seep_call_is_refused(SYS_process_vm_readv))
		return 0;
	return errno;
}

/* N of the highest "GLIBC_2.N" among @names, each ended by a zero byte, as is all of them. */
static unsigned highest_minor(const char *names, size_t bytes)
{
	unsigned highest = 0, minor;
	char end;

	for (const char *at = names; at < names + bytes; at += strlen(at) + 1)
		if (sscanf(at, "GLIBC_2.%3u%c", &minor, &end) >= 1 && minor > highest)
			highest = minor;
	return highest;
}

/* Of libseep.so; 2.34 at least, the first whose libc.so.6 has dlopen(). */
static unsigned needed_glibc(void)
{
	SEEP_RELEASED(seep_elf_close_at) struct seep_elf *elf = NULL;
	SEEP_FREED char *path = NULL;
	struct seep_elf_bytes names = { 0 };
	unsigned minor = 0;

	if (seep_runtime_find(&path, NULL) == 0 && !seep_elf_open(path, &elf))
		names = seep_elf_section(elf, ".dynstr");
	if (names.bytes)
		minor = highest_minor((const char *)names.data, names.bytes);
	return minor > 34 ? minor : 34;
}

static bool is_live_ledger(struct seep_memory *memory, uint64_t begin)
{
	char magic[sizeof(LEDGER_MAGIC) - 1];
	uint32_t ended;

	return seep_memory_read(memory, begin, magic, sizeof(magic)) &&
	       memcmp(magic, LEDGER_MAGIC, sizeof(magic)) == 0 &&
	       seep_memory_read(
		       memory, begin + 2 * LEDGER_PAGE_BYTES + offsetof(struct ledger_state, ended),
		       &ended, sizeof(ended)) &&
	       ended == 0;
}

static void note_tool(struct seep_attach_facts *facts, const char *path)
{
	const char *sanitizer = seep_sanitizer_library(seep_path_base(path));

	for (size_t i = 0; i < sizeof(tools) / sizeof(*tools); i++)
		if (!facts->tool_is_in_the_way && strstr(path, tools[i].part)) {
			facts->tool = tools[i].name;
			facts->tool_is_in_the_way = tools[i].is_in_the_way;
		}
	if (sanitizer) {
		facts->tool = sanitizer;
		facts->tool_is_in_the_way = true;
	}
}

static void note_mapping(struct seep_attach_facts *facts, struct seep_memory *memory,
			 const struct seep_mapping *mapping)
{
	const char *path = mapping->name, *base = seep_path_base(path);

	note_tool(facts, path);
	if (seep_begins_with(base, "ld-musl-") || seep_begins_with(base, "libc.musl-") ||
	    strstr(path, "-linux-musl/"))
		facts->libc = SEEP_ATTACH_MUSL;
	facts->is_recorded |= mapping->offset == 0 && strstr(path, ".ledger") &&
			      is_live_ledger(memory, mapping->begin);
}

static void look_at_mappings(struct seep_attach_facts *facts)
{
	SEEP_RELEASED(seep_live_modules_done) struct seep_live_modules modules = { 0 };

	facts->sees_mappings = seep_live_modules_read(facts->pid, &modules, NULL) == 0;
	for (size_t i = 0; i < modules.maps.count; i++)
		if (*modules.maps.items[i].name == '/')
			note_mapping(facts, modules.memory, &modules.maps.items[i]);
	for (size_t i = 0; i < modules.count; i++) {
		struct seep_live_module *module = &modules.items[i];

		facts->is_preloaded |= module->is_ours && !strstr(module->path, "memfd:");
		if (!module->is_libc)
			continue;
		seep_live_symbols(&modules, module);
		facts->libc = SEEP_ATTACH_GLIBC;
		facts->glibc_minor = highest_minor(module->names, module->name_bytes);
	}
	facts->is_preloaded &= !facts->is_recorded;
	facts->lacks_vdso = modules.lacks_vdso;
}

/* Its file is read unless a process serves it that may never answer. */
static void look_at_program(struct seep_attach_facts *facts)
{
	const struct seep_procfs_path path = seep_procfs_path(facts->pid, "exe");
	SEEP_CLOSED const int look = open(path.text, O_PATH | O_CLOEXEC);
	SEEP_CLOSED int fd = -1;

	if (look < 0 || seep_served_is(look, facts->pid))
		return;
	fd = open(path.text, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return;
	facts->kind_is_known = seep_elfkind_read(fd, "it", &facts->kind, NULL) == 0;
	facts->linked_allocator = seep_allocator_in(path.text);
	if (facts->kind.sanitizer) {
		facts->tool = facts->kind.sanitizer;
		facts->tool_is_in_the_way = true;
	}
}

/* Each thread has filters of its own; strict mode is worse than any. */
static unsigned strictest_seccomp(pid_t pid)
{
	DIR *threads = seep_procfs_threads(pid);
	struct seep_procfs_status status;
	unsigned found = 0;
	pid_t tid;

	while ((tid = seep_procfs_thread(threads)))
		if (seep_procfs_status((uint32_t)tid, &status) && status.seccomp && found != 1)
			found = status.seccomp;
	seep_procfs_threads_done(threads);
	return found;
}

/* What PTRACE_SECCOMP_GET_FILTER asks of us, but that the right has to be one of the host's. */
static bool may_read_filters(void)
{
	SEEP_FREED char *ours = seep_procfs_read(seep_procfs_self(), "status", NULL);

	return strtoull(seep_procfs_line(ours, "\nCapEff:"), NULL, 16) >> CAPABILITY_SYS_ADMIN &
		       1 &&
	       strtoul(seep_procfs_line(ours, "\nSeccomp:"), NULL, 10) == 0;
}

static uint64_t less(uint64_t limit, uint64_t taken)
{
	return limit == SEEP_NO_LIMIT ? limit : limit > taken ? limit - taken : 0;
}

/* Their folder is for its user, and for CAP_DAC_OVERRIDE. */
static bool count_descriptors(pid_t pid, uint64_t *ret_count)
{
	DIR *dir = opendir(seep_procfs_path(pid, "fd").text);

	*ret_count = 0;
	if (!dir)
		return false;
	while (readdir(dir))
		++*ret_count;
	(void)closedir(dir);
	*ret_count -= *ret_count < 2 ? *ret_count : 2; /* "." and ".." */
	return true;
}

static void look_at_limits(struct seep_attach_facts *facts, const char *status)
{
	SEEP_RELEASED(seep_facts_done) struct seep_facts limits;
	uint64_t descriptors;
	char pid[16];

	facts->opens_files = count_descriptors(facts->pid, &descriptors);
	(void)snprintf(pid, sizeof(pid), "%d", facts->pid);
	seep_facts_init(&limits);
	seep_facts_look_at_limits(&limits, pid);
	facts->group = limits.group;
	facts->resident_bytes = bytes_of(status, "\nVmRSS:");
	facts->locked_bytes = bytes_of(status, "\nVmLck:");
	facts->left = (struct seep_limits){
		.address_space_bytes = less(limits.limits.address_space_bytes,
					    bytes_of(status, "\nVmSize:")),
		.data_bytes = less(limits.limits.data_bytes, bytes_of(status, "\nVmData:")),
		.file_bytes = limits.limits.file_bytes,
		.descriptor_count = less(limits.limits.descriptor_count, descriptors),
	};
}

/* The number that user @uid, as we see it, has for process @pid itself. */
static uint32_t own_number(pid_t pid, uint32_t uid)
{
	SEEP_FREED char *map = seep_procfs_read((uint32_t)pid, "uid_map", NULL);
	unsigned inside, outside, count;
	int bytes;

	for (const char *at = map;
	     at && sscanf(at, "%u %u %u%n", &inside, &outside, &count, &bytes) == 3; at += bytes)
		if (uid >= outside && uid - outside < count)
			return inside + (uid - outside);
	return uid;
}

struct user {
	uint32_t uid, gid;
	bool may_all; /* it has CAP_DAC_OVERRIDE */
};

static bool may_make_in(const struct stat *folder, const struct user *user)
{
	const mode_t both = S_IWOTH | S_IXOTH;
	const mode_t mode = folder->st_mode >> (folder->st_uid == user->uid   ? 6
						: folder->st_gid == user->gid ? 3
									      : 0);

	return user->may_all || (mode & both) == both;
}

/* @root: what the process has as "/". */
static bool is_folder_for(int root, const char *path, uint32_t own_uid, const struct user *user,
			  struct seep_room *ret_room)
{
	SEEP_CLOSED const int fd = seep_procfs_open_below(root, path, O_PATH | O_DIRECTORY, 0);
	struct stat folder, own;
	struct statvfs fs;
	char name[32];

	(void)snprintf(name, sizeof(name), "seep-%u", own_uid);
	if (fd < 0 || fstat(fd, &folder) < 0 || fstatvfs(fd, &fs) < 0 || (fs.f_flag & ST_RDONLY))
		return false;
	ret_room->total_bytes = (uint64_t)fs.f_blocks * fs.f_frsize;
	ret_room->free_bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
	if (fstatat(fd, name, &own, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT && may_make_in(&folder, user);
	return S_ISDIR(own.st_mode) && own.st_uid == user->uid && !(own.st_mode & 077);
}

static void look_for_folder(struct seep_attach_facts *facts, const char *status)
{
	static const char *const roots[LEDGER_ROOT_COUNT] = { LEDGER_ROOTS };
	SEEP_CLOSED const int root = open(seep_procfs_path(facts->pid, "root").text,
					  O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct user user = {
		.may_all = strtoull(seep_procfs_line(status, "\nCapEff:"), NULL, 16) >>
				   CAPABILITY_DAC_OVERRIDE &
			   1,
	};
	char number[16];

	(void)sscanf(seep_procfs_line(status, "\nUid:"), "%*u %u", &user.uid);
	(void)sscanf(seep_procfs_line(status, "\nGid:"), "%*u %u", &user.gid);
	facts->uid = user.uid;
	facts->own_uid = own_number(facts->pid, user.uid);
	(void)snprintf(number, sizeof(number), "%u", facts->own_uid);
	for (int i = 0; i < LEDGER_ROOT_COUNT; i++) {
		(void)snprintf(facts->folder, sizeof(facts->folder), "%s%s", roots[i],
			       i == LEDGER_ROOT_OF_USER ? number : "");
		if (is_folder_for(root, facts->folder, facts->own_uid, &user, &facts->room))
			return;
	}
	*facts->folder = '\0';
}

void seep_attach_look(pid_t pid, struct seep_attach_facts *facts)
{
	SEEP_FREED char *status = seep_procfs_read((uint32_t)pid, "status", NULL);
	struct seep_procfs_stat stat;

	*facts = (struct seep_attach_facts){ .pid = pid };
	if (!status || !seep_procfs_stat((uint32_t)pid, &stat))
		return;
	facts->state = stat.state;
	facts->program = stat.stack_begin;
	facts->goes_on = stat.state == 'Z' && stat.threads > 1;
	if (stat.ppid && syscall(SYS_kcmp, pid, stat.ppid, KCMP_VM, 0, 0) == 0)
		facts->memory_of = (pid_t)stat.ppid;
	facts->process = (pid_t)strtol(seep_procfs_line(status, "\nTgid:"), NULL, 10);
	(void)snprintf(facts->name, sizeof(facts->name), "%s", stat.name);
	seep_refusal_look(pid, &facts->refusal);
	facts->trace_errno = trace_errno(pid);
	if (facts->trace_errno || facts->refusal.is_kernels || facts->state == 'Z')
		return;
	look_at_mappings(facts);
	look_at_program(facts);
	facts->is_starting = facts->libc != SEEP_ATTACH_MUSL && !facts->glibc_minor &&
			     (*facts->kind.loader || facts->kind.is_loader);
	facts->needed_glibc_minor = needed_glibc();
	facts->seccomp = strictest_seccomp(pid);
	facts->may_read_filters = may_read_filters();
	facts->has_shadow_stack = strstr(seep_procfs_line(status, "\nx86_Thread_features:"),
					 "shstk");
	look_at_limits(facts, status);
	look_for_folder(facts, status);
	(void)snprintf(facts->confined, sizeof(facts->confined), "%.255s",
		       seep_procfs_confinement(pid).text);
}
