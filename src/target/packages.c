/* SPDX-License-Identifier: MIT */
/*
 * Searches dpkg's lists of files, one per package. "dpkg-query -S" gives the same answer, but reads
 * the whole database first, which takes longer than the rest of a report.
 */
#include "target/packages.h"

#include "base/file.h"
#include "base/xalloc.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#define LIST_MAX_BYTES ((size_t)16 << 20)

/* A file below /usr whose package is not found yet. */
struct wanted {
	char *path;
	size_t bytes;
	char **name;
};

struct search {
	struct wanted *items;
	size_t count;
};

/* Packages name a file by the path that it had before /bin became a link, or after. */
static bool is_named(const struct wanted *wanted, const char *line, size_t bytes)
{
	const size_t left_out = wanted->bytes - bytes;

	return (left_out == 0 || left_out == strlen("/usr")) &&
	       memcmp(line, wanted->path + left_out, bytes) == 0;
}

/* @file: "python3.11.list", "libc6:amd64.list" */
static void read_list(int dir_fd, const char *file, void *context)
{
	const char *suffix = strrchr(file, '.'), *end;
	struct search *search = context;
	SEEP_FREED char *text = NULL;
	SEEP_CLOSED int fd = -1;

	if (search->count == 0 || !suffix || strcmp(suffix, ".list") != 0)
		return;
	fd = openat(dir_fd, file, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && seep_file_read_fd(fd, file, LIST_MAX_BYTES, &text, NULL, NULL) < 0)
		text = NULL;
	for (const char *line = text; line && *line; line = end + (*end != '\0')) {
		end = strchrnul(line, '\n');
		for (size_t i = search->count; i-- > 0;) {
			struct wanted *wanted = &search->items[i];

			if (!is_named(wanted, line, (size_t)(end - line)))
				continue;
			*wanted->name = seep_xstrndup(file, (size_t)(suffix - file));
			*strchrnul(*wanted->name, ':') = '\0';
			free(wanted->path);
			*wanted = search->items[--search->count];
		}
	}
}

void seep_packages_of(const char *const *paths, size_t count, char **ret_names)
{
	struct search search = { seep_xcalloc(count, sizeof(struct wanted)), 0 };
	SEEP_CLOSED const int dir_fd = open("/var/lib/dpkg/info",
					    O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	for (size_t i = 0; i < count; i++) {
		char *real = paths[i] ? realpath(paths[i], NULL) : NULL;

		ret_names[i] = NULL;
		if (real && strncmp(real, "/usr/", 5) == 0)
			search.items[search.count++] = (struct wanted){ real, strlen(real),
									&ret_names[i] };
		else
			free(real);
	}
	/* What cannot be read says nothing, like what is not there. */
	(void)(search.count > 0 && dir_fd >= 0 &&
	       seep_folder_each(dir_fd, read_list, &search, NULL) == 0);
	for (size_t i = 0; i < search.count; i++)
		free(search.items[i].path);
	free(search.items);
}
