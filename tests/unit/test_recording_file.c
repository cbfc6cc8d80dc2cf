/* SPDX-License-Identifier: MIT */
/* Recordings as files: names, permissions, nothing half-written. */
#include "base/file.h"
#include "base/xalloc.h"
#include "ledger_build.h"
#include "recording_case.h"

#include <sys/stat.h>

RECORDING_TEST(the_file_is_private_and_replaced_as_a_whole)
{
	struct stat first;
	struct stat second;

	round_trip();
	assert_int_equal(stat(path, &first), 0);
	assert_int_equal(first.st_mode & 0777, 0600);
	assert_int_equal(seep_recording_write(AT_FDCWD, path, profile, true, &err), 0);
	assert_int_equal(stat(path, &second), 0);
	assert_int_not_equal(first.st_ino, second.st_ino);
	assert_int_equal(seep_recording_write(AT_FDCWD, "/nonexistent/x.seep", profile, true, &err),
			 -SEEP_ESYS);
}

RECORDING_TEST(odd_file_names_work)
{
	static const char *const names[] = { "a b?c=d#e%20.seep", "\xff\n'.seep", ":memory:" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char odd[128];

		(void)snprintf(odd, sizeof(odd), "%s/%s", directory, names[i]);
		assert_int_equal(seep_recording_write(AT_FDCWD, odd, profile, true, &err), 0);
		assert_int_equal(seep_recording_load(odd, &loaded, &err), 0);
		seep_profile_free(loaded);
		loaded = NULL;
		assert_int_equal(unlink(odd), 0);
	}
}

RECORDING_TEST(a_file_that_came_meanwhile_is_kept_unless_asked_for)
{
	struct stat first;
	struct stat second;

	assert_int_equal(seep_recording_write(AT_FDCWD, path, profile, false, &err), 0);
	assert_int_equal(stat(path, &first), 0);
	assert_int_equal(seep_recording_write(AT_FDCWD, path, profile, false, &err), -SEEP_EEXIST);
	assert_non_null(strstr(err.text, path));
	assert_int_equal(stat(path, &second), 0);
	assert_int_equal(first.st_ino, second.st_ino);
}

RECORDING_TEST(a_link_leads_to_the_recording)
{
	char link[128];

	(void)snprintf(link, sizeof(link), "%s/latest", directory);
	assert_int_equal(seep_recording_write(AT_FDCWD, path, profile, true, &err), 0);
	assert_int_equal(symlink(strrchr(path, '/') + 1, link), 0);
	assert_int_equal(seep_recording_load(link, &loaded, &err), 0);
	assert_int_equal(unlink(link), 0);
}

/* SQLite's own layer ends at 512 bytes, counted from the root. */
RECORDING_TEST(a_path_as_long_as_the_system_takes_works)
{
	enum { LEVELS = 8, LEVEL_BYTES = 150 };
	char level[LEVEL_BYTES + 1];
	char deep[64 + LEVELS * (LEVEL_BYTES + 1) + 8];
	size_t used = (size_t)snprintf(deep, sizeof(deep), "%s", directory);

	memset(level, 'd', LEVEL_BYTES);
	level[LEVEL_BYTES] = '\0';
	for (int i = 0; i < LEVELS; i++) {
		used += (size_t)snprintf(deep + used, sizeof(deep) - used, "/%s", level);
		assert_int_equal(mkdir(deep, 0700), 0);
	}
	(void)snprintf(deep + used, sizeof(deep) - used, "/x.seep");
	assert_int_equal(seep_recording_write(AT_FDCWD, deep, profile, false, &err), 0);
	assert_int_equal(seep_recording_load(deep, &loaded, &err), 0);
	assert_int_equal(unlink(deep), 0);
	for (int i = 0; i < LEVELS; i++) {
		deep[used] = '\0';
		assert_int_equal(rmdir(deep), 0);
		used -= LEVEL_BYTES + 1;
	}
}

RECORDING_TEST(ledgers_and_recordings_open_alike)
{
	struct built_ledger ledger;

	round_trip();
	seep_profile_free(loaded);
	loaded = NULL;
	assert_int_equal(seep_profile_open(path, &loaded, &err), 0);
	assert_int_equal(loaded->context_count, 3);
	seep_profile_free(loaded);
	loaded = NULL;
	built_init(&ledger, &built_small);
	built_row_at(&ledger, ledger.header->first_row)->allocs = 4;
	built_save(&ledger, path, ledger.bytes);
	built_done(&ledger);
	assert_int_equal(seep_profile_open(path, &loaded, &err), 0);
	assert_int_equal(loaded->totals.allocs, 4);
}

RECORDING_TEST(what_could_not_be_read_is_not_written)
{
	const struct {
		uint64_t *figure;
		int code;
	} cases[] = {
		{ &profile->totals.peak_error_bytes, -SEEP_ELIMIT },
		{ &profile->totals.histogram[3], -SEEP_ELIMIT },
		{ &profile->forked.processes, -SEEP_ELIMIT },
		{ &profile->process.peak_rss_bytes, -SEEP_ELIMIT },
		{ &profile->timeline[0].rss_bytes, -SEEP_ELIMIT },
		{ &profile->contexts[0].allocs, -SEEP_ECORRUPT },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t held = *cases[i].figure;

		*cases[i].figure = 1ull << 63;
		assert_int_equal(seep_recording_write(AT_FDCWD, path, profile, true, &err),
				 cases[i].code);
		assert_non_null(strstr(err.text, path));
		assert_int_not_equal(access(path, F_OK), 0);
		*cases[i].figure = held;
	}
	round_trip();
}

RECORDING_TEST(a_recording_has_nothing_of_those_before_it)
{
	SEEP_RELEASED(seep_profile_free_at) struct seep_profile *empty = seep_profile_new();
	SEEP_FREED char *first = NULL, *again = NULL;
	size_t bytes, again_bytes;

	assert_int_equal(seep_recording_write(AT_FDCWD, path, profile, true, &err), 0);
	assert_int_equal(seep_file_read(path, SIZE_MAX / 2, &first, &bytes, &err), 0);
	assert_int_equal(seep_recording_write(AT_FDCWD, path, empty, true, &err), 0);
	empty->totals.peak_error_bytes = 1ull << 63;
	assert_int_equal(seep_recording_write(AT_FDCWD, path, empty, true, &err), -SEEP_ELIMIT);
	assert_int_equal(seep_recording_write(AT_FDCWD, path, profile, true, &err), 0);
	assert_int_equal(seep_file_read(path, SIZE_MAX / 2, &again, &again_bytes, &err), 0);
	assert_int_equal(again_bytes, bytes);
	assert_memory_equal(again, first, bytes);
}
