/* SPDX-License-Identifier: MIT */
/* Recordings: everything that was written comes back. */
#include "recording_case.h"

static int match_stack(void *ret, int columns, char **values, char **names)
{
	(void)columns;
	(void)names;
	assert_string_equal(values[0], "leaf() < outer() < +0x800000000000 < 0xffffffffffffffff");
	assert_string_equal(values[1], "ffffffffffffffff");
	*(int *)ret = 1;
	return 0;
}

RECORDING_TEST(the_process_comes_back)
{
	struct seep_profile_process *process;

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
	assert_int_equal(process->origin, SEEP_ORIGIN_ATTACH);
	assert_true(process->ran_before_ns == UINT64_MAX - 1);
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

RECORDING_TEST(arguments_may_be_withheld_or_none)
{
	static char *none[] = { NULL };

	profile->process.argv = NULL;
	profile->process.ended = SEEP_ENDED_EXIT;
	profile->process.status_code = 3;
	profile->process.origin = SEEP_ORIGIN_UNKNOWN;
	round_trip();
	assert_int_equal(loaded->process.origin, SEEP_ORIGIN_UNKNOWN);
	assert_null(loaded->process.argv);
	assert_int_equal(loaded->process.status_code, 3);
	profile->process.argv = none;
	profile->process.has_status = false;
	profile->process.ended = SEEP_ENDED_DETACHED;
	seep_profile_free(loaded);
	round_trip();
	assert_non_null(loaded->process.argv);
	assert_null(loaded->process.argv[0]);
	assert_false(loaded->process.has_status);
	assert_int_equal(loaded->process.ended, SEEP_ENDED_DETACHED);
}

RECORDING_TEST(every_total_comes_back)
{
	round_trip();
	assert_memory_equal(&loaded->forked, &profile->forked, sizeof(profile->forked));
	assert_memory_equal(&loaded->run, &profile->run, sizeof(profile->run));
	/* The bytes after the booleans are not figures. */
	((uint8_t *)&profile->totals.peak_exact)[0] = 1;
	memset((char *)&profile->totals.peak_exact, 0, sizeof(uint64_t));
	memset((char *)&loaded->totals.peak_exact, 0, sizeof(uint64_t));
	memset((char *)&profile->totals.verify.asked, 0, sizeof(uint64_t));
	assert_true(loaded->totals.verify.asked);
	memset((char *)&loaded->totals.verify.asked, 0, sizeof(uint64_t));
	assert_memory_equal(&loaded->totals, &profile->totals, sizeof(profile->totals));
}

RECORDING_TEST(the_other_processes_come_back)
{
	const struct seep_profile_other *wanted = profile->others;
	struct seep_profile_other got;

	round_trip();
	assert_int_equal(loaded->other_count, 1);
	got = loaded->others[0];
	assert_string_equal(got.exe, wanted->exe);
	assert_string_equal(got.file, wanted->file);
	got.exe = wanted->exe;
	got.file = wanted->file;
	assert_memory_equal(&got, wanted, sizeof(got));
}

static void assert_same_stack(const struct seep_profile_context *got,
			      const struct seep_profile_context *wanted)
{
	assert_int_equal(got->stack_count, wanted->stack_count);
	for (uint32_t i = 0; i < got->stack_count; i++) {
		assert_int_equal(got->stack[i].frame, wanted->stack[i].frame);
		assert_int_equal(got->stack[i].period, wanted->stack[i].period);
		assert_int_equal(got->stack[i].repeats, wanted->stack[i].repeats);
	}
}

RECORDING_TEST(contexts_and_stacks_come_back)
{
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
		assert_memory_equal(&got->first_ns, &wanted->first_ns, 10 * sizeof(uint64_t));
		assert_same_stack(got, wanted);
		assert_int_equal(got->epoch_count, wanted->epoch_count);
		for (uint32_t k = 0; k < got->epoch_count; k++) {
			assert_int_equal(got->epochs[k].epoch, wanted->epochs[k].epoch);
			assert_true(got->epochs[k].blocks == wanted->epochs[k].blocks);
			assert_true(got->epochs[k].bytes == wanted->epochs[k].bytes);
		}
	}
}

enum { RANDOM_STACKS = 400, RANDOM_FRAMES_MAX = 12, LONG_STACK_FRAMES = 10000 };

/* Few frames, so that stacks share ends, contain each other, and fork anywhere. */
static void fill_random_stacks(struct seep_profile_context *contexts)
{
	unsigned seed = 1;

	for (uint32_t i = 0; i < RANDOM_STACKS; i++) {
		const uint32_t count = i == 7 ? LONG_STACK_FRAMES
					      : (uint32_t)rand_r(&seed) % RANDOM_FRAMES_MAX;

		contexts[i].id = i + 1;
		contexts[i].stack = seep_profile_calloc(profile, count, sizeof(*contexts->stack));
		contexts[i].stack_count = count;
		for (uint32_t k = 0; k < count; k++) {
			struct seep_profile_stack_entry *entry = &contexts[i].stack[k];

			entry->frame = (uint32_t)rand_r(&seed) % 3;
			entry->period = rand_r(&seed) % 8 == 0;
			entry->repeats = entry->period ? 3 : 0;
		}
	}
}

RECORDING_TEST(stacks_that_share_any_part_come_back)
{
	struct seep_profile_context *contexts;
	struct sqlite3 *db = NULL;

	contexts = seep_profile_calloc(profile, RANDOM_STACKS, sizeof(*contexts));
	fill_random_stacks(contexts);
	profile->contexts = contexts;
	profile->context_count = RANDOM_STACKS;
	memset(&profile->totals, 0, sizeof(profile->totals));
	round_trip();
	assert_int_equal(loaded->context_count, RANDOM_STACKS);
	for (uint32_t i = 0; i < RANDOM_STACKS; i++)
		assert_same_stack(&loaded->contexts[i], &contexts[i]);
	assert_int_equal(seep_recording_open_database(path, &db, NULL, &err), 0);
	assert_int_equal(query(db, "SELECT context FROM stack GROUP BY context"
				   " HAVING count(DISTINCT depth) != max(depth) + 1"
				   " OR count(*) != max(depth) + 1"),
			 0);
	assert_int_equal(query(db, "SELECT id FROM context WHERE leaf IS NOT NULL AND frame != "
				   "(SELECT frame FROM stack_entry WHERE context = context.id"
				   " AND depth = 0)"),
			 0);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

RECORDING_TEST(modules_frames_marks_and_samples_come_back)
{
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

RECORDING_TEST(unseen_comes_back_and_can_be_added_to)
{
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

RECORDING_TEST(an_empty_profile_makes_a_recording)
{
	struct seep_profile *empty = seep_profile_new();

	assert_int_equal(seep_recording_write(AT_FDCWD, path, empty, true, &err), 0);
	assert_int_equal(seep_recording_load(path, &loaded, &err), 0);
	assert_int_equal(loaded->context_count, 0);
	assert_true(loaded->totals.peak_exact);
	seep_profile_free(empty);
}

RECORDING_TEST(views_answer_with_names)
{
	struct sqlite3 *db = NULL;
	int matched = 0;

	round_trip();
	assert_int_equal(seep_recording_open_database(path, &db, NULL, &err), 0);
	assert_int_equal(query(db, "SELECT * FROM top"), 3);
	assert_int_equal(query(db, "SELECT * FROM stack WHERE context = 3"), 4);
	assert_int_equal(query(db, "SELECT * FROM function WHERE function = 'leaf()'"), 1);
	assert_int_equal(query(db, "SELECT * FROM kind"), LEDGER_KIND_COUNT);
	assert_int_equal(sqlite3_exec(db, "SELECT stack, hash FROM top WHERE id = 3", match_stack,
				      &matched, NULL),
			 SQLITE_OK);
	assert_int_equal(matched, 1);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}
