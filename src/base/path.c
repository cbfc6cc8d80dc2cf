/* SPDX-License-Identifier: MIT */
#include "base/path.h"

#include "base/xalloc.h"

#include <stdlib.h>
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

bool seep_path_is_same(const char *a, const char *b)
{
	char *first = seep_path_folder(a), *second = seep_path_folder(b);
	struct stat st[2];
	bool is = strcmp(seep_path_base(a), seep_path_base(b)) == 0 && stat(first, &st[0]) == 0 &&
		  stat(second, &st[1]) == 0 && st[0].st_dev == st[1].st_dev &&
		  st[0].st_ino == st[1].st_ino;

	free(first);
	free(second);
	return is;
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
