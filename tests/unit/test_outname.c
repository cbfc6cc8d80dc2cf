/* SPDX-License-Identifier: MIT */
/* Names of recordings. */
#include "base/xalloc.h"
#include "recorder/outname.h"
#include "unit.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/seep-outname-XXXXXX";

static int set_up(void **state)
{
	(void)state;
	return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	return chdir("/") == 0 && rmdir(folder) == 0 ? 0 : -1;
}

static void touch(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);

	assert_true(fd >= 0);
	(void)close(fd);
}

TEST(patterns_are_expanded)
{
	static const struct {
		const char *pattern;
		const char *want;
	} cases[] = {
		{ NULL, "./prog.42.seep" }, { "out", "out" },	{ "a/%e-%p", "a/prog-42" },
		{ "100%%", "100%" },	    { "%p%p", "4242" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *path;

		assert_int_equal(
			seep_outname_expand(cases[i].pattern, "/usr/bin/prog", 42, &path, NULL), 0);
		assert_string_equal(path, cases[i].want);
		free(path);
	}
}

TEST(wrong_patterns_are_refused)
{
	static const char *const cases[] = { "%x", "out%", "", "%e%" };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct seep_error err = { 0 };
		char *path;

		assert_int_equal(seep_outname_expand(cases[i], "prog", 1, &path, &err),
				 -SEEP_EUSAGE);
		assert_true(err.text[0]);
	}
}

TEST(a_program_name_cannot_climb_or_upset_a_terminal)
{
	char *path;

	assert_int_equal(seep_outname_expand("%e", "/x/../\033[2Ja\n", 1, &path, NULL), 0);
	assert_string_equal(path, "_[2Ja_");
	free(path);
}

TEST(an_existing_file_needs_force)
{
	struct seep_error err = { 0 };

	touch("there");
	assert_int_equal(seep_outname_check("there", false, &err), -SEEP_EEXIST);
	assert_int_equal(seep_outname_check("there", true, &err), 0);
	assert_int_equal(seep_outname_check("not-there", false, &err), 0);
	assert_int_equal(unlink("there"), 0);
}

TEST(a_ledger_stays_even_with_force)
{
	struct seep_error err = { 0 };
	int fd = open("ledger", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_int_equal(write(fd, "SEEPLDG\0", 8), 8);
	assert_int_equal(close(fd), 0);
	assert_int_equal(seep_outname_check("ledger", true, &err), -SEEP_EEXIST);
	assert_string_equal(err.text, "ledger is a ledger; a recording does not replace it");
	assert_int_equal(unlink("ledger"), 0);
}

TEST(folders_and_missing_folders_are_refused)
{
	struct seep_error err = { 0 };

	assert_int_equal(seep_outname_check("/tmp", true, &err), -SEEP_EEXIST);
	assert_int_equal(seep_outname_check("no/such/folder/x", true, &err), -SEEP_ESYS);
}

TEST(a_working_directory_that_was_removed_is_refused)
{
	struct seep_error err = { 0 };

	assert_int_equal(mkdir("gone", 0700), 0);
	assert_int_equal(chdir("gone"), 0);
	assert_int_equal(rmdir("../gone"), 0);
	assert_int_equal(seep_outname_check("x", false, &err), -SEEP_ESYS);
	assert_int_equal(chdir(folder), 0);
}

TEST(the_folder_of_a_long_name_has_a_name_that_fits)
{
	char main_path[5 + NAME_MAX + 1] = "some/";
	char *path;

	memset(main_path + 5, 'm', NAME_MAX);
	path = seep_outname_folder(main_path);
	assert_int_equal(strlen(strrchr(path, '/') + 1), NAME_MAX);
	assert_memory_equal(path, "some/mmm", 8);
	assert_string_equal(path + strlen(path) - 3, "m.d");
	free(path);
	path = seep_outname_folder("./x.seep");
	assert_string_equal(path, "./x.seep.d");
	free(path);
}

TEST(a_folder_that_holds_something_needs_force_too)
{
	struct seep_error err = { 0 };

	assert_int_equal(mkdir("x.d", 0700), 0);
	assert_int_equal(seep_outname_check("x", false, &err), 0);
	touch("x.d/1.cc.seep");
	touch("x.d/mine");
	assert_int_equal(seep_outname_check("x", false, &err), -SEEP_EEXIST);
	assert_int_equal(seep_outname_check("x", true, &err), 0);
	assert_int_equal(rename("x.d", "elsewhere"), 0);
	assert_int_equal(symlink("elsewhere", "x.d"), 0);
	assert_int_equal(seep_outname_check("x", true, &err), -SEEP_EUNSUPPORTED);
	assert_int_equal(seep_outname_clear("x"), 0);
	assert_int_equal(access("elsewhere/1.cc.seep", F_OK), 0);
	assert_int_equal(unlink("x.d"), 0);
	assert_int_equal(rename("elsewhere", "x.d"), 0);
}

/* As far as it is looked at. */
static void write_recording(const char *path)
{
	unsigned char head[100] = "SQLite format 3";
	FILE *file = fopen(path, "w");

	memcpy(head + 68, "SEEP", 4);
	assert_non_null(file);
	assert_int_equal(fwrite(head, sizeof(head), 1, file), 1);
	assert_int_equal(fclose(file), 0);
}

TEST(clearing_takes_recordings_only)
{
	static const char *const names[] = { "1.cc.seep", "2.cc.seep", "mine", "3.mine.seep" };

	assert_int_equal(unlink("x.d/1.cc.seep"), 0);
	write_recording("x.d/1.cc.seep");
	assert_int_equal(symlink("1.cc.seep", "x.d/2.cc.seep"), 0);
	touch("x.d/3.mine.seep");
	assert_int_equal(seep_outname_clear("x"), 3);
	assert_int_equal(access("x.d/1.cc.seep", F_OK), -1);
	for (size_t i = 1; i < sizeof(names) / sizeof(*names); i++) {
		char *path = seep_xasprintf("x.d/%s", names[i]);

		assert_int_equal(unlink(path), 0);
		free(path);
	}
	write_recording("x.d/17.a b.c.2.seep");
	write_recording("x.d/17.a b.c.2.001.seep");
	assert_int_equal(seep_outname_clear("x"), 0);
	assert_int_equal(access("x.d", F_OK), -1);
	assert_int_equal(seep_outname_clear("x"), 0);
}

TEST(children_are_named_by_pid_and_program)
{
	static const struct {
		const char *exe;
		unsigned number;
		const char *want;
	} cases[] = {
		{ "/bin/cc", 1, "m.d/7.cc.seep" },
		{ "/bin/cc", 2, "m.d/7.cc.2.seep" },
		{ "../..", 1, "m.d/7....seep" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *path = seep_outname_child("m.d", 7, cases[i].exe, cases[i].number);

		assert_string_equal(path, cases[i].want);
		free(path);
	}
}

TEST(snapshots_stand_beside_their_recording)
{
	static const struct {
		const char *path;
		unsigned number;
		const char *name;
	} cases[] = {
		{ "run.seep", 1, "run.001.seep" },
		{ "a.b/run.seep", 42, "a.b/run.042.seep" },
		{ "run", 1234, "run.1234.seep" },
		{ "run.seep.77.sh.seep", 3, "run.seep.77.sh.003.seep" },
		{ "x/.seep", 1, "x/.seep.001.seep" },
		{ ".seep", 1, ".seep.001.seep" },
	};
	char longest[300];
	char *path;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		path = seep_outname_snapshot(cases[i].path, cases[i].number);
		assert_string_equal(path, cases[i].name);
		free(path);
	}
	memset(longest, 'x', 255);
	strcpy(longest + 250, ".seep");
	path = seep_outname_snapshot(longest, 7);
	assert_int_equal(strlen(path), 255);
	assert_string_equal(path + 246, ".007.seep");
	free(path);
}

int main(void)
{
	return unit_run(set_up, tear_down);
}
