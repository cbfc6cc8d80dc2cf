/* SPDX-License-Identifier: MIT */
/* Is the process that wrote a ledger still there? */
#include "profile/ledger_load.h"

#include "ledger/ledger.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STAT_BYTES = 4096, NAME_BYTES = 64 };

/* The start of /proc/@name, terminated; its length, or 0. */
static size_t read_proc(const char *name, char *text, size_t bytes)
{
	char path[NAME_BYTES + 8];
	ssize_t got;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	got = read(fd, text, bytes - 1);
	(void)close(fd);
	if (got < 0)
		got = 0;
	text[got] = '\0';
	return (size_t)got;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return isxdigit((unsigned char)c) ? tolower((unsigned char)c) - 'a' + 10 : -1;
}

/* The kernel gives a UUID with dashes. Returns whether all 16 bytes were there. */
static bool read_boot_id(uint8_t id[16])
{
	char text[NAME_BYTES];
	int nibbles = 0;

	(void)read_proc("sys/kernel/random/boot_id", text, sizeof(text));
	memset(id, 0, 16);
	for (const char *at = text; *at && nibbles < 32; at++) {
		int digit = hex_digit(*at);

		if (digit < 0)
			continue;
		id[nibbles / 2] = (uint8_t)(id[nibbles / 2] << 4 | digit);
		nibbles++;
	}
	return nibbles == 32;
}

static bool is_this_boot(const struct ledger_header *header)
{
	static const uint8_t unknown[16];
	uint8_t id[16];

	if (memcmp(header->boot_id, unknown, sizeof(unknown)) == 0)
		return true; /* the start time decides */
	return read_boot_id(id) && memcmp(header->boot_id, id, sizeof(id)) == 0;
}

static uint64_t namespace_of(const char *pid)
{
	char path[NAME_BYTES + 16];
	struct stat st;

	(void)snprintf(path, sizeof(path), "/proc/%s/ns/pid", pid);
	return stat(path, &st) == 0 ? (uint64_t)st.st_ino : 0;
}

/*
 * Fields 3 (state), 20 (threads) and 22 (start). The name in field 2 may hold anything, so they
 * are counted from the last parenthesis. A zombie with threads is a process whose first thread
 * has ended before the others.
 */
static bool is_running_since(const char *pid, uint64_t start_ticks)
{
	char name[NAME_BYTES];
	char text[STAT_BYTES];
	uint64_t threads = 0;
	uint64_t start = 0;
	char state = 'X';
	char *fields;

	(void)snprintf(name, sizeof(name), "%.32s/stat", pid);
	if (read_proc(name, text, sizeof(text)) == 0)
		return false;
	fields = strrchr(text, ')');
	if (!fields ||
	    sscanf(fields + 1,
		   " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %" SCNu64
		   " %*s %" SCNu64,
		   &state, &threads, &start) != 3)
		return false;
	if (state == 'X' || (state == 'Z' && threads <= 1))
		return false;
	return start == start_ticks;
}

/* The last number of the NSpid line: the pid as the process itself sees it. */
static uint32_t own_pid_of(const char *pid)
{
	char name[NAME_BYTES];
	char text[STAT_BYTES];
	const char *line;
	uint32_t number = 0;

	(void)snprintf(name, sizeof(name), "%.32s/status", pid);
	if (read_proc(name, text, sizeof(text)) == 0)
		return 0;
	line = strstr(text, "\nNSpid:");
	if (!line)
		return 0;
	line += strlen("\nNSpid:");
	for (char *end; *line && *line != '\n'; line = end) {
		number = (uint32_t)strtoul(line, &end, 10);
		if (end == line)
			break;
		while (*end == '\t' || *end == ' ')
			end++;
	}
	return number;
}

static bool is_it(const struct ledger_header *header, const char *pid)
{
	return is_running_since(pid, header->start_ticks) &&
	       (header->pid_namespace == 0 || namespace_of(pid) == 0 ||
		namespace_of(pid) == header->pid_namespace) &&
	       own_pid_of(pid) == header->pid;
}

/* A process in a namespace below ours has another number here. */
static uint32_t find_in_namespace(const struct ledger_header *header)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	uint32_t found = 0;

	if (!proc)
		return 0;
	while (!found && (entry = readdir(proc)) != NULL)
		if (isdigit((unsigned char)entry->d_name[0]) && is_it(header, entry->d_name))
			found = (uint32_t)strtoul(entry->d_name, NULL, 10);
	(void)closedir(proc);
	return found;
}

bool seep_profile_is_process_alive(const struct ledger_header *header, uint32_t *ret_pid)
{
	char pid[NAME_BYTES];
	uint32_t found = 0;

	if (header->pid == 0 || !is_this_boot(header))
		return false;
	(void)snprintf(pid, sizeof(pid), "%" PRIu32, header->pid);
	if (is_it(header, pid))
		found = header->pid;
	else if (header->pid_namespace != 0 && header->pid_namespace != namespace_of("self"))
		found = find_in_namespace(header);
	if (found && ret_pid)
		*ret_pid = found;
	return found != 0;
}
