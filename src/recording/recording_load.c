/* SPDX-License-Identifier: MIT */
#include "recording/recording.h"

#include "base/file.h"
#include "profile/kind_name.h"
#include "profile/profile.h"
#include "profile/profile_check.h"
#include "recording/recording_reader.h"
#include "recording/recording_schema.h"

#include <stdlib.h>
#include <string.h>

#define SMALL_MAX (1u << 22) /* rows of a table that stands for itself */
#define TEXT_SLACK_BYTES (64ull * 1024)

static int process_row(struct seep_reader *l)
{
	struct seep_profile_process *process = &l->profile->process;
	char *ended;

	process->pid = (uint32_t)seep_reader_number(l, 0);
	process->ppid = (uint32_t)seep_reader_number(l, 1);
	process->uid = (uint32_t)seep_reader_number(l, 2);
	process->exe = seep_reader_text(l, 3);
	process->cwd = seep_reader_text(l, 4);
	process->allocator = seep_reader_text(l, 5);
	process->options = seep_reader_text(l, 6);
	process->mode = (uint32_t)seep_reader_number(l, 7);
	process->start_ns = seep_reader_number(l, 8);
	process->start_realtime_ns = seep_reader_number(l, 9);
	process->end_ns = seep_reader_number(l, 10);
	ended = seep_reader_text(l, 11);
	process->ended = seep_profile_ended_value(ended);
	process->has_status = !seep_reader_is_null(l, 12) || !seep_reader_is_null(l, 13);
	process->status_code = (int)(seep_reader_number(l, 12) & 0xff);
	process->status_signal = (int)(seep_reader_number(l, 13) & 0x7f);
	process->core_dumped = seep_reader_flag(l, 14);
	process->peak_rss_bytes = seep_reader_figure(l, 15);
	if (seep_reader_flag(l, 16))
		process->argv = seep_profile_calloc(l->profile, 1, sizeof(*process->argv));
	l->profile->symbolised = seep_reader_flag(l, 17);
	l->item_count++;
	return 0;
}

static int finish_process(struct seep_reader *l)
{
	return l->item_count == 1 ? 0 : seep_reader_damaged(l, "it names no process");
}

static int argv_row(struct seep_reader *l)
{
	char **argument = seep_reader_add(l, sizeof(*argument));

	*argument = seep_reader_text_or_empty(l, 0);
	return 0;
}

static int finish_argv(struct seep_reader *l)
{
	struct seep_profile_process *process = &l->profile->process;
	uint32_t count;

	if (!process->argv)
		return 0;
	(void)seep_reader_add(l, sizeof(char *)); /* the NULL at the end */
	process->argv = seep_reader_take(l, sizeof(char *), &count);
	return 0;
}

static int child_row(struct seep_reader *l)
{
	*(uint32_t *)seep_reader_add(l, sizeof(uint32_t)) = (uint32_t)seep_reader_number(l, 0);
	return 0;
}

static int mark_row(struct seep_reader *l)
{
	struct seep_profile_mark *mark = seep_reader_add(l, sizeof(*mark));

	mark->epoch = seep_reader_small(l, 0, UINT32_MAX);
	mark->name = seep_reader_text(l, 1);
	mark->at_ns = seep_reader_number(l, 2);
	mark->exact = seep_reader_flag(l, 3);
	return 0;
}

static int sample_row(struct seep_reader *l)
{
	struct seep_profile_sample *sample = seep_reader_add(l, sizeof(*sample));

	sample->at_ns = seep_reader_number(l, 0);
	sample->live_bytes = seep_reader_figure(l, 1);
	sample->rss_bytes = seep_reader_figure(l, 2);
	sample->allocs = seep_reader_figure(l, 3);
	sample->frees = seep_reader_figure(l, 4);
	return 0;
}

static int unseen_row(struct seep_reader *l)
{
	struct seep_profile_unseen *unseen = seep_reader_add(l, sizeof(*unseen));

	unseen->code = seep_reader_text_or_empty(l, 0);
	unseen->detail = seep_reader_text_or_empty(l, 1);
	return 0;
}

/* Not by seep_profile_add_unseen(), which looks at every line that is there already. */
static int finish_unseen(struct seep_reader *l)
{
	uint32_t count = l->item_count;
	uint32_t room = 1;

	/* seep_profile_add_unseen() may follow: it expects room up to a power of two. */
	while (room < count)
		room *= 2;
	while (l->item_count < room)
		(void)seep_reader_add(l, sizeof(struct seep_profile_unseen));
	l->profile->unseen = seep_reader_take(l, sizeof(struct seep_profile_unseen), &room);
	l->profile->unseen_count = count;
	return 0;
}

/* False where it was there before. */
static bool note_total(struct seep_reader *l, size_t number)
{
	const uint64_t bit = 1ull << number;
	bool is_new = !(l->totals_found & bit);

	l->totals_found |= bit;
	return is_new;
}

/* Names that this seep does not know are a newer one's. */
static int total_row(struct seep_reader *l)
{
	struct seep_profile_totals *totals = &l->profile->totals;
	const char *name = (const char *)sqlite3_column_text(l->statement, 0);
	uint64_t value = seep_reader_figure(l, 1);
	bool is_new = true;

	if (!name)
		return seep_reader_damaged(l, "a total has no name");
	for (size_t i = 0; i < seep_recording_total_count; i++)
		if (strcmp(name, seep_recording_totals[i].name) == 0) {
			is_new = note_total(l, i);
			memcpy((char *)totals + seep_recording_totals[i].offset, &value,
			       sizeof(value));
		}
	if (strcmp(name, "peak_exact") == 0)
		totals->peak_exact = value != 0;
	if (strcmp(name, "verify_asked") == 0)
		totals->verify.asked = value != 0;
	return is_new ? 0 : seep_reader_damaged(l, "a total is there twice");
}

/* A total that is not there must not look like 0. */
static int finish_totals(struct seep_reader *l)
{
	for (size_t i = 0; i < seep_recording_total_count; i++)
		if (note_total(l, i))
			return seep_fail(l->err, SEEP_ECORRUPT, "it has no total %s",
					 seep_recording_totals[i].name);
	return 0;
}

static int histogram_row(struct seep_reader *l)
{
	uint64_t bucket = seep_reader_number(l, 0);

	if (bucket >= SEEP_PROFILE_HISTOGRAM_BUCKETS)
		return seep_reader_damaged(l, "the histogram has a bucket too many");
	l->profile->totals.histogram[bucket] = seep_reader_figure(l, 1);
	return 0;
}

static int forked_row(struct seep_reader *l)
{
	struct seep_profile_forked *forked = &l->profile->forked;

	forked->processes = seep_reader_figure(l, 0);
	forked->allocs = seep_reader_figure(l, 1);
	forked->alloc_bytes = seep_reader_figure(l, 2);
	forked->frees = seep_reader_figure(l, 3);
	forked->freed_bytes = seep_reader_figure(l, 4);
	forked->live_bytes = seep_reader_figure(l, 5);
	return 0;
}

static const struct seep_reader_table before_stacks[] = {
	{ .sql = "SELECT pid, ppid, uid, exe, cwd, allocator, options, mode, start_ns,"
		 " start_realtime_ns, end_ns, ended, status_code, status_signal,"
		 " core_dumped, peak_rss_bytes, argv_known, symbolised FROM process",
	  .rows_max = 1,
	  .row = process_row,
	  .finish = finish_process },
	{ .sql = "SELECT value FROM argv ORDER BY position",
	  .rows_max = SMALL_MAX,
	  .row = argv_row,
	  .finish = finish_argv },
	{ .sql = "SELECT pid FROM child ORDER BY position",
	  .rows_max = SMALL_MAX,
	  .row = child_row,
	  SEEP_READER_INTO(uint32_t, process.children, process.child_count) },
};

static const struct seep_reader_table after_stacks[] = {
	{ .sql = "SELECT epoch, name, at_ns, exact FROM mark ORDER BY position",
	  .rows_max = SMALL_MAX,
	  .row = mark_row,
	  SEEP_READER_INTO(struct seep_profile_mark, marks, mark_count) },
	{ .sql = "SELECT at_ns, live_bytes, rss_bytes, allocs, frees FROM sample ORDER BY position",
	  .rows_max = SMALL_MAX,
	  .row = sample_row,
	  SEEP_READER_INTO(struct seep_profile_sample, timeline, sample_count) },
	{ .sql = "SELECT code, detail FROM unseen ORDER BY position",
	  .rows_max = SMALL_MAX,
	  .row = unseen_row,
	  .finish = finish_unseen },
	{ .sql = "SELECT name, value FROM total",
	  .rows_max = SMALL_MAX,
	  .row = total_row,
	  .finish = finish_totals },
	{ .sql = "SELECT bucket, allocs FROM histogram",
	  .rows_max = SMALL_MAX,
	  .row = histogram_row },
	{ .sql = "SELECT processes, allocs, alloc_bytes, frees, freed_bytes, live_bytes FROM forked",
	  .rows_max = 1,
	  .row = forked_row },
};

static int load_all(struct seep_reader *l)
{
	int r = seep_reader_tables(l, before_stacks,
				   sizeof(before_stacks) / sizeof(before_stacks[0]));

	if (r == 0)
		r = seep_reader_stacks(l);
	if (r == 0)
		r = seep_reader_tables(l, after_stacks,
				       sizeof(after_stacks) / sizeof(after_stacks[0]));
	if (r == 0)
		r = seep_profile_check(l->profile, l->err);
	if (r == 0 && l->stacks_cut)
		seep_profile_add_stacks_cut(l->profile,
					    seep_profile_stack_entries_max(l->held_bytes));
	return r;
}

int seep_recording_load(const char *path, struct seep_profile **ret_profile, struct seep_error *err)
{
	struct seep_reader l = { .err = err };
	int r = seep_recording_open_database(path, &l.db, err);

	if (r < 0)
		return r;
	l.held_bytes = seep_file_held_bytes(path);
	l.text_left = l.held_bytes + TEXT_SLACK_BYTES;
	l.profile = seep_profile_new();
	r = load_all(&l);
	free(l.segments);
	free(l.entries);
	(void)sqlite3_close(l.db);
	if (r < 0) {
		seep_profile_free(l.profile);
		seep_error_prefix(err, "%s: %s", path,
				  r == -SEEP_ECORRUPT ? "damaged" : "cannot be read");
		return r;
	}
	*ret_profile = l.profile;
	return 0;
}
