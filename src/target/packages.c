/* SPDX-License-Identifier: MIT */
#include "target/packages.h"

#include "base/xalloc.h"
#include "target/capture.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* "bash: /bin/bash", "libc6:amd64: /lib/...", "a, b: /usr/share": the first name. */
static char *owner_in(const char *text, const char *path)
{
	for (const char *line = text, *end; *line; line = *end ? end + 1 : end) {
		const size_t bytes = strlen(path);

		end = line + strcspn(line, "\n");
		if (strncmp(line, "diversion ", 10) == 0 || (size_t)(end - line) < bytes + 3 ||
		    memcmp(end - bytes, path, bytes) != 0 || end[-(ptrdiff_t)bytes - 1] != ' ')
			continue;
		return seep_xstrndup(line, strcspn(line, ":, "));
	}
	return NULL;
}

/* As packages may name it; NULL: nobody's, or a pattern to dpkg. Release with free(). */
static char *installed_path(const char *path)
{
	char *real = path ? realpath(path, NULL) : NULL;

	if (real && strncmp(real, "/usr/", 5) == 0 && !strpbrk(real, "*?[\\"))
		return real;
	free(real);
	return NULL;
}

void seep_packages_of(const char *const *paths, size_t count, char **ret_names)
{
	static const char query[] = "/usr/bin/dpkg-query";
	char **argv = seep_xcalloc(2 * count + 3, sizeof(*argv));
	char **real = seep_xcalloc(count, sizeof(*real));
	struct seep_capture capture;
	size_t words = 0;

	argv[words++] = (char *)(uintptr_t)query;
	argv[words++] = (char *)(uintptr_t) "-S";
	for (size_t i = 0; i < count; i++) {
		ret_names[i] = NULL;
		real[i] = installed_path(paths[i]);
		if (!real[i])
			continue;
		argv[words++] = real[i];
		/* Packages name a file by the path that it had before /bin became a link, or after. */
		argv[words++] = real[i] + strlen("/usr");
	}
	if (words > 2 && access(query, X_OK) == 0 &&
	    seep_capture_run(argv, environ, SEEP_CAPTURE_STDOUT, &capture, NULL) == 0) {
		for (size_t i = 0; i < count; i++) {
			if (real[i])
				ret_names[i] = owner_in(capture.text, real[i]);
			if (real[i] && !ret_names[i])
				ret_names[i] = owner_in(capture.text, real[i] + strlen("/usr"));
		}
		free(capture.text);
	}
	for (size_t i = 0; i < count; i++)
		free(real[i]);
	free(real);
	free(argv);
}
