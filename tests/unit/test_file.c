/* SPDX-License-Identifier: MIT */
/* Reading whole files with a bound, replacing them atomically. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/xalloc.h"
#include "unit.h"

static char folder[] = "/tmp/seep-test-file.XXXXXX";

static int make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) ? chdir(folder) : -1;
}

static int remove_folder(void **state)
{
	(void)state;
	(void)unlink("file");
	(void)unlink("dir/file");
	(void)rmdir("dir");
	return chdir("/") == 0 ? rmdir(folder) : -1;
}

static int replace(const char *path, const void *data, size_t bytes)
{
	struct seep_atomic_file file = { 0 };
	int ret = seep_atomic_open(AT_FDCWD, path, 0600, &file, NULL);

	if (ret < 0)
		return ret;
	assert_int_equal(fwrite(data, 1, bytes, file.stream), bytes);
	return seep_atomic_commit(&file, NULL);
}

TEST(replaced_file_reads_back)
{
	struct seep_error err = { 0 };
	struct stat about;
	char *data = NULL;
	size_t bytes = 0;

	assert_int_equal(replace("file", "a\0b", 3), 0);
	assert_int_equal(stat("file", &about), 0);
	assert_int_equal(about.st_mode & 0777, 0600);
	assert_int_equal(seep_file_read("file", 3, &data, &bytes, &err), 0);
	assert_int_equal(bytes, 3);
	assert_memory_equal(data, "a\0b\0", 4);
	free(data);
}

TEST(large_file_reads_back)
{
	size_t size = 1000003;
	char *out = seep_xmalloc(size);
	char *in = NULL;
	size_t bytes = 0;

	for (size_t i = 0; i < size; i++)
		out[i] = (char)(i * 7);
	assert_int_equal(replace("file", out, size), 0);
	assert_int_equal(seep_file_read("file", size, &in, &bytes, NULL), 0);
	assert_int_equal(bytes, size);
	assert_memory_equal(in, out, size);
	free(in);
	free(out);
}

TEST(file_longer_than_the_bound_is_refused)
{
	struct seep_error err = { 0 };
	char *data = NULL;

	assert_int_equal(replace("file", "abcd", 4), 0);
	assert_int_equal(seep_file_read("file", 3, &data, NULL, &err), -SEEP_ELIMIT);
	assert_null(data);
}

TEST(file_of_unknown_size_is_read)
{
	char *data = NULL;
	size_t bytes = 0;

	assert_int_equal(seep_file_read("/proc/self/status", 1 << 20, &data, &bytes, NULL), 0);
	assert_true(bytes > 0);
	assert_memory_equal(data, "Name:", 5);
	free(data);
}

TEST(missing_file_and_folder_are_told_apart)
{
	struct seep_error err = { 0 };
	char *data = NULL;

	assert_int_equal(seep_file_read("nothing", 10, &data, NULL, &err), -SEEP_ENOTFOUND);
	assert_non_null(strstr(err.text, "nothing"));
	assert_int_equal(seep_file_read(".", 10, &data, NULL, &err), -SEEP_ESYS);
}

static unsigned names_in_folder(void)
{
	DIR *dir = opendir(".");
	unsigned count = 0;

	assert_non_null(dir);
	while (readdir(dir))
		count++;
	(void)closedir(dir);
	return count;
}

TEST(unfinished_file_has_no_name_where_that_can_be)
{
	const unsigned before = names_in_folder();
	struct seep_atomic_file file = { 0 };
	struct stat st;

	assert_int_equal(seep_atomic_open(AT_FDCWD, "unfinished", 0640, &file, NULL), 0);
	(void)fputs("new", file.stream);
	assert_int_equal(names_in_folder(), before + !file.is_unnamed);
	assert_int_equal(stat(file.temp_path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
	assert_int_equal(seep_atomic_commit(&file, NULL), 0);
	assert_int_equal(names_in_folder(), before + 1);
	assert_int_equal(unlink("unfinished"), 0);
}

TEST(abandoned_file_leaves_the_old_one)
{
	struct seep_atomic_file file = { 0 };
	char *data = NULL;
	char *temp;

	assert_int_equal(replace("file", "old", 3), 0);
	assert_int_equal(seep_atomic_open(AT_FDCWD, "file", 0600, &file, NULL), 0);
	(void)fputs("new", file.stream);
	temp = seep_xstrdup(file.temp_path);
	seep_atomic_abandon(&file);
	seep_atomic_abandon(&file);
	assert_int_equal(access(temp, F_OK), -1);
	free(temp);
	assert_int_equal(seep_file_read("file", 10, &data, NULL, NULL), 0);
	assert_string_equal(data, "old");
	free(data);
}

TEST(failed_commit_leaves_the_old_one_and_no_litter)
{
	struct seep_atomic_file file = { 0 };
	struct seep_error err = { 0 };
	char *temp;

	/* A folder of that name cannot be replaced by a file. */
	assert_int_equal(mkdir("dir", 0700), 0);
	assert_int_equal(replace("dir/file", "x", 1), 0);
	assert_int_equal(seep_atomic_open(AT_FDCWD, "dir", 0600, &file, &err), 0);
	temp = seep_xstrdup(file.temp_path);
	assert_int_equal(seep_atomic_commit(&file, &err), -SEEP_ESYS);
	assert_int_equal(access(temp, F_OK), -1);
	assert_int_equal(access("dir/file", F_OK), 0);
	free(temp);
}

TEST(file_that_came_meanwhile_is_kept_on_request)
{
	struct seep_atomic_file file = { 0 };
	struct seep_error err = { 0 };
	char *data = NULL;
	char *temp;

	(void)unlink("file");
	assert_int_equal(seep_atomic_open(AT_FDCWD, "file", 0600, &file, &err), 0);
	file.keep_old = true;
	assert_int_equal(replace("file", "theirs", 6), 0);
	temp = seep_xstrdup(file.temp_path);
	assert_int_equal(seep_atomic_commit(&file, &err), -SEEP_EEXIST);
	assert_int_equal(access(temp, F_OK), -1);
	assert_int_equal(seep_file_read("file", 10, &data, NULL, NULL), 0);
	assert_string_equal(data, "theirs");
	free(data);
	free(temp);
}

TEST(longest_name_is_written)
{
	char name[NAME_MAX + 2];

	memset(name, 'n', sizeof(name) - 1);
	name[NAME_MAX] = '\0';
	assert_int_equal(replace(name, "x", 1), 0);
	assert_int_equal(unlink(name), 0);
	name[NAME_MAX] = 'n';
	name[NAME_MAX + 1] = '\0';
	assert_int_equal(replace(name, "x", 1), -SEEP_ESYS);
}

TEST(full_disk_is_an_error)
{
	struct seep_atomic_file file = { 0 };
	struct seep_error err = { 0 };

	assert_int_equal(replace("file", "old", 3), 0);
	assert_int_equal(seep_atomic_open(AT_FDCWD, "file", 0600, &file, NULL), 0);
	assert_non_null(freopen("/dev/full", "w", file.stream));
	(void)fputs("x", file.stream);
	assert_int_equal(seep_atomic_commit(&file, &err), -SEEP_ESYS);
	assert_non_null(strstr(err.text, "No space"));
}

TEST(nothing_but_regular_files_is_opened_and_as_whom_it_is_asked_for)
{
	const uid_t nobody = 65534;
	int fd;

	assert_int_equal(replace("file", "text", 4), 0);
	assert_int_equal(mkfifo("pipe", 0600), 0);
	assert_int_equal(chmod(".", 0755), 0);
	assert_int_equal(seep_file_open_regular("pipe", geteuid()), -1);
	assert_int_equal(errno, ENODEV);
	assert_int_equal(seep_file_open_regular("/dev/null", geteuid()), -1);
	assert_int_equal(errno, ENODEV);
	assert_int_equal(seep_file_open_regular("none", geteuid()), -1);
	assert_int_equal(errno, ENOENT);
	fd = seep_file_open_regular("file", geteuid());
	assert_true(fd >= 0 && close(fd) == 0);
	assert_int_equal(chmod("file", 0640), 0); /* of our groups nobody has the rights */
	fd = seep_file_open_regular("file", nobody);
	if (geteuid() == 0) {
		assert_int_equal(fd, -1);
		assert_int_equal(errno, EACCES);
	} else {
		assert_true(fd >= 0 && close(fd) == 0);
	}
	fd = seep_file_open_regular("file", geteuid());
	assert_true(fd >= 0 && close(fd) == 0);
	assert_int_equal(unlink("pipe"), 0);
}

int main(void)
{
	return unit_run(make_folder, remove_folder);
}
