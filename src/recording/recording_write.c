/* SPDX-License-Identifier: MIT */
/*
 * One transaction into a file that nobody else knows yet: no journal, no locks, no syncs but the
 * one before it gets its name.
 */
#include "recording/recording.h"

#include "base/file.h"
#include "profile/kind_name.h"
#include "profile/profile.h"
#include "profile/profile_check.h"
#include "recording/recording_db.h"
#include "recording/recording_schema.h"
#include "recording/recording_writer.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef SEEP_VERSION
#define SEEP_VERSION "unknown"
#endif

static int execute(struct seep_writer *w, const char *sql)
{
	return seep_db_fail(w->db, sqlite3_exec(w->db, sql, NULL, NULL, NULL), w->err);
}

static int begin(struct seep_writer *w)
{
	char pragmas[256];
	int r;

	(void)snprintf(pragmas, sizeof(pragmas),
		       "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
		       "PRAGMA locking_mode = EXCLUSIVE; PRAGMA page_size = 4096;"
		       "PRAGMA application_id = %d; PRAGMA user_version = %d;",
		       SEEP_RECORDING_APPLICATION_ID, SEEP_RECORDING_VERSION);
	r = execute(w, pragmas);
	if (r == 0)
		r = execute(w, "BEGIN");
	if (r == 0)
		r = execute(w, seep_recording_tables_sql);
	return r;
}

static int write_process(struct seep_writer *w)
{
	const struct seep_profile_process *process = &w->profile->process;
	bool is_code = process->has_status && process->ended != SEEP_ENDED_SIGNAL;
	bool is_signal = process->has_status && process->ended == SEEP_ENDED_SIGNAL;
	struct seep_db_insert in;

	seep_db_insert_init(&in, w->db,
			    "INSERT INTO process VALUES "
			    "(1,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
	seep_db_put_number(&in, process->pid);
	seep_db_put_number(&in, process->ppid);
	seep_db_put_number(&in, process->uid);
	seep_db_put_text(&in, process->exe);
	seep_db_put_text(&in, process->cwd);
	seep_db_put_text(&in, process->allocator);
	seep_db_put_text(&in, process->options);
	seep_db_put_number(&in, process->mode);
	seep_db_put_number(&in, process->start_ns);
	seep_db_put_number(&in, process->start_realtime_ns);
	seep_db_put_number(&in, process->end_ns);
	seep_db_put_text(&in, seep_profile_ended_name(process->ended));
	if (is_code)
		seep_db_put_number(&in, (uint64_t)process->status_code);
	else
		seep_db_put_null(&in);
	if (is_signal)
		seep_db_put_number(&in, (uint64_t)process->status_signal);
	else
		seep_db_put_null(&in);
	seep_db_put_number(&in, process->core_dumped);
	seep_db_put_number(&in, process->peak_rss_bytes);
	seep_db_put_number(&in, process->argv != NULL);
	seep_db_put_number(&in, w->profile->symbolised);
	seep_db_put_text(&in, SEEP_VERSION);
	seep_db_insert_row(&in);
	return seep_db_insert_done(&in, w->err);
}

static int write_argv(struct seep_writer *w)
{
	char **argv = w->profile->process.argv;
	struct seep_db_insert in;

	seep_db_insert_init(&in, w->db, "INSERT INTO argv VALUES (?,?)");
	for (uint64_t i = 0; argv && argv[i]; i++) {
		seep_db_put_number(&in, i);
		seep_db_put_text(&in, argv[i]);
		seep_db_insert_row(&in);
	}
	return seep_db_insert_done(&in, w->err);
}

static int write_children(struct seep_writer *w)
{
	const struct seep_profile_process *process = &w->profile->process;
	struct seep_db_insert in;

	seep_db_insert_init(&in, w->db, "INSERT INTO child VALUES (?,?)");
	for (uint32_t i = 0; i < process->child_count; i++) {
		seep_db_put_number(&in, i);
		seep_db_put_number(&in, process->children[i]);
		seep_db_insert_row(&in);
	}
	return seep_db_insert_done(&in, w->err);
}

static int write_kinds(struct seep_writer *w)
{
	struct seep_db_insert in;

	seep_db_insert_init(&in, w->db, "INSERT INTO kind VALUES (?,?)");
	for (uint8_t i = 0; i < SEEP_PROFILE_KIND_COUNT; i++) {
		seep_db_put_number(&in, i);
		seep_db_put_text(&in, seep_profile_kind_name(i));
		seep_db_insert_row(&in);
	}
	return seep_db_insert_done(&in, w->err);
}

static int write_marks(struct seep_writer *w)
{
	struct seep_db_insert in;

	seep_db_insert_init(&in, w->db, "INSERT INTO mark VALUES (?,?,?,?,?)");
	for (uint32_t i = 0; i < w->profile->mark_count; i++) {
		const struct seep_profile_mark *mark = &w->profile->marks[i];

		seep_db_put_number(&in, i);
		seep_db_put_number(&in, mark->epoch);
		seep_db_put_text(&in, mark->name);
		seep_db_put_number(&in, mark->at_ns);
		seep_db_put_number(&in, mark->exact);
		seep_db_insert_row(&in);
	}
	return seep_db_insert_done(&in, w->err);
}

static int write_samples(struct seep_writer *w)
{
	struct seep_db_insert in;

	seep_db_insert_init(&in, w->db, "INSERT INTO sample VALUES (?,?,?,?,?,?)");
	for (uint32_t i = 0; i < w->profile->sample_count; i++) {
		const struct seep_profile_sample *sample = &w->profile->timeline[i];

		seep_db_put_number(&in, i);
		seep_db_put_number(&in, sample->at_ns);
		seep_db_put_number(&in, sample->live_bytes);
		seep_db_put_number(&in, sample->rss_bytes);
		seep_db_put_number(&in, sample->allocs);
		seep_db_put_number(&in, sample->frees);
		seep_db_insert_row(&in);
	}
	return seep_db_insert_done(&in, w->err);
}

static int write_unseen(struct seep_writer *w)
{
	struct seep_db_insert in;

	seep_db_insert_init(&in, w->db, "INSERT INTO unseen VALUES (?,?,?)");
	for (uint32_t i = 0; i < w->profile->unseen_count; i++) {
		seep_db_put_number(&in, i);
		seep_db_put_text(&in, w->profile->unseen[i].code);
		seep_db_put_text(&in, w->profile->unseen[i].detail);
		seep_db_insert_row(&in);
	}
	return seep_db_insert_done(&in, w->err);
}

static void put_total(struct seep_db_insert *in, const char *name, uint64_t value)
{
	seep_db_put_text(in, name);
	seep_db_put_number(in, value);
	seep_db_insert_row(in);
}

static int write_totals(struct seep_writer *w)
{
	const struct seep_profile_totals *totals = &w->profile->totals;
	struct seep_db_insert in;

	seep_db_insert_init(&in, w->db, "INSERT INTO total VALUES (?,?)");
	for (size_t i = 0; i < seep_recording_total_count; i++) {
		uint64_t value;

		memcpy(&value, (const char *)totals + seep_recording_totals[i].offset,
		       sizeof(value));
		put_total(&in, seep_recording_totals[i].name, value);
	}
	put_total(&in, "peak_exact", totals->peak_exact);
	put_total(&in, "verify_asked", totals->verify.asked);
	return seep_db_insert_done(&in, w->err);
}

static int write_histogram(struct seep_writer *w)
{
	struct seep_db_insert in;

	seep_db_insert_init(&in, w->db, "INSERT INTO histogram VALUES (?,?)");
	for (uint32_t i = 0; i < SEEP_PROFILE_HISTOGRAM_BUCKETS; i++) {
		seep_db_put_number(&in, i);
		seep_db_put_number(&in, w->profile->totals.histogram[i]);
		seep_db_insert_row(&in);
	}
	return seep_db_insert_done(&in, w->err);
}

static int write_forked(struct seep_writer *w)
{
	const struct seep_profile_forked *forked = &w->profile->forked;
	struct seep_db_insert in;

	seep_db_insert_init(&in, w->db, "INSERT INTO forked VALUES (1,?,?,?,?,?,?)");
	seep_db_put_number(&in, forked->processes);
	seep_db_put_number(&in, forked->allocs);
	seep_db_put_number(&in, forked->alloc_bytes);
	seep_db_put_number(&in, forked->frees);
	seep_db_put_number(&in, forked->freed_bytes);
	seep_db_put_number(&in, forked->live_bytes);
	seep_db_insert_row(&in);
	return seep_db_insert_done(&in, w->err);
}

static int finish(struct seep_writer *w)
{
	int r = execute(w, seep_recording_views_sql);

	return r == 0 ? execute(w, "COMMIT") : r;
}

static int write_all(struct seep_writer *w)
{
	static int (*const steps[])(struct seep_writer *) = {
		begin,	      write_process,	  write_argv,	   write_children,
		write_kinds,  seep_writer_stacks, write_marks,	   write_samples,
		write_unseen, write_totals,	  write_histogram, write_forked,
		finish,
	};
	int r = 0;

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]) && r == 0; i++)
		r = steps[i](w);
	return r;
}

static int write_database(const char *path, const struct seep_profile *profile,
			  struct seep_error *err)
{
	struct seep_writer w = { .profile = profile, .err = err };
	int rc = sqlite3_open_v2(path, &w.db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
				 seep_db_vfs());
	int r = seep_db_fail(w.db, rc, err);

	if (r == 0)
		r = write_all(&w);
	rc = sqlite3_close(w.db);
	if (r == 0 && rc != SQLITE_OK)
		r = seep_db_fail(NULL, rc, err);
	/* What cannot be written is the system's refusal, never a damaged recording. */
	if (r == -SEEP_ECORRUPT) {
		r = -SEEP_ESYS;
		if (err)
			err->code = SEEP_ESYS;
	}
	return r;
}

/* Makes the new name itself last. A file system that cannot do it is no reason to fail. */
static void sync_directory(const char *path)
{
	char *directory = strdup(path);
	char *slash = directory ? strrchr(directory, '/') : NULL;
	int fd;

	if (slash)
		slash[slash == directory] = '\0';
	fd = open(slash ? directory : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0) {
		(void)fsync(fd);
		(void)close(fd);
	}
	free(directory);
}

/* ---- what a loader would refuse ----------------------------------------------------------- */

static bool all_figures(const uint64_t *values, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (values[i] > INT64_MAX)
			return false;
	return true;
}

/* Those of contexts are no more than the totals that they sum to. */
static bool are_figures(const struct seep_profile *profile)
{
	const struct seep_profile_totals *totals = &profile->totals;
	const struct seep_profile_forked *forked = &profile->forked;
	bool fit = all_figures(totals->histogram, SEEP_PROFILE_HISTOGRAM_BUCKETS) &&
		   all_figures(&profile->process.peak_rss_bytes, 1) &&
		   all_figures((const uint64_t *)forked, sizeof(*forked) / sizeof(uint64_t));

	for (size_t i = 0; i < seep_recording_total_count && fit; i++) {
		uint64_t value;

		memcpy(&value, (const char *)totals + seep_recording_totals[i].offset,
		       sizeof(value));
		fit = all_figures(&value, 1);
	}
	for (uint32_t i = 0; i < profile->sample_count && fit; i++) {
		const struct seep_profile_sample *sample = &profile->timeline[i];

		fit = all_figures(&sample->live_bytes, 1) && all_figures(&sample->rss_bytes, 1) &&
		      all_figures(&sample->allocs, 1) && all_figures(&sample->frees, 1);
	}
	return fit;
}

static int check(const struct seep_profile *profile, struct seep_error *err)
{
	int r = seep_profile_check(profile, err);

	if (r == 0 && !are_figures(profile))
		r = seep_fail(err, SEEP_ECORRUPT, "a count or a size is negative");
	return r;
}

int seep_recording_write(const char *path, const struct seep_profile *profile, bool replace,
			 struct seep_error *err)
{
	struct seep_atomic_file file = { 0 };
	int r = check(profile, err);

	if (r < 0) {
		seep_error_prefix(err, "%s was not written, since nobody could read it", path);
		return r;
	}
	r = seep_atomic_open(path, 0600, &file, err);
	if (r < 0)
		return r;
	file.keep_old = !replace;
	r = write_database(file.temp_path, profile, err);
	if (r < 0) {
		seep_atomic_abandon(&file);
		seep_error_prefix(err, "cannot write %s", path);
		return r;
	}
	r = seep_atomic_commit(&file, err);
	if (r == 0)
		sync_directory(path);
	return r;
}
