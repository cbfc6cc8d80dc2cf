/* SPDX-License-Identifier: MIT */
/*
 * One profile with something of everything, written to a recording and read back: what the tests of
 * recordings start from.
 */
#ifndef SEEP_TESTS_RECORDING_CASE_H
#define SEEP_TESTS_RECORDING_CASE_H

#include "unit.h"

#include "profile/profile.h"
#include "recording/recording.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CASE_UNUSED __attribute__((unused))

static char directory[] = "/tmp/seep_test_XXXXXX";
static char path[64];
static struct seep_profile *profile;
static struct seep_profile *loaded;
static struct seep_error err;

/* Profiles own what they point to; this one's texts are constants and never written. */
#define RW(text) ((char *)(text))

static CASE_UNUSED void fill_process(struct seep_profile_process *process)
{
	static char *argv[] = { RW("prog"), RW(""), RW("a b\n\xff"), NULL };
	static uint32_t children[] = { 7, UINT32_MAX };

	process->pid = 4242;
	process->ppid = 1;
	process->uid = 1000;
	process->exe = RW("/usr/bin/pr\xffog");
	process->allocator = RW("glibc");
	process->argv = argv;
	process->mode = 1;
	process->origin = SEEP_ORIGIN_ATTACH;
	process->ran_before_ns = UINT64_MAX - 1;
	process->start_ns = UINT64_MAX;
	process->start_realtime_ns = 1ull << 63;
	process->end_ns = 5;
	process->ended = SEEP_ENDED_SIGNAL;
	process->has_status = true;
	process->status_signal = 11;
	process->core_dumped = true;
	process->children = children;
	process->child_count = 2;
	process->peak_rss_bytes = 1 << 20;
}

static CASE_UNUSED void fill_stacks(struct seep_profile *p)
{
	static struct seep_profile_module modules[] = {
		{ .path = RW("/bin/a"),
		  .bias = UINT64_MAX,
		  .start = 1,
		  .end = 2,
		  .build_id_bytes = 3,
		  .build_id = { 1, 0, 255 } },
		{ .path = RW(""), .problem = RW("stripped") },
	};
	static struct seep_profile_frame frames[] = {
		{ .module = 1,
		  .address = 16,
		  .function = "leaf()",
		  .file = "a.cc",
		  .line = 3,
		  .inlined = true },
		{ .module = 1, .address = 16, .function = "outer()" },
		{ .module = 2, .address = 1ull << 47, .exact = true },
		{ .address = UINT64_MAX },
	};
	static struct seep_profile_stack_entry one[] = {
		{ 0, 0, 0 }, { 1, 2, 65535 }, { 2, 0, 0 }, { 3, 0, 0 }
	};
	static struct seep_profile_stack_entry two[] = { { 2, 0, 0 }, { 3, 0, 0 } };
	static struct seep_profile_epoch epochs[] = { { 0, 1, 10 }, { 4, 6, 20 } };
	static struct seep_profile_context contexts[] = {
		{ .id = 1, .no_stack = true, .allocs = 3, .live_blocks = 3, .hash = 77 },
		{ .id = 3,
		  .hash = UINT64_MAX,
		  .kind = 7,
		  .align_log2 = 12,
		  .truncated = true,
		  .cut = true,
		  .in_doubt = true,
		  .thread = RW("worker"),
		  .first_ns = 9,
		  .allocs = 1ull << 62,
		  .alloc_bytes = 1ull << 61,
		  .frees = (1ull << 62) - 7,
		  .freed_bytes = (1ull << 61) - 30,
		  .temporary = 6,
		  .live_blocks = 7,
		  .live_bytes = 30,
		  .peak_blocks = 9,
		  .peak_bytes = 10,
		  .stack = one,
		  .stack_count = 4,
		  .epochs = epochs,
		  .epoch_count = 2 },
		{ .id = UINT32_MAX,
		  .other = true,
		  .allocs = 6,
		  .alloc_bytes = 20,
		  .live_blocks = 6,
		  .live_bytes = 20,
		  .stack = two,
		  .stack_count = 2,
		  .epochs = epochs + 1,
		  .epoch_count = 1 },
	};

	p->modules = modules;
	p->module_count = 2;
	p->frames = frames;
	p->frame_count = 4;
	p->contexts = contexts;
	p->context_count = 3;
}

/* Every total another number, whatever its place, but those that follow from the contexts. */
static CASE_UNUSED void fill_totals(struct seep_profile_totals *totals)
{
	for (size_t i = 0; i < sizeof(*totals) / sizeof(uint64_t); i++)
		((uint64_t *)totals)[i] = INT64_MAX - i;
	totals->allocs = (1ull << 62) + 9;
	totals->alloc_bytes = (1ull << 61) + 20;
	totals->frees = (1ull << 62) - 7;
	totals->freed_bytes = (1ull << 61) - 30;
	totals->live_blocks = 16;
	totals->live_bytes = 50;
	totals->peak_bytes = 10;
	totals->temporary = 6;
	totals->temporary_bytes = 77;
	totals->peak_exact = false;
	totals->verify.asked = true;
}

static CASE_UNUSED int setup(void **state)
{
	static struct seep_profile_mark marks[] = { { NULL, 1, 10, true },
						    { RW("named"), 2, UINT64_MAX, false } };
	static struct seep_profile_sample samples[] = { { 1, 2, 3, 4, 5 },
							{ UINT64_MAX, 7, 8, 9, 10 } };

	(void)state;
	memset(&err, 0, sizeof(err));
	loaded = NULL;
	profile = seep_profile_new();
	fill_process(&profile->process);
	fill_stacks(profile);
	profile->marks = marks;
	profile->mark_count = 2;
	profile->timeline = samples;
	profile->sample_count = 2;
	profile->symbolised = true;
	fill_totals(&profile->totals);
	profile->forked.processes = 5;
	profile->forked.alloc_bytes = INT64_MAX;
	profile->forked.live_bytes = INT64_MAX;
	profile->run = (struct seep_profile_run){
		.sums = { 9, 80, 700, 60, 300, 400 },
		.peaks_bytes = 77,
		.peaks_at_once_bytes = 66,
	};
	*(struct seep_profile_other *)seep_profile_add(profile, SEEP_ARRAY_OTHERS) =
		(struct seep_profile_other){ .pid = 12,
					     .ppid = 11,
					     .exe = seep_profile_strdup(profile, "/bin/cc1"),
					     .file = seep_profile_strdup(profile, "12.cc1.seep"),
					     .start_ns = 1,
					     .end_ns = 2,
					     .allocs = 3,
					     .alloc_bytes = 40,
					     .frees = 2,
					     .freed_bytes = 30,
					     .live_bytes = 10,
					     .peak_bytes = INT64_MAX };
	seep_profile_add_unseen(profile, "ledger-full", "%s", "it was full");
	seep_profile_add_unseen(profile, "in-doubt", "%s", "one row");
	seep_profile_add_unseen(profile, "dropped", "%s", "three");
	return 0;
}

static CASE_UNUSED int teardown(void **state)
{
	(void)state;
	seep_profile_free(profile);
	seep_profile_free(loaded);
	(void)unlink(path);
	return 0;
}

static CASE_UNUSED void round_trip(void)
{
	if (seep_recording_write(AT_FDCWD, path, profile, true, &err) != 0 ||
	    seep_recording_load(path, &loaded, &err) != 0)
		fail_msg("%s", err.text);
}

static CASE_UNUSED int load_again(void)
{
	seep_profile_free(loaded);
	loaded = NULL;
	return seep_recording_load(path, &loaded, &err);
}

/* Runs @sql on the file as any client could. */
static CASE_UNUSED void damage(const char *sql)
{
	sqlite3 *db = NULL;
	char *text = NULL;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, &text) != SQLITE_OK)
		fail_msg("%s: %s", sql, text);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static CASE_UNUSED int count_rows(void *count, int columns, char **values, char **names)
{
	(void)columns;
	(void)values;
	(void)names;
	++*(int *)count;
	return 0;
}

/* How many rows @sql has; -1: it cannot be run. */
static CASE_UNUSED int query(struct sqlite3 *db, const char *sql)
{
	int count = 0;

	return sqlite3_exec(db, sql, count_rows, &count, NULL) == SQLITE_OK ? count : -1;
}

static CASE_UNUSED void assert_text(const char *got, const char *wanted)
{
	if (!wanted) {
		assert_null(got);
		return;
	}
	assert_non_null(got);
	assert_string_equal(got, wanted);
}

static int make_directory(void **state)
{
	(void)state;
	if (!mkdtemp(directory))
		return -1;
	(void)snprintf(path, sizeof(path), "%s/x.seep", directory);
	return 0;
}

/* Fails when a temporary file was left behind. */
static int remove_directory(void **state)
{
	(void)state;
	return rmdir(directory);
}

int main(void)
{
	return unit_run(make_directory, remove_directory);
}

#define RECORDING_TEST(name) TEST_WITH(setup, name, teardown)

/* Whatever one byte of the recording is, it is read or refused. */
static inline void flip_bytes(void)
{
	static unsigned char whole[1 << 20];
	unsigned seed = 1;
	size_t bytes;
	FILE *file;

	round_trip();
	file = fopen(path, "r");
	bytes = fread(whole, 1, sizeof(whole), file);
	(void)fclose(file);
	for (int i = 0; i < 400; i++) {
		size_t at = (size_t)rand_r(&seed) % bytes;
		unsigned char kept = whole[at];

		whole[at] = (unsigned char)rand_r(&seed);
		file = fopen(path, "w");
		assert_int_equal(fwrite(whole, 1, bytes, file), bytes);
		(void)fclose(file);
		whole[at] = kept;
		(void)load_again();
	}
}

#endif
