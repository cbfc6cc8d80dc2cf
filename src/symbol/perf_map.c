/* SPDX-License-Identifier: MIT */
#include "symbol/perf_map.h"

#include "base/xalloc.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { READ_BYTES = 64 << 10 };

/* The index of the first address that is not below @from. */
static size_t first_from(const uint64_t *addresses, size_t count, uint64_t from)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (addresses[middle] < from)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

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

struct reading {
	const uint64_t *addresses;
	size_t count;
	char **names;
	char line[SEEP_PERF_MAP_LINE_MAX];
	size_t length;
};

static void end_line(struct reading *r)
{
	const char *text = r->line;
	uint64_t start, bytes;

	r->line[r->length] = '\0';
	r->length = 0;
	if (!take_number(&text, &start) || !take_number(&text, &bytes) || *text == '\0')
		return;
	for (size_t i = first_from(r->addresses, r->count, start);
	     i < r->count && r->addresses[i] - start < bytes; i++) {
		free(r->names[i]);
		r->names[i] = seep_xstrdup(text);
	}
}

static void take_bytes(struct reading *r, const char *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (bytes[i] == '\n')
			end_line(r);
		else if (r->length < sizeof(r->line) - 1)
			r->line[r->length++] = bytes[i];
	}
}

/* A last line without an end was still being written, and is left out. */
int seep_perf_map_read(int fd, const uint64_t *addresses, size_t count, char **ret_names,
		       struct seep_error *err)
{
	struct reading reading = { .addresses = addresses, .count = count, .names = ret_names };
	char *buffer = seep_xmalloc(READ_BYTES);
	uint64_t taken = 0;
	int problem = 0;

	while (taken < SEEP_PERF_MAP_BYTES_MAX && problem == 0) {
		ssize_t got = read(fd, buffer, READ_BYTES);

		if (got == 0)
			break;
		if (got > 0) {
			take_bytes(&reading, buffer, (size_t)got);
			taken += (uint64_t)got;
		} else if (errno != EINTR) {
			problem = errno;
		}
	}
	free(buffer);
	if (problem != 0)
		return seep_fail_errno(err, problem, "cannot read a perf map");
	return 0;
}
