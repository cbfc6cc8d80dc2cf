/* SPDX-License-Identifier: MIT */
/* Answers on disk: the same as without, whatever lies there. */
#include "symbol/symbol_cache.h"

#include "symbol/answer_file.c" /* for the sum, which files that are to harm must have right */
#include "symbol/elf_image.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { LOOKS = 300, FRAMES_MAX = 32, PATH_BYTES = 4096 };

static char directory[] = "/tmp/seep_test_XXXXXX";
static char answers_path[PATH_BYTES];
static uint8_t build_id[SEEP_BUILD_ID_MAX_BYTES];
static size_t build_id_bytes;
static struct seep_elf_extent code;

/* What LOOKS addresses of this program are called, as one text. */
static char *look(const char *cache_dir, const char *path, const char **ret_problem)
{
	const struct seep_symbols_options options = { .cache_dir = cache_dir };
	struct seep_symbols *symbols = NULL;
	struct seep_symbol_module *module;
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	assert_int_equal(seep_symbols_new(&options, &symbols, NULL), 0);
	module = seep_symbols_module(symbols, path, build_id, build_id_bytes);
	for (uint64_t i = 0; i < LOOKS; i++) {
		const uint64_t address = code.from + (code.to - code.from) * i / LOOKS;
		struct seep_symbol_frame frames[FRAMES_MAX];
		const size_t count = seep_symbol_lookup(module, address, frames, FRAMES_MAX);

		for (size_t k = 0; k < count; k++)
			fprintf(out, "%zx %s %s %s %u %d\n", (size_t)address,
				frames[k].function ? frames[k].function : "-",
				frames[k].linkage_name ? frames[k].linkage_name : "-",
				frames[k].file ? frames[k].file : "-", frames[k].line,
				frames[k].inlined);
	}
	if (ret_problem)
		*ret_problem = seep_symbol_module_problem(module);
	seep_symbols_free(symbols);
	assert_int_equal(fclose(out), 0);
	return text;
}

/* How many files of that ending lie there; the last one's path goes to answers_path. */
static int count_files(const char *ending)
{
	char folder[PATH_BYTES];
	struct dirent *entry;
	int count = 0;
	DIR *files;

	(void)snprintf(folder, sizeof(folder), "%s/symbols", directory);
	files = opendir(folder);
	while (files && (entry = readdir(files)) != NULL) {
		const char *dot = strrchr(entry->d_name, '.');

		if (!dot || strcmp(dot, ending) != 0)
			continue;
		(void)snprintf(answers_path, sizeof(answers_path), "%s/symbols/%s", directory,
			       entry->d_name);
		count++;
	}
	if (files)
		(void)closedir(files);
	return count;
}

static size_t read_file(char **ret_data)
{
	struct stat st;
	FILE *file = fopen(answers_path, "r");

	assert_non_null(file);
	assert_int_equal(fstat(fileno(file), &st), 0);
	*ret_data = malloc((size_t)st.st_size);
	assert_int_equal(fread(*ret_data, 1, (size_t)st.st_size, file), st.st_size);
	(void)fclose(file);
	return (size_t)st.st_size;
}

static void write_file_as(const void *data, size_t bytes)
{
	FILE *file = fopen(answers_path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(data, 1, bytes, file), bytes);
	(void)fclose(file);
}

static void assert_same(const char *wanted, char *got)
{
	assert_string_equal(got, wanted);
	free(got);
}

/* ---- reading and writing ------------------------------------------------------------------ */

static void kept_answers_are_the_same_and_need_no_file(void **state)
{
	char *wanted = look(NULL, "/proc/self/exe", NULL);
	const char *problem = "none asked";
	struct stat st;

	(void)state;
	assert_non_null(strstr(wanted, "/src/symbol/"));
	assert_same(wanted, look(directory, "/proc/self/exe", NULL));
	assert_int_equal(count_files(".answers"), 1);
	assert_int_equal(stat(answers_path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_same(wanted, look(directory, "/nonexistent", &problem));
	assert_null(problem);
	free(wanted);
}

static void without_a_cache_nothing_is_written(void **state)
{
	(void)state;
	free(look(NULL, "/proc/self/exe", NULL));
	assert_int_equal(count_files(".answers"), 0);
}

static void answers_without_debug_information_are_not_kept(void **state)
{
	const char *problem = NULL;

	(void)state;
	free(look(directory, "/nonexistent", &problem));
	assert_string_equal(problem, "file is gone");
	assert_int_equal(count_files(".answers"), 0);
}

static void another_build_id_is_asked_anew(void **state)
{
	const char *problem = NULL;

	(void)state;
	free(look(directory, "/proc/self/exe", NULL));
	build_id[0] ^= 1;
	free(look(directory, "/proc/self/exe", &problem));
	build_id[0] ^= 1;
	assert_non_null(strstr(problem, "build-id differs"));
	assert_int_equal(count_files(".answers"), 1);
}

static void answers_are_added_to_those_that_are_there(void **state)
{
	const struct seep_elf_extent whole = code;
	char *wanted = look(NULL, "/proc/self/exe", NULL);
	char *first;

	(void)state;
	code.to = code.from + (code.to - code.from) / 3;
	first = look(directory, "/proc/self/exe", NULL);
	code = whole;
	assert_same(wanted, look(directory, "/proc/self/exe", NULL));
	assert_same(wanted, look(directory, "/nonexistent", NULL));
	code.to = code.from + (code.to - code.from) / 3;
	assert_same(first, look(directory, "/nonexistent", NULL));
	code = whole;
	free(first);
	free(wanted);
}

static void stacks_with_too_little_room_are_asked_anew(void **state)
{
	struct seep_symbol_cache *cache = seep_symbol_cache_open(directory, 1 << 20);
	struct seep_symbol_answers *answers;
	const struct seep_symbol_frame two[2] = { { .function = "a", .inlined = true },
						  { .function = "b", .file = "f", .line = 7 } };
	struct seep_symbol_frame frames[4];

	(void)state;
	for (int again = 0; again < 2; again++) {
		answers = seep_symbol_answers_open(cache, build_id, build_id_bytes);
		seep_symbol_answers_add(answers, 16, two, 2);
		seep_symbol_answers_add(answers, UINT64_MAX, two, 2);
		assert_int_equal(seep_symbol_answers_find(answers, 16, frames, 1), 0);
		assert_int_equal(seep_symbol_answers_find(answers, 16, frames, 4), 2);
		assert_int_equal(seep_symbol_answers_find(answers, 17, frames, 4), 0);
		seep_symbol_answers_close(answers);
	}
	answers = seep_symbol_answers_open(cache, build_id, build_id_bytes);
	assert_int_equal(seep_symbol_answers_find(answers, 16, frames, 1), 0);
	assert_int_equal(seep_symbol_answers_find(answers, 16, frames, 4), 2);
	assert_string_equal(frames[0].function, "a");
	assert_true(frames[0].inlined);
	assert_int_equal(frames[1].line, 7);
	assert_null(frames[1].linkage_name);
	seep_symbol_answers_close(answers);
	seep_symbol_cache_close(cache);
}

/* ---- what may lie there ------------------------------------------------------------------- */

static void damaged_files_are_ignored_and_replaced(void **state)
{
	char *wanted = look(NULL, "/proc/self/exe", NULL);
	size_t step;
	size_t bytes;
	char *whole;

	(void)state;
	free(look(directory, "/proc/self/exe", NULL));
	assert_int_equal(count_files(".answers"), 1);
	bytes = read_file(&whole);
	step = bytes / 25 + 1;
	for (size_t at = 0; at < bytes; at += step) {
		whole[at] ^= 0x10;
		write_file_as(whole, bytes);
		whole[at] ^= 0x10;
		assert_same(wanted, look(directory, "/proc/self/exe", NULL));
		assert_same(wanted, look(directory, "/nonexistent", NULL));
		write_file_as(whole, at);
		assert_same(wanted, look(directory, "/proc/self/exe", NULL));
		assert_same(wanted, look(directory, "/nonexistent", NULL));
	}
	free(whole);
	free(wanted);
}

static uint32_t *word(char *data, size_t at)
{
	return (uint32_t *)(void *)(data + at);
}

/* Numbers that lead outside, with a sum that is right. */
static void files_made_to_harm_are_refused(void **state)
{
	const struct seep_symbol_frame frame = { .function = "f" };
	const struct seep_answer list[2] = { { 1, &frame, 1 }, { 2, &frame, 1 } };
	const size_t addresses = sizeof(struct file_header);
	const size_t firsts = addresses + 2 * sizeof(uint64_t);
	const size_t frames = firsts + 3 * sizeof(uint32_t);
	const size_t texts = frames + 2 * sizeof(struct seep_answer_frame);
	const struct {
		size_t at;
		uint32_t value;
	} cases[] = {
		{ offsetof(struct file_header, address_count), 3 },
		{ offsetof(struct file_header, address_count), UINT32_MAX },
		{ offsetof(struct file_header, frame_count), 1 },
		{ offsetof(struct file_header, frame_count), UINT32_MAX },
		{ offsetof(struct file_header, text_bytes), 1 },
		{ offsetof(struct file_header, text_bytes) + 4, 1 },
		{ offsetof(struct file_header, version), 2 },
		{ addresses, 2 },
		{ addresses, 3 },
		{ firsts, 1 },
		{ firsts + 4, 0 },
		{ firsts + 4, 2 },
		{ firsts + 4, UINT32_MAX },
		{ firsts + 8, 1 },
		{ firsts + 8, 3 },
		{ frames, 3 },
		{ frames + 4, UINT32_MAX },
		{ frames + 8, 1000 },
		{ texts - 20, 9 },
	};
	struct seep_answer_key key = { .program = 1 };
	struct seep_answer_file file;
	size_t bytes;
	char *data = seep_answer_file_make(&key, list, 2, &bytes);

	(void)state;
	assert_int_equal(bytes, texts + sizeof("f"));
	assert_true(seep_answer_file_read(data, bytes, &key, &file));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const uint32_t kept = *word(data, cases[i].at);

		*word(data, cases[i].at) = cases[i].value;
		((struct file_header *)(void *)data)->sum = sum_of_file(data, bytes);
		if (seep_answer_file_read(data, bytes, &key, &file))
			fail_msg("case %zu was accepted", i);
		*word(data, cases[i].at) = kept;
	}
	data[bytes - 1] = 'x';
	((struct file_header *)(void *)data)->sum = sum_of_file(data, bytes);
	assert_false(seep_answer_file_read(data, bytes, &key, &file));
	free(data);
}

static void a_directory_that_others_may_write_to_is_not_used(void **state)
{
	char folder[PATH_BYTES];

	(void)state;
	(void)snprintf(folder, sizeof(folder), "%s/symbols", directory);
	assert_int_equal(mkdir(folder, 0700), 0);
	assert_int_equal(chmod(folder, 0770), 0);
	free(look(directory, "/proc/self/exe", NULL));
	assert_int_equal(count_files(".answers"), 0);
}

static void a_directory_that_cannot_be_made_does_no_harm(void **state)
{
	char *wanted = look(NULL, "/proc/self/exe", NULL);

	(void)state;
	assert_same(wanted, look("/proc/self/exe/no", "/proc/self/exe", NULL));
	free(wanted);
}

static void links_are_not_followed(void **state)
{
	char target[PATH_BYTES + 8];
	struct stat st;

	(void)state;
	free(look(directory, "/proc/self/exe", NULL));
	assert_int_equal(count_files(".answers"), 1);
	(void)snprintf(target, sizeof(target), "%s.moved", answers_path);
	assert_int_equal(rename(answers_path, target), 0);
	assert_int_equal(symlink(target, answers_path), 0);
	free(look(directory, "/proc/self/exe", NULL));
	assert_int_equal(lstat(answers_path, &st), 0);
	assert_true(S_ISREG(st.st_mode));
}

static void a_full_disk_leaves_nothing_behind(void **state)
{
	int status;
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		const struct rlimit small = { 1000, 1000 };

		(void)signal(SIGXFSZ, SIG_IGN);
		(void)setrlimit(RLIMIT_FSIZE, &small);
		free(look(directory, "/proc/self/exe", NULL));
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(count_files(".answers"), 0);
	assert_int_equal(count_files(".part"), 0);
}

/* ---- several processes, and the bound ----------------------------------------------------- */

static void add_some(unsigned seed)
{
	for (int round = 0; round < 50; round++) {
		struct seep_symbol_cache *cache = seep_symbol_cache_open(directory, 1 << 20);
		struct seep_symbol_answers *answers;
		struct seep_symbol_frame frame = { .function = "same everywhere" };

		answers = seep_symbol_answers_open(cache, build_id, build_id_bytes);
		for (int i = 0; i < 20; i++) {
			frame.line = (uint32_t)rand_r(&seed) % 5000;
			seep_symbol_answers_add(answers, frame.line, &frame, 1);
			memset(&frame, 0, sizeof(frame));
			frame.function = "same everywhere";
		}
		seep_symbol_answers_close(answers);
		seep_symbol_cache_close(cache);
	}
}

static void processes_that_write_at_once_leave_a_whole_file(void **state)
{
	struct seep_symbol_cache *cache;
	struct seep_symbol_answers *answers;
	uint32_t known = 0;
	int status;

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		if (fork() == 0) {
			add_some(i + 1);
			_exit(0);
		}
	}
	while (wait(&status) > 0)
		assert_int_equal(status, 0);
	assert_int_equal(count_files(".answers"), 1);
	assert_int_equal(count_files(".part"), 0);
	cache = seep_symbol_cache_open(directory, 1 << 20);
	answers = seep_symbol_answers_open(cache, build_id, build_id_bytes);
	for (uint32_t i = 0; i < 5000; i++) {
		struct seep_symbol_frame frame;

		if (!seep_symbol_answers_find(answers, i, &frame, 1))
			continue;
		known++;
		assert_int_equal(frame.line, i);
		assert_string_equal(frame.function, "same everywhere");
	}
	assert_true(known >= 500);
	seep_symbol_answers_close(answers);
	seep_symbol_cache_close(cache);
}

static void the_oldest_files_go_first(void **state)
{
	const struct timeval old[2] = { { 1000, 0 }, { 1000, 0 } };
	const struct seep_symbol_frame frame = { .function = "f" };
	char first[PATH_BYTES];
	char other[PATH_BYTES];
	FILE *file;

	(void)state;
	for (uint8_t i = 0; i < 8; i++) {
		struct seep_symbol_cache *cache = seep_symbol_cache_open(directory, 5 * 4096);
		struct seep_symbol_answers *answers = seep_symbol_answers_open(cache, &i, 1);

		seep_symbol_answers_add(answers, 1, &frame, 1);
		seep_symbol_answers_close(answers);
		seep_symbol_cache_close(cache);
		if (i == 0) {
			assert_int_equal(count_files(".answers"), 1);
			assert_int_equal(utimes(answers_path, old), 0);
			(void)snprintf(first, sizeof(first), "%s", answers_path);
			(void)snprintf(other, sizeof(other), "%s/symbols/notes", directory);
			file = fopen(other, "w");
			(void)fclose(file);
			assert_int_equal(utimes(other, old), 0);
		}
	}
	assert_in_range(count_files(".answers"), 3, 5);
	assert_int_equal(access(first, F_OK), -1);
	assert_int_equal(access(other, F_OK), 0);
}

static void the_directory_is_where_the_environment_says(void **state)
{
	char *got;

	(void)state;
	assert_int_equal(setenv("SEEP_CACHE_DIR", "/a/b", 1), 0);
	assert_same("/a/b", seep_symbol_cache_directory());
	assert_int_equal(setenv("SEEP_CACHE_DIR", "a/b", 1), 0);
	assert_null(seep_symbol_cache_directory());
	assert_int_equal(unsetenv("SEEP_CACHE_DIR"), 0);
	assert_int_equal(setenv("XDG_CACHE_HOME", directory, 1), 0);
	got = seep_symbol_cache_directory();
	assert_non_null(strstr(got, directory));
	assert_non_null(strstr(got, "/seep"));
	free(got);
	assert_int_equal(setenv("XDG_CACHE_HOME", "relative", 1), 0);
	assert_int_equal(setenv("HOME", directory, 1), 0);
	got = seep_symbol_cache_directory();
	assert_non_null(strstr(got, "/.cache/seep"));
	free(got);
	assert_int_equal(setenv("HOME", "/proc/1", 1), 0);
	if (geteuid() != 0)
		assert_null(seep_symbol_cache_directory());
	assert_int_equal(unsetenv("HOME"), 0);
	assert_null(seep_symbol_cache_directory());
}

static int setup(void **state)
{
	struct seep_elf *self = NULL;
	const char *problem;

	(void)state;
	(void)strcpy(directory + strlen(directory) - 6, "XXXXXX");
	if (!mkdtemp(directory) || !seep_elf_open("/proc/self/exe", &self, &problem))
		return -1;
	memcpy(build_id, self->build_id, self->build_id_bytes);
	build_id_bytes = self->build_id_bytes;
	code = self->code[0];
	for (size_t i = 1; i < self->code_count; i++)
		if (self->code[i].to - self->code[i].from > code.to - code.from)
			code = self->code[i];
	seep_elf_close(self);
	return build_id_bytes ? 0 : -1;
}

static int teardown(void **state)
{
	char command[PATH_BYTES];

	(void)state;
	(void)snprintf(command, sizeof(command), "rm -r %s", directory);
	return system(command) == 0 ? 0 : -1;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(kept_answers_are_the_same_and_need_no_file),
		TEST(without_a_cache_nothing_is_written),
		TEST(answers_without_debug_information_are_not_kept),
		TEST(another_build_id_is_asked_anew),
		TEST(answers_are_added_to_those_that_are_there),
		TEST(stacks_with_too_little_room_are_asked_anew),
		TEST(damaged_files_are_ignored_and_replaced),
		TEST(files_made_to_harm_are_refused),
		TEST(a_directory_that_others_may_write_to_is_not_used),
		TEST(a_directory_that_cannot_be_made_does_no_harm),
		TEST(links_are_not_followed),
		TEST(a_full_disk_leaves_nothing_behind),
		TEST(processes_that_write_at_once_leave_a_whole_file),
		TEST(the_oldest_files_go_first),
		TEST(the_directory_is_where_the_environment_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
