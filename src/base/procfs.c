/* SPDX-License-Identifier: MIT */
#include "base/procfs.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/xalloc.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <inttypes.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PROC_FILE_MAX_BYTES = 64 << 20 };

struct seep_procfs_path seep_procfs_path(pid_t pid, const char *file)
{
	struct seep_procfs_path path;

	(void)snprintf(path.text, sizeof(path.text), "/proc/%d/%s", pid, file);
	return path;
}

struct seep_procfs_path seep_procfs_fd(int fd)
{
	struct seep_procfs_path path;

	(void)snprintf(path.text, sizeof(path.text), "/proc/self/fd/%d", fd);
	return path;
}

int seep_procfs_open_below(int root, const char *path, int flags, uint64_t resolve)
{
	const struct open_how how = {
		.flags = (uint64_t)flags | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS | resolve,
	};

	return (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
}

char *seep_procfs_read(uint32_t pid, const char *file, size_t *ret_bytes)
{
	const struct seep_procfs_path path = seep_procfs_path((pid_t)pid, file);
	char *text = NULL;

	if (ret_bytes)
		*ret_bytes = 0;
	return seep_file_read(path.text, PROC_FILE_MAX_BYTES, &text, ret_bytes, NULL) < 0 ? NULL
											  : text;
}

const char *seep_procfs_line(const char *text, const char *key)
{
	const char *at = text ? strstr(text, key) : NULL;

	return at ? at + strlen(key) : "";
}

char *seep_procfs_children(uint32_t pid)
{
	char file[32];

	(void)snprintf(file, sizeof(file), "task/%u/children", pid);
	return seep_procfs_read(pid, file, NULL);
}

DIR *seep_procfs_threads(pid_t pid)
{
	return opendir(seep_procfs_path(pid, "task").text);
}

pid_t seep_procfs_thread(DIR *threads)
{
	const struct dirent *entry;
	pid_t tid = 0;

	while (threads && !tid && (entry = readdir(threads)))
		tid = (pid_t)atoi(entry->d_name);
	return tid;
}

uint32_t seep_procfs_process(DIR *processes, uint32_t own_pid)
{
	struct seep_procfs_status status;
	uint32_t pid = 0;

	while ((pid = (uint32_t)seep_procfs_thread(processes)) &&
	       !(seep_procfs_status(pid, &status) && status.own_pid == own_pid))
		;
	return pid;
}

void seep_procfs_threads_done(DIR *threads)
{
	if (threads)
		(void)closedir(threads);
}

uint32_t seep_procfs_self(void)
{
	char digits[16] = "";

	(void)!readlink("/proc/self", digits, sizeof(digits) - 1);
	return (uint32_t)strtoul(digits, NULL, 10);
}

char *seep_procfs_exe(uint32_t pid)
{
	char path[PATH_MAX];
	ssize_t bytes = readlink(seep_procfs_path((pid_t)pid, "exe").text, path, sizeof(path));

	return bytes > 0 ? seep_xstrndup(path, (size_t)bytes) : NULL;
}

/* The name in field 2 may hold spaces and parentheses: the last ')' ends it. */
bool seep_procfs_stat(uint32_t pid, struct seep_procfs_stat *ret_stat)
{
	SEEP_FREED char *text = seep_procfs_read(pid, "stat", NULL);
	const char *name = text ? strchr(text, '(') : NULL;
	const char *fields = name ? strrchr(name, ')') : NULL;
	/* 3, 4, 20, 22 and 28 of proc(5). */
	const bool is_known = fields &&
			      sscanf(fields + 1,
				     " %c %" SCNu32 " %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s"
				     " %*s %*s %*s %*s %" SCNu32 " %*s %" SCNu64
				     " %*s %*s %*s %*s %*s %" SCNu64,
				     &ret_stat->state, &ret_stat->ppid, &ret_stat->threads,
				     &ret_stat->start_ticks, &ret_stat->stack_begin) == 5;

	if (is_known)
		(void)snprintf(ret_stat->name, sizeof(ret_stat->name), "%.*s",
			       (int)(fields - name - 1), name + 1);
	return is_known;
}

/* The number behind a key of /proc/PID/status, or the one after it; 0 without the key. */
static uint64_t status_number(const char *text, const char *key, bool second)
{
	const char *at = strstr(text, key);
	char *end;
	uint64_t number;

	if (!at)
		return 0;
	number = strtoull(at + strlen(key), &end, 10);
	return second ? strtoull(end, NULL, 10) : number;
}

static uint64_t status_bytes(const char *text, const char *key)
{
	return status_number(text, key, false) * 1024;
}

/* The last number of the NSpid line. */
static uint32_t status_own_pid(const char *text)
{
	const char *at = strstr(text, "\nNSpid:");

	if (!at)
		return 0;
	for (at += strcspn(at + 1, "\n"); isdigit((unsigned char)*at); at--)
		;
	return (uint32_t)strtoul(at + 1, NULL, 10);
}

bool seep_procfs_status(uint32_t pid, struct seep_procfs_status *ret_status)
{
	SEEP_FREED char *text = seep_procfs_read(pid, "status", NULL);

	if (!text)
		return false;
	*ret_status = (struct seep_procfs_status){
		.real_uid = (uint32_t)status_number(text, "\nUid:", false),
		.uid = (uint32_t)status_number(text, "\nUid:", true),
		.own_pid = status_own_pid(text),
		.seccomp = (unsigned)status_number(text, "\nSeccomp:", false),
		.has_memory = strstr(text, "\nVmRSS:") && strstr(text, "\nRssAnon:") &&
			      strstr(text, "\nVmHWM:"),
		.rss_bytes = status_bytes(text, "\nVmRSS:"),
		.swap_bytes = status_bytes(text, "\nVmSwap:"),
		.peak_rss_bytes = status_bytes(text, "\nVmHWM:"),
		.anon_rss_bytes = status_bytes(text, "\nRssAnon:"),
		.locked_bytes = status_bytes(text, "\nVmLck:"),
		.pinned_bytes = status_bytes(text, "\nVmPin:"),
	};
	return true;
}

/*
 * How far the clock is set that @process counts starts by, in time_namespaces(7): what /proc says is
 * set as far as that of whoever reads it. 0 where the kernel has no such namespaces.
 */
static int64_t clock_offset_ticks(uint32_t pid)
{
	const int64_t tick_ns = SEEP_NS_PER_S / sysconf(_SC_CLK_TCK);
	const struct seep_procfs_path path = seep_procfs_path((pid_t)pid, "timens_offsets");
	long long seconds = 0, ns = 0;
	char text[256];
	const char *boot;

	(void)seep_file_read_start(path.text, text, sizeof(text));
	boot = strstr(text, "boottime");
	if (!boot || sscanf(boot, "boottime %lld %lld", &seconds, &ns) != 2)
		return 0;
	return seconds * (SEEP_NS_PER_S / tick_ns) + ns / tick_ns;
}

bool seep_procfs_began(uint32_t pid, uint64_t seen_ticks, uint64_t start_ticks)
{
	uint64_t shift;

	if (start_ticks == 0 || seen_ticks == start_ticks)
		return true;
	shift = (uint64_t)(clock_offset_ticks(pid) - clock_offset_ticks(seep_procfs_self()));
	/* Each was rounded down. */
	return shift != 0 && seen_ticks + shift - start_ticks + 1 <= 2;
}

bool seep_procfs_alive(uint32_t pid, uint64_t start_ticks)
{
	struct seep_procfs_stat stat;

	/* Where descriptors have run out, or it is hidden, who has its pid is taken for it. */
	if (!seep_procfs_stat(pid, &stat))
		return access(seep_procfs_path((pid_t)pid, "stat").text, F_OK) == 0 ||
		       (pid <= INT_MAX && (kill((pid_t)pid, 0) == 0 || errno == EPERM));
	/* With threads left it is a process whose first thread has ended before the others. */
	return seep_procfs_began(pid, stat.start_ticks, start_ticks) && stat.state != 'X' &&
	       (stat.state != 'Z' || stat.threads > 1);
}

struct seep_procfs_confinement seep_procfs_confinement(pid_t pid)
{
	const struct seep_procfs_path path = seep_procfs_path(pid, "attr/current");
	struct seep_procfs_confinement by;

	(void)seep_file_read_start(path.text, by.text, sizeof(by.text));
	by.text[strcspn(by.text, "\n")] = '\0';
	if (!strstr(by.text, "(enforce)") &&
	    (!strchr(by.text, ':') || strstr(by.text, "unconfined")))
		*by.text = '\0';
	return by;
}

void seep_procfs_boot_id(uint8_t ret_id[16])
{
	char text[64];
	const char *at = text;

	memset(ret_id, 0, 16);
	(void)seep_file_read_start("/proc/sys/kernel/random/boot_id", text, sizeof(text));
	for (int i = 0; i < 16 && sscanf(at, "%2hhx", &ret_id[i]) == 1; i++) {
		at += 2;
		at += *at == '-';
	}
}

uint64_t seep_procfs_pid_namespace(uint32_t pid)
{
	struct stat st;

	return stat(pid ? seep_procfs_path((pid_t)pid, "ns/pid").text : "/proc/self/ns/pid", &st) ==
			       0
		       ? (uint64_t)st.st_ino
		       : 0;
}

bool seep_procfs_is_ours(uint32_t pid)
{
	struct seep_procfs_status status;

	return seep_procfs_status(pid, &status) && status.uid == geteuid() &&
	       status.real_uid == geteuid();
}
