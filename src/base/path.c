/* SPDX-License-Identifier: MIT */
#include "base/path.h"

#include "base/xalloc.h"

#include <limits.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

const char *seep_path_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

char *seep_path_folder(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return seep_xstrdup(".");
	return seep_xstrndup(path, slash > path ? (size_t)(slash - path) : 1);
}

char *seep_path_with_suffix(const char *path, size_t cut_bytes, const char *suffix)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	size_t bytes = strlen(name) - cut_bytes;

	if (bytes > NAME_MAX - strlen(suffix))
		bytes = NAME_MAX - strlen(suffix);
	return seep_xasprintf("%.*s%s", (int)((size_t)(name - path) + bytes), path, suffix);
}

bool seep_path_is_same_file(const char *a, const char *b)
{
	struct stat st[2];

	return stat(a, &st[0]) == 0 && stat(b, &st[1]) == 0 && st[0].st_dev == st[1].st_dev &&
	       st[0].st_ino == st[1].st_ino;
}

/* How long @path is without its last component; SIZE_MAX where that is "..". */
static size_t without_last(const char *path, size_t bytes)
{
	size_t start = bytes;

	while (start > 0 && path[start - 1] != '/')
		start--;
	if (bytes - start == 2 && memcmp(path + start, "..", 2) == 0)
		return SIZE_MAX;
	return start > 1 ? start - 1 : start;
}

char *seep_path_normal(const char *path)
{
	const bool is_absolute = path[0] == '/';
	char *normal = seep_xmalloc(strlen(path) + 2);
	size_t used = 0;

	if (is_absolute)
		normal[used++] = '/';
	while (*path) {
		const size_t bytes = strcspn(path, "/");
		const bool is_up = bytes == 2 && memcmp(path, "..", 2) == 0;
		const size_t shorter = is_up && used > is_absolute ? without_last(normal, used)
								   : SIZE_MAX;

		if (shorter != SIZE_MAX) {
			used = shorter;
		} else if (bytes > 0 && !(bytes == 1 && *path == '.') &&
			   !(is_up && used == 1 && is_absolute)) {
			if (used > is_absolute)
				normal[used++] = '/';
			memcpy(normal + used, path, bytes);
			used += bytes;
		}
		path += bytes + (path[bytes] == '/');
	}
	if (used == 0)
		normal[used++] = '.';
	normal[used] = '\0';
	return normal;
}

bool seep_path_is_same(const char *a, const char *b)
{
	SEEP_FREED char *first = seep_path_folder(a), *second = seep_path_folder(b);

	return strcmp(seep_path_base(a), seep_path_base(b)) == 0 &&
	       seep_path_is_same_file(first, second);
}

bool seep_begins_with(const char *text, const char *begin)
{
	return strncmp(text, begin, strlen(begin)) == 0;
}

bool seep_begins_among(const char *text, const char *const *begins)
{
	while (*begins && !seep_begins_with(text, *begins))
		begins++;
	return *begins;
}
