/* SPDX-License-Identifier: MIT */
#include "symbol/perf_map.h"

#include "base/search.h"
#include "base/xalloc.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static bool take_number(const char **text, uint64_t *ret_number)
{
	const char *at = *text;
	char *end;

	/* strtoull() takes blanks and signs as well. */
	if (!isxdigit((unsigned char)*at))
		return false;
	errno = 0;
	*ret_number = strtoull(at, &end, 16);
	if (errno != 0 || (*end != ' ' && *end != '\t'))
		return false;
	while (*end == ' ' || *end == '\t')
		end++;
	*text = end;
	return true;
}

/* @line is "START SIZE NAME". */
static void take_line(const char *line, const uint64_t *addresses, size_t count, char **names)
{
	uint64_t start, bytes;
	size_t i;

	if (!take_number(&line, &start) || !take_number(&line, &bytes) || *line == '\0')
		return;
	i = start ? seep_search_upto(addresses, count, sizeof(*addresses), start - 1) : 0;
	for (; i < count && addresses[i] - start < bytes; i++) {
		free(names[i]);
		names[i] = seep_xstrdup(line);
	}
}

/* A last line without an end was still being written, and is left out. */
int seep_perf_map_read(int fd, const uint64_t *addresses, size_t count, char **ret_names,
		       struct seep_error *err)
{
	FILE *file = fdopen(fcntl(fd, F_DUPFD_CLOEXEC, 0), "r");
	char line[SEEP_PERF_MAP_LINE_MAX];
	uint64_t taken = 0;
	size_t length = 0;
	int problem, byte;

	if (!file)
		return seep_fail_errno(err, errno, "cannot read a perf map");
	errno = 0;
	while (taken++ < SEEP_PERF_MAP_BYTES_MAX && (byte = getc_unlocked(file)) != EOF) {
		if (byte != '\n') {
			if (length < sizeof(line) - 1)
				line[length++] = (char)byte;
			continue;
		}
		line[length] = '\0';
		length = 0;
		take_line(line, addresses, count, ret_names);
	}
	problem = ferror(file) ? errno : 0;
	(void)fclose(file);
	if (problem != 0)
		return seep_fail_errno(err, problem, "cannot read a perf map");
	return 0;
}
