/* SPDX-License-Identifier: MIT */
#include "runtime/life/rt_cgroup.h"

#include "runtime/sys/sys.h"

#include <stdbool.h>
#include <string.h>

enum { PATH_BYTES = 4096, NAME_BYTES = 32, TEXT_BYTES = 8192 };

/* Far above any machine's memory: how version 1 writes "no limit". */
#define NO_LIMIT (UINT64_C(1) << 60)

/* How one version says it. */
struct version {
	const char *mount;
	const char *limits[2];
	const char *usage;
	const char *file_pages[2]; /* in memory.stat */
};

static const struct version version_2 = {
	.mount = "/sys/fs/cgroup",
	.limits = { "memory.max", "memory.high" },
	.usage = "memory.current",
	.file_pages = { "inactive_file ", "active_file " },
};

static const struct version version_1 = {
	.mount = "/sys/fs/cgroup/memory",
	.limits = { "memory.limit_in_bytes", NULL },
	.usage = "memory.usage_in_bytes",
	.file_pages = { "total_inactive_file ", "total_active_file " },
};

/* Not on a stack that may be tiny. A folder without its last slash, and room for a file's name. */
static char path[PATH_BYTES + NAME_BYTES];
static char text[TEXT_BYTES];

static uint64_t number_at(const char *digits)
{
	uint64_t value = 0;

	for (; *digits >= '0' && *digits <= '9'; digits++)
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*digits - '0'), &value))
			return UINT64_MAX;
	return value;
}

/* Read path/@name into text. path is as before. */
static bool read_in_folder(size_t folder_bytes, const char *name)
{
	size_t name_bytes = strlen(name);
	long got;

	path[folder_bytes] = '/';
	memcpy(path + folder_bytes + 1, name, name_bytes + 1);
	got = rt_read_file(path, text, sizeof(text));
	path[folder_bytes] = '\0';
	return got > 0;
}

/* "max", a missing file and nonsense are no limit. */
static uint64_t limit_in(size_t folder_bytes, const char *name)
{
	uint64_t limit;

	if (!name || !read_in_folder(folder_bytes, name) || *text < '0' || *text > '9')
		return UINT64_MAX;
	limit = number_at(text);
	return limit < NO_LIMIT ? limit : UINT64_MAX;
}

/* Of a line "key number" in text. */
static uint64_t value_of(const char *key)
{
	size_t bytes = strlen(key);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, bytes) == 0)
			return number_at(line + bytes);
	}
	return 0;
}

static uint64_t room_in(const struct version *version, size_t folder_bytes)
{
	uint64_t limit = limit_in(folder_bytes, version->limits[0]);
	uint64_t second = limit_in(folder_bytes, version->limits[1]);
	uint64_t used, file_bytes = 0;

	if (second < limit)
		limit = second;
	if (limit == UINT64_MAX || !read_in_folder(folder_bytes, version->usage))
		return limit;
	used = number_at(text);
	if (read_in_folder(folder_bytes, "memory.stat"))
		file_bytes = value_of(version->file_pages[0]) + value_of(version->file_pages[1]);
	used -= file_bytes < used ? file_bytes : used;
	return used < limit ? limit - used : 0;
}

/*
 * From the group outward to the mount. Of a container that sees its own group as the mount, but is
 * told the host's path of it, the folders on the way are not there.
 */
static uint64_t room_up_from(const struct version *version, const char *root, const char *group,
			     size_t group_bytes)
{
	size_t root_bytes = strlen(root), mount_bytes = strlen(version->mount);
	size_t base_bytes = root_bytes + mount_bytes;
	size_t bytes = base_bytes + group_bytes;
	uint64_t least = UINT64_MAX;

	if (bytes >= PATH_BYTES)
		return least;
	memcpy(path, root, root_bytes);
	memcpy(path + root_bytes, version->mount, mount_bytes);
	memcpy(path + base_bytes, group, group_bytes);
	for (;;) {
		uint64_t room;

		while (bytes > base_bytes && path[bytes - 1] == '/')
			bytes--;
		path[bytes] = '\0';
		room = room_in(version, bytes);
		if (room < least)
			least = room;
		if (bytes == base_bytes)
			return least;
		while (bytes > base_bytes && path[bytes - 1] != '/')
			bytes--;
	}
}

/* Of "4:cpu,memory:/group": is memory among the controllers? */
static bool has_memory(const char *controllers, const char *end)
{
	static const char name[] = "memory";
	const size_t bytes = sizeof(name) - 1;

	for (const char *at = controllers; at < end; at++) {
		if ((size_t)(end - at) >= bytes && memcmp(at, name, bytes) == 0 &&
		    (at + bytes == end || at[bytes] == ','))
			return true;
		while (at < end && *at != ',')
			at++;
	}
	return false;
}

uint64_t rt_cgroup_room(const char *root)
{
	static char groups[TEXT_BYTES];
	static const char file[] = "/proc/self/cgroup";
	size_t root_bytes = strlen(root);
	uint64_t least = UINT64_MAX;

	if (root_bytes + sizeof(file) > PATH_BYTES)
		return least;
	memcpy(path, root, root_bytes);
	memcpy(path + root_bytes, file, sizeof(file));
	if (rt_read_file(path, groups, sizeof(groups)) <= 0)
		return least;
	for (const char *line = groups; *line;) {
		const char *controllers = strchr(line, ':');
		const char *group = controllers ? strchr(controllers + 1, ':') : NULL;
		const char *end = group ? strchr(group, '\n') : NULL;
		const struct version *version = NULL;
		uint64_t room;

		if (!end)
			break;
		if (controllers + 1 == group)
			version = &version_2;
		else if (has_memory(controllers + 1, group))
			version = &version_1;
		room = version ? room_up_from(version, root, group + 1, (size_t)(end - group - 1))
			       : UINT64_MAX;
		if (room < least)
			least = room;
		line = end + 1;
	}
	return least;
}
