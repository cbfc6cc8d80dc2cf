/* SPDX-License-Identifier: MIT */
#include "base/procfs.h"

#include "base/file.h"
#include "base/xalloc.h"

#include <ctype.h>
#include <limits.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PROC_FILE_MAX_BYTES = 64 << 20 };

char *seep_procfs_read(uint32_t pid, const char *file, size_t *ret_bytes)
{
	char path[64], *text = NULL;

	if (ret_bytes)
		*ret_bytes = 0;
	(void)snprintf(path, sizeof(path), "/proc/%u/%s", pid, file);
	return seep_file_read(path, PROC_FILE_MAX_BYTES, &text, ret_bytes, NULL) < 0 ? NULL : text;
}

static void copy_name(const char *text, char *name, size_t name_bytes)
{
	const char *begin = strchr(text, '(');
	const char *end = strrchr(text, ')');
	size_t bytes = begin && end > begin ? (size_t)(end - begin - 1) : 0;

	if (bytes >= name_bytes)
		bytes = name_bytes - 1;
	memcpy(name, bytes ? begin + 1 : "", bytes);
	name[bytes] = '\0';
}

DIR *seep_procfs_threads(pid_t pid)
{
	char path[32];

	(void)snprintf(path, sizeof(path), "/proc/%d/task", pid);
	return opendir(path);
}

pid_t seep_procfs_thread(DIR *threads)
{
	const struct dirent *entry;
	pid_t tid = 0;

	while (threads && !tid && (entry = readdir(threads)))
		tid = (pid_t)atoi(entry->d_name);
	return tid;
}

void seep_procfs_threads_done(DIR *threads)
{
	if (threads)
		(void)closedir(threads);
}

char *seep_procfs_exe(uint32_t pid)
{
	char link[64], path[PATH_MAX];
	ssize_t bytes;

	(void)snprintf(link, sizeof(link), "/proc/%u/exe", pid);
	bytes = readlink(link, path, sizeof(path));
	return bytes > 0 ? seep_xstrndup(path, (size_t)bytes) : NULL;
}

/* The name in field 2 may hold spaces and parentheses: the last ')' ends it. */
bool seep_procfs_stat(uint32_t pid, struct seep_procfs_stat *ret_stat)
{
	char *text = seep_procfs_read(pid, "stat", NULL);
	const char *fields = text ? strrchr(text, ')') : NULL;
	/* 3, 4, 20, 22 and 28 of proc(5). */
	const bool is_known = fields &&
			      sscanf(fields + 1,
				     " %c %" SCNu32 " %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s"
				     " %*s %*s %*s %*s %" SCNu32 " %*s %" SCNu64
				     " %*s %*s %*s %*s %*s %" SCNu64,
				     &ret_stat->state, &ret_stat->ppid, &ret_stat->threads,
				     &ret_stat->start_ticks, &ret_stat->stack_begin) == 5;

	if (is_known)
		copy_name(text, ret_stat->name, sizeof(ret_stat->name));
	free(text);
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
	char *text = seep_procfs_read(pid, "status", NULL);

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
		.peak_rss_bytes = status_bytes(text, "\nVmHWM:"),
		.anon_rss_bytes = status_bytes(text, "\nRssAnon:"),
	};
	free(text);
	return true;
}

bool seep_procfs_alive(uint32_t pid, uint64_t start_ticks)
{
	struct seep_procfs_stat stat;
	char path[64];

	/* Where descriptors have run out, who has its pid is taken for it. */
	(void)snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	if (!seep_procfs_stat(pid, &stat))
		return access(path, F_OK) == 0;
	if (start_ticks != 0 && stat.start_ticks != start_ticks)
		return false;
	/* With threads left it is a process whose first thread has ended before the others. */
	return stat.state != 'X' && (stat.state != 'Z' || stat.threads > 1);
}

static uint8_t boot_id[16];

static void read_boot_id(void)
{
	char text[64];
	const char *at = text;

	(void)seep_file_read_start("/proc/sys/kernel/random/boot_id", text, sizeof(text));
	for (int i = 0; i < 16 && sscanf(at, "%2hhx", &boot_id[i]) == 1; i++) {
		at += 2;
		at += *at == '-';
	}
}

void seep_procfs_boot_id(uint8_t ret_id[16])
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	(void)pthread_once(&once, read_boot_id);
	memcpy(ret_id, boot_id, sizeof(boot_id));
}

static uint64_t pid_namespace(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? (uint64_t)st.st_ino : 0;
}

uint64_t seep_procfs_pid_namespace(uint32_t pid)
{
	static _Atomic uint64_t ours; /* never changes; a recorder asks for each process */
	char path[64];
	uint64_t known = atomic_load_explicit(&ours, memory_order_relaxed);

	if (pid) {
		(void)snprintf(path, sizeof(path), "/proc/%u/ns/pid", pid);
		return pid_namespace(path);
	}
	if (!known) {
		known = pid_namespace("/proc/self/ns/pid");
		atomic_store_explicit(&ours, known, memory_order_relaxed);
	}
	return known;
}
