/* SPDX-License-Identifier: MIT */
#include "symbol/perf_map.h"

#include "base/arena.h"
#include "base/search.h"
#include "base/work.h"
#include "base/xalloc.h"
#include "core/bits.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
	*text = end + strspn(end, " \t");
	return true;
}

/* What some addresses are called: by the last line of those that cover them. */
struct painted {
	uint64_t line; /* its number, from 1 */
	const char *name;
};

struct names {
	const uint64_t *addresses;
	size_t count;
	/*
	 * A segment tree: 2 * count nodes, of which an address has the one at count + its index and
	 * all those above. So the cost of a line does not depend on how many addresses it covers.
	 */
	struct painted *tree;
	struct seep_arena *arena;
};

/* @line is "START SIZE NAME". */
static void take_line(struct names *names, const char *line, uint64_t number)
{
	const uint64_t *addresses = names->addresses;
	uint64_t start, bytes;
	struct painted painted = { .line = number };
	size_t from, to;

	if (!take_number(&line, &start) || !take_number(&line, &bytes) || *line == '\0' || !bytes)
		return;
	from = start ? seep_search_upto(addresses, names->count, sizeof(*addresses), start - 1) : 0;
	to = seep_search_upto(addresses, names->count, sizeof(*addresses),
			      start + core_smaller(bytes - 1, UINT64_MAX - start));
	if (from >= to)
		return;
	painted.name = seep_arena_strndup(names->arena, line, strlen(line));
	for (from += names->count, to += names->count; from < to; from /= 2, to /= 2) {
		if (from % 2)
			names->tree[from++] = painted;
		if (to % 2)
			names->tree[--to] = painted;
	}
}

static char *name_of(const struct names *names, size_t address)
{
	struct painted last = { 0 };

	for (size_t node = names->count + address; node; node /= 2)
		if (names->tree[node].line > last.line)
			last = names->tree[node];
	return last.name ? seep_xstrdup(last.name) : NULL;
}

/* A last line without an end was still being written, and is left out. */
static void read_lines(FILE *file, struct names *names)
{
	char line[SEEP_PERF_MAP_LINE_MAX];
	uint64_t taken = 0, number = 0;
	size_t length = 0;
	int byte;

	while (taken++ < SEEP_PERF_MAP_BYTES_MAX && !seep_work_is_over() &&
	       (byte = getc_unlocked(file)) != EOF) {
		if (byte != '\n') {
			if (length < sizeof(line) - 1)
				line[length++] = (char)byte;
			continue;
		}
		line[length] = '\0';
		length = 0;
		take_line(names, line, ++number);
	}
}

int seep_perf_map_read(int fd, const uint64_t *addresses, size_t count, char **ret_names,
		       struct seep_error *err)
{
	FILE *file = fdopen(fcntl(fd, F_DUPFD_CLOEXEC, 0), "r");
	struct names names = { .addresses = addresses, .count = count };
	int problem;

	if (!file)
		return seep_fail_errno(err, errno, "cannot read a perf map");
	names.tree = seep_xcalloc(2 * count, sizeof(*names.tree));
	names.arena = seep_arena_new();
	errno = 0;
	read_lines(file, &names);
	problem = ferror(file) ? errno : 0;
	(void)fclose(file);
	for (size_t i = 0; i < count; i++)
		ret_names[i] = name_of(&names, i);
	free(names.tree);
	seep_arena_free(names.arena);
	if (problem != 0)
		return seep_fail_errno(err, problem, "cannot read a perf map");
	return 0;
}
