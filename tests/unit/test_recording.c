/* SPDX-License-Identifier: MIT */
/* Recordings: everything comes back, nothing half-written stays, hostile files are refused. */
#include "ledger_build.h"
#include "profile/profile.h"
#include "recording/recording.h"

#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char directory[] = "/tmp/seep_test_XXXXXX";
static char path[64];
static struct seep_profile *profile;
static struct seep_profile *loaded;
static struct seep_error err;

/* Profiles own what they point to; this one's texts are constants and never written. */
#define RW(text) ((char *)(text))

static void fill_process(struct seep_profile_process *process)
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

static void fill_stacks(struct seep_profile *p)
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
	static struct seep_profile_epoch epochs[] = { { 0, 1, 10 }, { 4, UINT64_MAX, 20 } };
	static struct seep_profile_context contexts[] = {
		{ .id = 1, .no_stack = true, .allocs = 3, .hash = 77 },
		{ .id = 3,
		  .hash = UINT64_MAX,
		  .kind = 7,
		  .align_log2 = 12,
		  .truncated = true,
		  .cut = true,
		  .in_doubt = true,
		  .thread = RW("worker"),
		  .scope = RW("parse"),
		  .first_ns = 9,
		  .allocs = UINT64_MAX,
		  .alloc_bytes = 1ull << 63,
		  .frees = 4,
		  .freed_bytes = 5,
		  .temporary = 6,
		  .live_blocks = 7,
		  .live_bytes = 8,
		  .peak_blocks = 9,
		  .peak_bytes = 10,
		  .stack = one,
		  .stack_count = 4,
		  .epochs = epochs,
		  .epoch_count = 2 },
		{ .id = UINT32_MAX,
		  .other = true,
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

static int setup(void **state)
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
	/* Every total another number, whatever its place. */
	for (size_t i = 0; i < sizeof(profile->totals) / sizeof(uint64_t); i++)
		((uint64_t *)&profile->totals)[i] = UINT64_MAX - i;
	profile->totals.peak_exact = false;
	profile->totals.verify.asked = true;
	profile->forked.processes = 5;
	profile->forked.live_bytes = UINT64_MAX;
	seep_profile_add_unseen(profile, "ledger-full", "%s", "it was full");
	seep_profile_add_unseen(profile, "in-doubt", "%s", "one row");
	seep_profile_add_unseen(profile, "dropped", "%s", "three");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	seep_profile_free(profile);
	seep_profile_free(loaded);
	(void)unlink(path);
	return 0;
}

static void round_trip(void)
{
	if (seep_recording_write(path, profile, true, &err) != 0 ||
	    seep_recording_load(path, &loaded, &err) != 0)
		fail_msg("%s", err.text);
}

static int load_again(void)
{
	seep_profile_free(loaded);
	loaded = NULL;
	return seep_recording_load(path, &loaded, &err);
}

/* Runs @sql on the file as any client could. */
static void damage(const char *sql)
{
	sqlite3 *db = NULL;
	char *text = NULL;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, &text) != SQLITE_OK)
		fail_msg("%s: %s", sql, text);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void assert_text(const char *got, const char *wanted)
{
	if (!wanted) {
		assert_null(got);
		return;
	}
	assert_non_null(got);
	assert_string_equal(got, wanted);
}

static void the_process_comes_back(void **state)
{
	struct seep_profile_process *process;

	(void)state;
	round_trip();
	process = &loaded->process;
	assert_int_equal(process->pid, 4242);
	assert_text(process->exe, "/usr/bin/pr\xffog");
	assert_null(process->cwd);
	assert_text(process->allocator, "glibc");
	assert_text(process->argv[0], "prog");
	assert_text(process->argv[1], "");
	assert_text(process->argv[2], "a b\n\xff");
	assert_null(process->argv[3]);
	assert_true(process->start_ns == UINT64_MAX);
	assert_true(process->start_realtime_ns == 1ull << 63);
	assert_int_equal(process->ended, SEEP_ENDED_SIGNAL);
	assert_true(process->has_status);
	assert_int_equal(process->status_signal, 11);
	assert_true(process->core_dumped);
	assert_int_equal(process->child_count, 2);
	assert_int_equal(process->children[1], UINT32_MAX);
	assert_int_equal(process->peak_rss_bytes, 1 << 20);
	assert_int_equal(process->mode, 1);
}

static void arguments_may_be_withheld_or_none(void **state)
{
	static char *none[] = { NULL };

	(void)state;
	profile->process.argv = NULL;
	profile->process.ended = SEEP_ENDED_EXIT;
	profile->process.status_code = 3;
	round_trip();
	assert_null(loaded->process.argv);
	assert_int_equal(loaded->process.status_code, 3);
	profile->process.argv = none;
	profile->process.has_status = false;
	seep_profile_free(loaded);
	round_trip();
	assert_non_null(loaded->process.argv);
	assert_null(loaded->process.argv[0]);
	assert_false(loaded->process.has_status);
}

static void every_total_comes_back(void **state)
{
	(void)state;
	round_trip();
	assert_memory_equal(&loaded->forked, &profile->forked, sizeof(profile->forked));
	/* The bytes after the booleans are not figures. */
	((uint8_t *)&profile->totals.peak_exact)[0] = 1;
	memset((char *)&profile->totals.peak_exact, 0, sizeof(uint64_t));
	memset((char *)&loaded->totals.peak_exact, 0, sizeof(uint64_t));
	memset((char *)&profile->totals.verify.asked, 0, sizeof(uint64_t));
	assert_true(loaded->totals.verify.asked);
	memset((char *)&loaded->totals.verify.asked, 0, sizeof(uint64_t));
	assert_memory_equal(&loaded->totals, &profile->totals, sizeof(profile->totals));
}

static void contexts_and_stacks_come_back(void **state)
{
	(void)state;
	round_trip();
	assert_true(loaded->symbolised);
	assert_int_equal(loaded->context_count, 3);
	for (uint32_t i = 0; i < loaded->context_count; i++) {
		const struct seep_profile_context *got = &loaded->contexts[i];
		const struct seep_profile_context *wanted = &profile->contexts[i];

		assert_int_equal(got->id, wanted->id);
		assert_true(got->hash == wanted->hash);
		assert_int_equal(got->kind, wanted->kind);
		assert_int_equal(got->align_log2, wanted->align_log2);
		assert_int_equal(got->truncated, wanted->truncated);
		assert_int_equal(got->cut, wanted->cut);
		assert_int_equal(got->no_stack, wanted->no_stack);
		assert_int_equal(got->other, wanted->other);
		assert_int_equal(got->in_doubt, wanted->in_doubt);
		assert_text(got->thread, wanted->thread);
		assert_text(got->scope, wanted->scope);
		assert_memory_equal(&got->first_ns, &wanted->first_ns, 10 * sizeof(uint64_t));
		assert_int_equal(got->stack_count, wanted->stack_count);
		for (uint32_t k = 0; k < got->stack_count; k++) {
			assert_int_equal(got->stack[k].frame, wanted->stack[k].frame);
			assert_int_equal(got->stack[k].period, wanted->stack[k].period);
			assert_int_equal(got->stack[k].repeats, wanted->stack[k].repeats);
		}
		assert_int_equal(got->epoch_count, wanted->epoch_count);
		for (uint32_t k = 0; k < got->epoch_count; k++) {
			assert_int_equal(got->epochs[k].epoch, wanted->epochs[k].epoch);
			assert_true(got->epochs[k].blocks == wanted->epochs[k].blocks);
			assert_true(got->epochs[k].bytes == wanted->epochs[k].bytes);
		}
	}
}

static void modules_frames_marks_and_samples_come_back(void **state)
{
	(void)state;
	round_trip();
	assert_int_equal(loaded->module_count, 2);
	assert_text(loaded->modules[0].path, "/bin/a");
	assert_true(loaded->modules[0].bias == UINT64_MAX);
	assert_int_equal(loaded->modules[0].build_id_bytes, 3);
	assert_memory_equal(loaded->modules[0].build_id, profile->modules[0].build_id, 32);
	assert_text(loaded->modules[1].problem, "stripped");
	assert_int_equal(loaded->frame_count, 4);
	for (uint32_t i = 0; i < 4; i++) {
		assert_int_equal(loaded->frames[i].module, profile->frames[i].module);
		assert_true(loaded->frames[i].address == profile->frames[i].address);
		assert_int_equal(loaded->frames[i].exact, profile->frames[i].exact);
		assert_int_equal(loaded->frames[i].inlined, profile->frames[i].inlined);
		assert_text(loaded->frames[i].function, profile->frames[i].function);
		assert_text(loaded->frames[i].file, profile->frames[i].file);
		assert_int_equal(loaded->frames[i].line, profile->frames[i].line);
	}
	assert_int_equal(loaded->mark_count, 2);
	assert_null(loaded->marks[0].name);
	assert_text(loaded->marks[1].name, "named");
	assert_true(loaded->marks[1].at_ns == UINT64_MAX);
	assert_false(loaded->marks[1].exact);
	assert_int_equal(loaded->sample_count, 2);
	assert_memory_equal(loaded->timeline, profile->timeline, 2 * sizeof(*profile->timeline));
}

static void unseen_comes_back_and_can_be_added_to(void **state)
{
	(void)state;
	round_trip();
	assert_int_equal(loaded->unseen_count, 3);
	assert_text(loaded->unseen[2].detail, "three");
	seep_profile_add_unseen(loaded, "a", "one more");
	seep_profile_add_unseen(loaded, "b", "another");
	seep_profile_add_unseen(loaded, "dropped", "again");
	assert_int_equal(loaded->unseen_count, 5);
	assert_text(loaded->unseen[0].code, "ledger-full");
	assert_text(loaded->unseen[4].code, "b");
}

static void an_empty_profile_makes_a_recording(void **state)
{
	struct seep_profile *empty = seep_profile_new();

	(void)state;
	assert_int_equal(seep_recording_write(path, empty, true, &err), 0);
	assert_int_equal(seep_recording_load(path, &loaded, &err), 0);
	assert_int_equal(loaded->context_count, 0);
	assert_true(loaded->totals.peak_exact);
	seep_profile_free(empty);
}

static void the_file_is_private_and_replaced_as_a_whole(void **state)
{
	struct stat first;
	struct stat second;

	(void)state;
	round_trip();
	assert_int_equal(stat(path, &first), 0);
	assert_int_equal(first.st_mode & 0777, 0600);
	assert_int_equal(seep_recording_write(path, profile, true, &err), 0);
	assert_int_equal(stat(path, &second), 0);
	assert_int_not_equal(first.st_ino, second.st_ino);
	assert_int_equal(seep_recording_write("/nonexistent/x.seep", profile, true, &err),
			 -SEEP_ESYS);
}

static void odd_file_names_work(void **state)
{
	static const char *const names[] = { "a b?c=d#e%20.seep", "\xff\n'.seep", ":memory:" };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char odd[128];

		(void)snprintf(odd, sizeof(odd), "%s/%s", directory, names[i]);
		assert_int_equal(seep_recording_write(odd, profile, true, &err), 0);
		assert_int_equal(seep_recording_load(odd, &loaded, &err), 0);
		seep_profile_free(loaded);
		loaded = NULL;
		assert_int_equal(unlink(odd), 0);
	}
}

static void a_file_that_came_meanwhile_is_kept_unless_asked_for(void **state)
{
	struct stat first;
	struct stat second;

	(void)state;
	assert_int_equal(seep_recording_write(path, profile, false, &err), 0);
	assert_int_equal(stat(path, &first), 0);
	assert_int_equal(seep_recording_write(path, profile, false, &err), -SEEP_EEXIST);
	assert_non_null(strstr(err.text, path));
	assert_int_equal(stat(path, &second), 0);
	assert_int_equal(first.st_ino, second.st_ino);
}

static void a_link_leads_to_the_recording(void **state)
{
	char link[128];

	(void)state;
	(void)snprintf(link, sizeof(link), "%s/latest", directory);
	assert_int_equal(seep_recording_write(path, profile, true, &err), 0);
	assert_int_equal(symlink(strrchr(path, '/') + 1, link), 0);
	assert_int_equal(seep_recording_load(link, &loaded, &err), 0);
	assert_int_equal(unlink(link), 0);
}

/* SQLite's own layer ends at 512 bytes, counted from the root. */
static void a_path_as_long_as_the_system_takes_works(void **state)
{
	enum { LEVELS = 8, LEVEL_BYTES = 150 };
	char level[LEVEL_BYTES + 1];
	char deep[64 + LEVELS * (LEVEL_BYTES + 1) + 8];
	size_t used = (size_t)snprintf(deep, sizeof(deep), "%s", directory);

	(void)state;
	memset(level, 'd', LEVEL_BYTES);
	level[LEVEL_BYTES] = '\0';
	for (int i = 0; i < LEVELS; i++) {
		used += (size_t)snprintf(deep + used, sizeof(deep) - used, "/%s", level);
		assert_int_equal(mkdir(deep, 0700), 0);
	}
	(void)snprintf(deep + used, sizeof(deep) - used, "/x.seep");
	assert_int_equal(seep_recording_write(deep, profile, false, &err), 0);
	assert_int_equal(seep_recording_load(deep, &loaded, &err), 0);
	assert_int_equal(unlink(deep), 0);
	for (int i = 0; i < LEVELS; i++) {
		deep[used] = '\0';
		assert_int_equal(rmdir(deep), 0);
		used -= LEVEL_BYTES + 1;
	}
}

static void other_files_are_refused_in_words(void **state)
{
	FILE *file = fopen(path, "w");

	(void)state;
	assert_int_equal(load_again(), -SEEP_ECORRUPT);
	assert_non_null(strstr(err.text, "not a recording"));
	(void)fprintf(file, "%s",
		      "This is no database, however long it may be. 0123456789 "
		      "0123456789 0123456789 0123456789 0123456789 0123456789");
	(void)fclose(file);
	assert_int_equal(load_again(), -SEEP_ECORRUPT);
	assert_int_equal(seep_profile_open(path, &loaded, &err), -SEEP_ECORRUPT);
	assert_non_null(strstr(err.text, "neither"));
	assert_int_equal(seep_recording_load("/nonexistent", &loaded, &err), -SEEP_ENOTFOUND);
	assert_int_equal(seep_recording_load(directory, &loaded, &err), -SEEP_ECORRUPT);
}

static void newer_versions_are_refused(void **state)
{
	(void)state;
	round_trip();
	damage("PRAGMA user_version = 2");
	assert_int_equal(load_again(), -SEEP_EVERSION);
}

static void another_application_s_database_is_refused(void **state)
{
	(void)state;
	round_trip();
	damage("PRAGMA application_id = 1");
	assert_int_equal(load_again(), -SEEP_ECORRUPT);
}

static void unknown_tables_columns_and_totals_are_ignored(void **state)
{
	(void)state;
	round_trip();
	damage("CREATE TABLE novelty (x); ALTER TABLE context ADD COLUMN y INTEGER;"
	       "INSERT INTO total VALUES ('novel_bytes', 5)");
	assert_int_equal(load_again(), 0);
	assert_int_equal(loaded->context_count, 3);
}

static void references_that_lead_nowhere_are_refused(void **state)
{
	static const char *const cases[] = {
		"DELETE FROM process",
		"UPDATE frame SET module = 3 WHERE id = 1",
		"UPDATE frame SET module = -1 WHERE id = 1",
		"DELETE FROM module WHERE id = 1",
		"DELETE FROM frame WHERE id = 2",
		"UPDATE node SET frame = 0 WHERE id = 1",
		"UPDATE node SET frame = 5 WHERE id = 1",
		"UPDATE node SET parent = id WHERE id = 2",
		"UPDATE node SET parent = 4 WHERE id = 2",
		"UPDATE node SET parent = -1 WHERE id = 2",
		"UPDATE node SET parent = 9223372036854775807 WHERE id = 2",
		"DELETE FROM node WHERE id = 1",
		"UPDATE context SET leaf = 99 WHERE id = 3",
		"UPDATE context SET leaf = -1 WHERE id = 3",
		"UPDATE context SET id = 0 WHERE id = 1",
		"UPDATE context SET id = -5 WHERE id = 1",
		"UPDATE context SET id = 4294967296 WHERE id = 3",
		"UPDATE epoch SET context = 2 WHERE context = 3",
		"UPDATE epoch SET context = -1 WHERE context = 3",
		"UPDATE histogram SET bucket = 48 WHERE bucket = 0",
		"DROP TABLE node",
		"DROP TABLE forked",
		"DROP VIEW top; DROP VIEW stack; DROP VIEW function;"
		"ALTER TABLE context RENAME COLUMN leaf TO leaves",
		"ALTER TABLE total RENAME TO totals",
		"DROP TABLE total; CREATE VIEW total AS SELECT 'allocs' AS name, 1 AS value",
		"DROP TABLE sample; CREATE VIRTUAL TABLE sample USING fts5(at_ns)",
		"ALTER TABLE mark ADD COLUMN z INTEGER AS (length(zeroblob(1000000)))",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(seep_recording_write(path, profile, true, &err), 0);
		damage(cases[i]);
		if (load_again() != -SEEP_ECORRUPT)
			fail_msg("accepted: %s", cases[i]);
	}
}

static void values_out_of_range_are_replaced(void **state)
{
	(void)state;
	round_trip();
	damage("UPDATE context SET kind = 99, align_log2 = -1 WHERE id = 3;"
	       "UPDATE node SET period = 256, repeats = 65536;"
	       "UPDATE module SET build_id = zeroblob(33);"
	       "UPDATE process SET ended = 'dissolved'");
	assert_int_equal(load_again(), 0);
	assert_int_equal(loaded->contexts[1].kind, 0);
	assert_int_equal(loaded->contexts[1].align_log2, 0);
	assert_int_equal(loaded->contexts[1].stack[1].period, 0);
	assert_int_equal(loaded->modules[0].build_id_bytes, 0);
	assert_int_equal(loaded->process.ended, SEEP_ENDED_UNKNOWN);
}

static void a_file_cut_anywhere_does_no_harm(void **state)
{
	struct stat st;

	(void)state;
	round_trip();
	assert_int_equal(stat(path, &st), 0);
	for (off_t bytes = st.st_size - 1; bytes > 0; bytes -= 1021) {
		assert_int_equal(truncate(path, bytes), 0);
		assert_int_not_equal(load_again(), 0);
	}
}

static void flipped_bytes_do_no_harm(void **state)
{
	static unsigned char whole[1 << 20];
	unsigned seed = 1;
	size_t bytes;
	FILE *file;

	(void)state;
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

static int count_rows(void *count, int columns, char **values, char **names)
{
	(void)columns;
	(void)values;
	(void)names;
	++*(int *)count;
	return 0;
}

static int query(struct sqlite3 *db, const char *sql)
{
	int count = 0;

	return sqlite3_exec(db, sql, count_rows, &count, NULL) == SQLITE_OK ? count : -1;
}

static int match_stack(void *ret, int columns, char **values, char **names)
{
	(void)columns;
	(void)names;
	assert_string_equal(values[0], "leaf() < outer() < +0x800000000000 < 0xffffffffffffffff");
	assert_string_equal(values[1], "ffffffffffffffff");
	*(int *)ret = 1;
	return 0;
}

static void views_answer_with_names(void **state)
{
	struct sqlite3 *db = NULL;
	int matched = 0;

	(void)state;
	round_trip();
	assert_int_equal(seep_recording_open_database(path, &db, &err), 0);
	assert_int_equal(query(db, "SELECT * FROM top"), 3);
	assert_int_equal(query(db, "SELECT * FROM stack WHERE context = 3"), 4);
	assert_int_equal(query(db, "SELECT * FROM function WHERE function = 'leaf()'"), 1);
	assert_int_equal(query(db, "SELECT * FROM kind"), SEEP_PROFILE_KIND_COUNT);
	assert_int_equal(sqlite3_exec(db, "SELECT stack, hash FROM top WHERE id = 3", match_stack,
				      &matched, NULL),
			 SQLITE_OK);
	assert_int_equal(matched, 1);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void the_opened_database_cannot_be_changed(void **state)
{
	struct sqlite3 *db = NULL;

	(void)state;
	round_trip();
	assert_int_equal(seep_recording_open_database(path, &db, &err), 0);
	assert_int_equal(query(db, "DELETE FROM context"), -1);
	assert_int_equal(query(db, "PRAGMA query_only = OFF; DELETE FROM context"), -1);
	assert_int_equal(query(db, "CREATE TABLE x (y)"), -1);
	assert_int_equal(query(db, "ATTACH '/tmp/x' AS x"), -1);
	assert_int_equal(query(db, "SELECT load_extension('x')"), -1);
	assert_int_equal(
		query(db, "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = ''"), -1);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void ledgers_and_recordings_open_alike(void **state)
{
	struct built_ledger ledger;

	(void)state;
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

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_process_comes_back),
		TEST(arguments_may_be_withheld_or_none),
		TEST(every_total_comes_back),
		TEST(contexts_and_stacks_come_back),
		TEST(modules_frames_marks_and_samples_come_back),
		TEST(unseen_comes_back_and_can_be_added_to),
		TEST(an_empty_profile_makes_a_recording),
		TEST(the_file_is_private_and_replaced_as_a_whole),
		TEST(odd_file_names_work),
		TEST(a_file_that_came_meanwhile_is_kept_unless_asked_for),
		TEST(a_link_leads_to_the_recording),
		TEST(a_path_as_long_as_the_system_takes_works),
		TEST(other_files_are_refused_in_words),
		TEST(newer_versions_are_refused),
		TEST(another_application_s_database_is_refused),
		TEST(unknown_tables_columns_and_totals_are_ignored),
		TEST(references_that_lead_nowhere_are_refused),
		TEST(values_out_of_range_are_replaced),
		TEST(a_file_cut_anywhere_does_no_harm),
		TEST(flipped_bytes_do_no_harm),
		TEST(views_answer_with_names),
		TEST(the_opened_database_cannot_be_changed),
		TEST(ledgers_and_recordings_open_alike),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
