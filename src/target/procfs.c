/* SPDX-License-Identifier: MIT */
#include "target/procfs.h"

#include "base/file.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { PROC_FILE_MAX_BYTES = 64 * 1024 };

/* Fields are counted from 1, as in proc(5). */
enum { STAT_FIELD_STATE = 3, STAT_FIELD_PPID = 4, STAT_FIELD_THREADS = 20, STAT_FIELD_START = 22 };

static int read_proc(uint32_t pid, const char *file, char **ret_text, struct seep_error *err)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%u/%s", pid, file);
	return seep_file_read(path, PROC_FILE_MAX_BYTES, ret_text, NULL, err);
}

/* The name in field 2 may hold spaces and parentheses: the last ')' ends it. */
static const char *stat_field(const char *text, int field)
{
	const char *at = strrchr(text, ')');

	for (int i = 2; at && i < field; i++) {
		at = strchr(at + 1, ' ');
	}
	return at ? at + 1 : NULL;
}

int seep_procfs_stat(uint32_t pid, struct seep_procfs_stat *ret_stat, struct seep_error *err)
{
	const char *state, *ppid, *threads, *start;
	char *text;
	int rc;

	rc = read_proc(pid, "stat", &text, err);
	if (rc < 0)
		return rc;
	state = stat_field(text, STAT_FIELD_STATE);
	ppid = stat_field(text, STAT_FIELD_PPID);
	threads = stat_field(text, STAT_FIELD_THREADS);
	start = stat_field(text, STAT_FIELD_START);
	if (state && ppid && threads && start) {
		ret_stat->state = *state;
		ret_stat->ppid = (uint32_t)strtoul(ppid, NULL, 10);
		ret_stat->threads = (uint32_t)strtoul(threads, NULL, 10);
		ret_stat->start_ticks = strtoull(start, NULL, 10);
	} else {
		rc = seep_fail(err, SEEP_ESYS, "/proc/%u/stat has an unknown form", pid);
	}
	free(text);
	return rc;
}

static bool status_kilobytes(const char *text, const char *key, uint64_t *ret_bytes)
{
	const char *at = strstr(text, key);

	if (!at)
		return false;
	*ret_bytes = strtoull(at + strlen(key), NULL, 10) * 1024;
	return true;
}

int seep_procfs_memory(uint32_t pid, struct seep_procfs_memory *ret_memory, struct seep_error *err)
{
	struct seep_procfs_memory memory;
	char *text;
	int rc;

	rc = read_proc(pid, "status", &text, err);
	if (rc < 0)
		return rc;
	if (status_kilobytes(text, "\nVmRSS:", &memory.rss_bytes) &&
	    status_kilobytes(text, "\nRssAnon:", &memory.anon_rss_bytes) &&
	    status_kilobytes(text, "\nVmHWM:", &memory.peak_rss_bytes))
		*ret_memory = memory;
	else
		rc = seep_fail(err, SEEP_ENOTFOUND, "process %u has no memory any more", pid);
	free(text);
	return rc;
}

bool seep_procfs_alive(uint32_t pid, uint64_t start_ticks)
{
	struct seep_procfs_stat stat;

	if (seep_procfs_stat(pid, &stat, NULL) < 0 || stat.start_ticks != start_ticks)
		return false;
	/* With threads left it is a process whose first thread has ended before the others. */
	return stat.state != 'X' && (stat.state != 'Z' || stat.threads > 1);
}

static unsigned hex_value(char c)
{
	if (isdigit((unsigned char)c))
		return (unsigned)(c - '0');
	return (unsigned)(tolower((unsigned char)c) - 'a') + 10;
}

void seep_procfs_boot_id(uint8_t ret_id[16])
{
	unsigned nibbles = 0;
	char *text;

	memset(ret_id, 0, 16);
	if (seep_file_read("/proc/sys/kernel/random/boot_id", PROC_FILE_MAX_BYTES, &text, NULL,
			   NULL) < 0)
		return;
	for (const char *at = text; *at && nibbles < 32; at++) {
		if (!isxdigit((unsigned char)*at))
			continue;
		ret_id[nibbles / 2] = (uint8_t)(ret_id[nibbles / 2] << 4 | hex_value(*at));
		nibbles++;
	}
	free(text);
}

uint64_t seep_procfs_pid_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) == 0 ? (uint64_t)st.st_ino : 0;
}
