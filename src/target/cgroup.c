/* SPDX-License-Identifier: MIT */
#include "target/cgroup.h"

#include "base/file.h"
#include "base/xalloc.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_MAX_BYTES = 64 * 1024 };

/* Version 1 says "none" by a number near 2^63. */
#define UNLIMITED_BYTES (1ull << 60)

/* Where the two versions keep the same things. */
struct layout {
	const char *mount; /* below sys/fs/cgroup */
	const char *limit;
	const char *used;
};

static const struct layout unified = { "", "memory.max", "memory.current" };
static const struct layout unified_beside = { "/unified", "memory.max", "memory.current" };
static const struct layout classic = { "/memory", "memory.limit_in_bytes",
				       "memory.usage_in_bytes" };

static bool read_number(const char *root, const struct layout *layout, const char *group,
			const char *file, uint64_t *ret_number)
{
	char *path = seep_xasprintf("%s/sys/fs/cgroup%s%s/%s", root, layout->mount, group, file);
	char *text = NULL;
	bool found = seep_file_read(path, FILE_MAX_BYTES, &text, NULL, NULL) == 0 &&
		     isdigit((unsigned char)text[0]);

	if (found)
		*ret_number = strtoull(text, NULL, 10);
	free(text);
	free(path);
	return found;
}

static uint64_t room(const struct seep_cgroup_memory *memory)
{
	return memory->used_bytes < memory->limit_bytes ? memory->limit_bytes - memory->used_bytes
							: 0;
}

static void look_at(const char *root, const struct layout *layout, const char *group,
		    struct seep_cgroup_memory *best, bool *found)
{
	struct seep_cgroup_memory memory = { 0 };

	if (!read_number(root, layout, group, layout->limit, &memory.limit_bytes) ||
	    memory.limit_bytes >= UNLIMITED_BYTES)
		return;
	(void)read_number(root, layout, group, layout->used, &memory.used_bytes);
	if (*found && room(best) <= room(&memory))
		return;
	*best = memory;
	*found = true;
}

/* The group, its parent, ... The root of a container's own view is the end of it. */
static void climb(const char *root, const struct layout *layout, const char *group,
		  struct seep_cgroup_memory *best, bool *found)
{
	char *path = seep_xstrdup(strcmp(group, "/") == 0 ? "" : group);

	for (;;) {
		char *slash;

		look_at(root, layout, path, best, found);
		slash = strrchr(path, '/');
		if (!slash)
			break;
		*slash = '\0';
	}
	free(path);
}

/* A line of proc/PID/cgroup: "hierarchy:controllers:path". */
static void read_line(const char *root, char *line, struct seep_cgroup_memory *best, bool *found)
{
	char *controllers = strchr(line, ':'), *group;

	group = controllers ? strchr(controllers + 1, ':') : NULL;
	if (!group)
		return;
	*controllers++ = '\0';
	*group++ = '\0';
	if (strstr(group, ".."))
		return;
	if (!*controllers) {
		climb(root, &unified, group, best, found);
		climb(root, &unified_beside, group, best, found);
	} else if (strstr(controllers, "memory")) {
		climb(root, &classic, group, best, found);
	}
}

bool seep_cgroup_memory(const char *root, uint32_t pid, struct seep_cgroup_memory *ret_memory)
{
	char *path = seep_xasprintf("%s/proc/%u/cgroup", root, pid);
	struct seep_cgroup_memory best = { 0 };
	char *text = NULL, *rest, *line;
	bool found = false;

	if (seep_file_read(path, FILE_MAX_BYTES, &text, NULL, NULL) == 0) {
		rest = text;
		while ((line = strsep(&rest, "\n"))) {
			read_line(root, line, &best, &found);
		}
	}
	free(text);
	free(path);
	if (found)
		*ret_memory = best;
	return found;
}
