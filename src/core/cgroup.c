/* SPDX-License-Identifier: MIT */
#include "core/cgroup.h"

#include <string.h>

/* Far above any machine's memory: how version 1 writes "no limit". */
#define NO_LIMIT (UINT64_C(1) << 60)

enum { FILE_NAME_BYTES = 32, LIMITS = 2 };

/* How one version says it. */
struct version {
	struct {
		const char *limit, *usage;
	} files[LIMITS];
	const char *cached[2]; /* in memory.stat */
};

static const struct version version_2 = {
	.files = { { "memory.max", "memory.current" }, { "memory.high", "memory.current" } },
	.cached = { "inactive_file ", "active_file " },
};

static const struct version version_1 = {
	.files = { { "memory.limit_in_bytes", "memory.usage_in_bytes" },
		   { "memory.memsw.limit_in_bytes", "memory.memsw.usage_in_bytes" } },
	.cached = { "total_inactive_file ", "total_active_file " },
};

struct reading {
	core_read_file_fn *read;
	const char *root;
	struct core_cgroup_buffers *buffers;
	struct core_cgroup tightest;
};

static uint64_t number_at(const char *digits)
{
	uint64_t value = 0;

	for (; *digits >= '0' && *digits <= '9'; digits++)
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*digits - '0'), &value))
			return UINT64_MAX;
	return value;
}

/* Read @name in the folder that stands in the path, into the text. */
static bool read_in_folder(struct reading *reading, size_t folder_bytes, const char *name)
{
	char *path = reading->buffers->path;
	long got;

	path[folder_bytes] = '/';
	memcpy(path + folder_bytes + 1, name, strlen(name) + 1);
	got = reading->read(path, reading->buffers->text, sizeof(reading->buffers->text));
	path[folder_bytes] = '\0';
	return got > 0;
}

/* Of a line "key number" in the text. */
static uint64_t value_of(const char *text, const char *key)
{
	size_t bytes = strlen(key);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, bytes) == 0)
			return number_at(line + bytes);
	}
	return 0;
}

static uint64_t cached_in(struct reading *reading, const struct version *version, size_t bytes)
{
	const char *text = reading->buffers->text;

	if (!read_in_folder(reading, bytes, "memory.stat"))
		return 0;
	return value_of(text, version->cached[0]) + value_of(text, version->cached[1]);
}

/* "max", a missing file and nonsense are no limit. */
static void look_at_limit(struct reading *reading, const struct version *version, int which,
			  size_t bytes)
{
	const char *text = reading->buffers->text;
	uint64_t limit, used, cached;

	if (!read_in_folder(reading, bytes, version->files[which].limit) || *text < '0' ||
	    *text > '9')
		return;
	limit = number_at(text);
	if (limit >= NO_LIMIT)
		return;
	used = read_in_folder(reading, bytes, version->files[which].usage) ? number_at(text) : 0;
	cached = used ? cached_in(reading, version, bytes) : 0;
	used -= cached < used ? cached : used;
	used = used < limit ? used : limit;
	if (limit - used < reading->tightest.room_bytes)
		reading->tightest = (struct core_cgroup){ limit, limit - used };
}

/*
 * From the group outward to the mount. Of a container that sees its own group as the mount, but is
 * told the host's path of it, the folders on the way are not there.
 */
static void climb(struct reading *reading, const struct version *version, const char *mount,
		  const char *group, size_t group_bytes)
{
	size_t root_bytes = strlen(reading->root), mount_bytes = strlen(mount);
	size_t base_bytes = root_bytes + mount_bytes;
	size_t bytes = base_bytes + group_bytes;
	char *path = reading->buffers->path;

	if (bytes >= sizeof(reading->buffers->path) - FILE_NAME_BYTES)
		return;
	memcpy(path, reading->root, root_bytes);
	memcpy(path + root_bytes, mount, mount_bytes);
	memcpy(path + base_bytes, group, group_bytes);
	for (;;) {
		while (bytes > base_bytes && path[bytes - 1] == '/')
			bytes--;
		path[bytes] = '\0';
		for (int which = 0; which < LIMITS; which++)
			look_at_limit(reading, version, which, bytes);
		if (bytes == base_bytes)
			return;
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

/* A line of /proc/PID/cgroup, "hierarchy:controllers:group". */
static void read_line(struct reading *reading, const char *line, const char *end, bool is_only)
{
	const char *controllers = memchr(line, ':', (size_t)(end - line));
	const char *group;
	size_t bytes;

	if (!controllers++)
		return;
	group = memchr(controllers, ':', (size_t)(end - controllers));
	/* "/..": a group outside of what is mounted here, whose files are not to be found. */
	if (!group || (end - group >= 4 && memcmp(group, ":/..", 4) == 0))
		return;
	bytes = (size_t)(end - group - 1);
	if (controllers == group) {
		climb(reading, &version_2, "/sys/fs/cgroup", group + 1, bytes);
		/* Beside controllers of version 1. */
		if (!is_only)
			climb(reading, &version_2, "/sys/fs/cgroup/unified", group + 1, bytes);
	} else if (has_memory(controllers, group)) {
		climb(reading, &version_1, "/sys/fs/cgroup/memory", group + 1, bytes);
	}
}

static bool read_groups(struct reading *reading, const char *process)
{
	const char *const parts[] = { reading->root, "/proc/", process, "/cgroup" };
	struct core_cgroup_buffers *buffers = reading->buffers;
	size_t bytes = 0;

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		size_t part_bytes = strlen(parts[i]);

		if (bytes + part_bytes >= sizeof(buffers->path))
			return false;
		memcpy(buffers->path + bytes, parts[i], part_bytes + 1);
		bytes += part_bytes;
	}
	return reading->read(buffers->path, buffers->groups, sizeof(buffers->groups)) > 0;
}

bool core_cgroup_memory(core_read_file_fn *read, const char *root, const char *process,
			struct core_cgroup_buffers *buffers, struct core_cgroup *ret_group)
{
	struct reading reading = {
		.read = read,
		.root = root,
		.buffers = buffers,
		.tightest = { UINT64_MAX, UINT64_MAX },
	};
	const char *end;

	if (!read_groups(&reading, process))
		return false;
	for (const char *line = buffers->groups; (end = strchr(line, '\n')); line = end + 1)
		read_line(&reading, line, end, line == buffers->groups && !end[1]);
	if (reading.tightest.limit_bytes == UINT64_MAX)
		return false;
	*ret_group = reading.tightest;
	return true;
}
