/* SPDX-License-Identifier: MIT */
/* Which runtimes keep objects in memory of their own, by the file that they come with. */
#include "target/allocators.h"
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *off_of(const char *path)
{
	const struct seep_memory_manager *manager = seep_memory_manager_of(path);

	return !manager ? "none" : manager->off ? manager->off : "";
}

TEST(programs_and_libraries_are_known_by_their_names)
{
	assert_string_equal(off_of("/usr/bin/python3.11"), "PYTHONMALLOC=malloc");
	assert_string_equal(off_of("/usr/lib/libpython3.11.so.1.0"), "PYTHONMALLOC=malloc");
	assert_string_equal(off_of("/usr/bin/node"), "");
	assert_string_equal(off_of("/usr/bin/cat"), "none");
}

TEST(glib_divides_memory_itself_before_2_76)
{
	static const char variables[] = "A=1\0G_SLICE=always-malloc";
	char folder[] = "/tmp/seep-test-XXXXXX", file[128], link[128];

	assert_string_equal(off_of("/nowhere/libglib-2.0.so.0.7400.6"), "G_SLICE=always-malloc");
	assert_string_equal(off_of("/nowhere/libglib-2.0.so.0.7600.0"), "none");
	assert_string_equal(off_of("/nowhere/libglib-2.0.so.0.8000.1"), "none");
	assert_true(seep_memory_manager_is_off(
		seep_memory_manager_of("/nowhere/libglib-2.0.so.0.7400.6"), variables,
		sizeof(variables)));
	/* The loader names the link. */
	assert_non_null(mkdtemp(folder));
	(void)snprintf(file, sizeof(file), "%s/libglib-2.0.so.0.7600.0", folder);
	(void)snprintf(link, sizeof(link), "%s/libglib-2.0.so.0", folder);
	assert_int_equal(close(open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600)), 0);
	assert_int_equal(symlink(file, link), 0);
	assert_string_equal(off_of(link), "none");
	assert_int_equal(unlink(link), 0);
	assert_int_equal(unlink(file), 0);
	assert_int_equal(rmdir(folder), 0);
}
