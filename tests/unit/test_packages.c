/* SPDX-License-Identifier: MIT */
/* Packages by file, beside what dpkg-query says. */
#include "target/packages.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAME_BYTES = 256 };

/* @path: real, below /usr; packages name it with that or without. "" nobody's. */
static void ask(const char *path, char name[NAME_BYTES])
{
	char command[1024];
	FILE *answer;

	(void)snprintf(command, sizeof(command), "dpkg-query -S '%s' '%s' 2>/dev/null", path,
		       path + strlen("/usr"));
	answer = popen(command, "r");
	assert_non_null(answer);
	if (!fgets(name, NAME_BYTES, answer))
		name[0] = '\0';
	name[strcspn(name, ":,\n")] = '\0';
	(void)pclose(answer);
}

TEST(files_are_of_the_packages_that_dpkg_names)
{
	/*
	 * A link, a versioned name, paths of when /bin was no link, one of several architectures.
	 */
	static const char *const paths[] = {
		"/usr/bin/dpkg-query",
		"/bin/sh",
		"/bin/cat",
		"/usr/bin/python3",
		"/lib/x86_64-linux-gnu/libc.so.6",
	};
	enum { COUNT = sizeof(paths) / sizeof(paths[0]) };
	char *names[COUNT], expected[NAME_BYTES];

	if (access("/usr/bin/dpkg-query", X_OK) != 0)
		skip();
	seep_packages_of(paths, COUNT, names);
	for (int i = 0; i < COUNT; i++) {
		char *real = realpath(paths[i], NULL);

		ask(real ? real : "/usr/nothing", expected);
		assert_string_equal(names[i] ? names[i] : "", expected);
		free(names[i]);
		free(real);
	}
}

TEST(what_no_package_installed_is_of_none)
{
	const char *const paths[] = { NULL, "/nowhere", "/proc/self/exe", "/etc/passwd" };
	char *names[4];

	seep_packages_of(paths, 4, names);
	assert_null(names[0]);
	assert_null(names[1]);
	assert_null(names[2]);
	assert_null(names[3]);
	seep_packages_of(NULL, 0, NULL);
}
