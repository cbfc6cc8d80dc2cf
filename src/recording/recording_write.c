/* SPDX-License-Identifier: MIT */
/*
 * One transaction into a file that nobody else knows yet: no journal, no locks, no syncs but the
 * one before it gets its name.
 */
#include "recording/recording.h"

#include "base/file.h"
#include "base/xalloc.h"
#include "profile/kind_name.h"
#include "profile/profile.h"
#include "recording/recording_db.h"
#include "recording/recording_schema.h"
#include "recording/recording_segments.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef SEEP_VERSION
#define SEEP_VERSION "unknown"
#endif

/* "[4294967295,255,65535],": one entry of a segment. */
enum { ENTRY_TEXT_BYTES_MAX = 24 };

struct writer {
	struct sqlite3 *db;
	const struct seep_profile *profile;
	struct seep_error *err;
};

static int execute(struct writer *w, const char *sql)
{
	return seep_db_fail(w->db, sqlite3_exec(w->db, sql, NULL, NULL, NULL), w->err);
}

static int begin(struct writer *w)
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

static int write_process(struct writer *w)
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

static int write_argv(struct writer *w)
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

static int write_children(struct writer *w)
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

static int write_kinds(struct writer *w)
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

static int write_modules(struct writer *w)
{
	struct seep_db_insert in;

	seep_db_insert_init(&in, w->db, "INSERT INTO module VALUES (?,?,?,?,?,?,?)");
	for (uint32_t i = 0; i < w->profile->module_count; i++) {
		const struct seep_profile_module *module = &w->profile->modules[i];

		seep_db_put_number(&in, (uint64_t)i + 1);
		seep_db_put_text(&in, module->path ? module->path : "");
		seep_db_put_number(&in, module->bias);
		seep_db_put_number(&in, module->start);
		seep_db_put_number(&in, module->end);
		if (module->build_id_bytes)
			seep_db_put_blob(&in, module->build_id, module->build_id_bytes);
		else
			seep_db_put_null(&in);
		seep_db_put_text(&in, module->problem);
		seep_db_insert_row(&in);
	}
	return seep_db_insert_done(&in, w->err);
}

static int write_frames(struct writer *w)
{
	struct seep_db_insert in;

	seep_db_insert_init(&in, w->db, "INSERT INTO frame VALUES (?,?,?,?,?,?,?,?)");
	for (uint32_t i = 0; i < w->profile->frame_count; i++) {
		const struct seep_profile_frame *frame = &w->profile->frames[i];

		seep_db_put_number(&in, (uint64_t)i + 1);
		if (frame->module)
			seep_db_put_number(&in, frame->module);
		else
			seep_db_put_null(&in);
		seep_db_put_number(&in, frame->address);
		seep_db_put_number(&in, frame->exact);
		seep_db_put_number(&in, frame->inlined);
		seep_db_put_text(&in, frame->function);
		seep_db_put_text(&in, frame->file);
		seep_db_put_number(&in, frame->line);
		seep_db_insert_row(&in);
	}
	return seep_db_insert_done(&in, w->err);
}

/* The id of the innermost frame and of the segment that it ends, or neither. */
static void put_leaf(struct seep_db_insert *in, const struct seep_profile_context *context,
		     uint32_t leaf)
{
	if (!leaf) {
		seep_db_put_null(in);
		seep_db_put_null(in);
		return;
	}
	seep_db_put_number(in, (uint64_t)context->stack[0].frame + 1);
	seep_db_put_number(in, leaf);
}

static void put_context(struct seep_db_insert *in, const struct seep_profile_context *context,
			uint32_t leaf)
{
	seep_db_put_number(in, context->id);
	seep_db_put_number(in, context->hash);
	seep_db_put_number(in, context->kind);
	seep_db_put_number(in, context->align_log2);
	put_leaf(in, context, leaf);
	seep_db_put_number(in, context->truncated);
	seep_db_put_number(in, context->cut);
	seep_db_put_number(in, context->by_frame_pointer);
	seep_db_put_number(in, context->no_stack);
	seep_db_put_number(in, context->other);
	seep_db_put_number(in, context->in_doubt);
	seep_db_put_text(in, context->thread);
	seep_db_put_text(in, context->scope);
	seep_db_put_number(in, context->first_ns);
	seep_db_put_number(in, context->allocs);
	seep_db_put_number(in, context->alloc_bytes);
	seep_db_put_number(in, context->frees);
	seep_db_put_number(in, context->freed_bytes);
	seep_db_put_number(in, context->temporary);
	seep_db_put_number(in, context->live_blocks);
	seep_db_put_number(in, context->live_bytes);
	seep_db_put_number(in, context->peak_blocks);
	seep_db_put_number(in, context->peak_bytes);
	seep_db_insert_row(in);
}

static int write_contexts(struct writer *w, const struct seep_recording_segments *segments,
			  const uint32_t *leaves)
{
	struct seep_db_insert in;

	seep_db_insert_init(&in, w->db,
			    "INSERT INTO context VALUES "
			    "(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
	for (uint32_t i = 0; i < w->profile->context_count; i++)
		put_context(&in, &w->profile->contexts[i],
			    leaves[i] ? segments->items[leaves[i] - 1].id : 0);
	return seep_db_insert_done(&in, w->err);
}

static char *add_number(char *at, uint32_t number)
{
	char digits[16];
	int count = 0;

	do {
		digits[count++] = (char)('0' + number % 10);
		number /= 10;
	} while (number);
	while (count)
		*at++ = digits[--count];
	return at;
}

/* "[7,12,[5,1,300]]": see docs/recording.md. @text has room. Returns its length. */
static size_t frames_text(const struct seep_recording_segment *segment, char *text)
{
	char *at = text;

	for (uint32_t i = 0; i < segment->count; i++) {
		const struct seep_profile_stack_entry *entry = &segment->entries[i];

		*at++ = i ? ',' : '[';
		if (entry->period)
			*at++ = '[';
		at = add_number(at, entry->frame + 1);
		if (entry->period) {
			*at++ = ',';
			at = add_number(at, entry->period);
			*at++ = ',';
			at = add_number(at, entry->repeats);
			*at++ = ']';
		}
	}
	*at++ = ']';
	return (size_t)(at - text);
}

static int write_segments(struct writer *w, const struct seep_recording_segments *segments,
			  const uint32_t *order)
{
	struct seep_db_insert in;
	size_t room = 0;
	char *text = NULL;

	seep_db_insert_init(&in, w->db, "INSERT INTO segment VALUES (?,?,?)");
	for (uint32_t i = 0; i < segments->count; i++) {
		const struct seep_recording_segment *segment = &segments->items[order[i]];

		text = seep_xgrow(text, &room, segment->count + 1, ENTRY_TEXT_BYTES_MAX);
		seep_db_put_number(&in, (uint64_t)i + 1);
		if (segment->parent)
			seep_db_put_number(&in, segments->items[segment->parent - 1].id);
		else
			seep_db_put_null(&in);
		seep_db_put_text_bytes(&in, text, frames_text(segment, text));
		seep_db_insert_row(&in);
	}
	free(text);
	return seep_db_insert_done(&in, w->err);
}

static int write_tree(struct writer *w, struct seep_recording_segments *segments, uint32_t *leaves)
{
	uint32_t *order;
	int r = 0;

	for (uint32_t i = 0; i < w->profile->context_count && r == 0; i++) {
		const struct seep_profile_context *context = &w->profile->contexts[i];

		r = seep_recording_segments_add(segments, context->stack, context->stack_count,
						&leaves[i], w->err);
	}
	if (r < 0)
		return r;
	order = seep_recording_segments_number(segments);
	r = write_segments(w, segments, order);
	free(order);
	return r == 0 ? write_contexts(w, segments, leaves) : r;
}

static int write_stacks(struct writer *w)
{
	uint32_t *leaves = seep_xcalloc(w->profile->context_count, sizeof(*leaves));
	struct seep_recording_segments segments;
	int r;

	seep_recording_segments_init(&segments);
	r = write_tree(w, &segments, leaves);
	seep_recording_segments_done(&segments);
	free(leaves);
	return r;
}

static int write_epochs(struct writer *w)
{
	struct seep_db_insert in;

	seep_db_insert_init(&in, w->db, "INSERT INTO epoch VALUES (?,?,?,?)");
	for (uint32_t i = 0; i < w->profile->context_count; i++) {
		const struct seep_profile_context *context = &w->profile->contexts[i];

		for (uint32_t e = 0; e < context->epoch_count; e++) {
			seep_db_put_number(&in, context->id);
			seep_db_put_number(&in, context->epochs[e].epoch);
			seep_db_put_number(&in, context->epochs[e].blocks);
			seep_db_put_number(&in, context->epochs[e].bytes);
			seep_db_insert_row(&in);
		}
	}
	return seep_db_insert_done(&in, w->err);
}

static int write_marks(struct writer *w)
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

static int write_samples(struct writer *w)
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

static int write_unseen(struct writer *w)
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

static int write_totals(struct writer *w)
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

static int write_histogram(struct writer *w)
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

static int write_forked(struct writer *w)
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

static int finish(struct writer *w)
{
	int r = execute(w, seep_recording_views_sql);

	return r == 0 ? execute(w, "COMMIT") : r;
}

static int write_all(struct writer *w)
{
	static int (*const steps[])(struct writer *) = {
		begin,	      write_process,   write_argv,    write_children,
		write_kinds,  write_modules,   write_frames,  write_stacks,
		write_epochs, write_marks,     write_samples, write_unseen,
		write_totals, write_histogram, write_forked,  finish,
	};
	int r = 0;

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]) && r == 0; i++)
		r = steps[i](w);
	return r;
}

static int write_database(const char *path, const struct seep_profile *profile,
			  struct seep_error *err)
{
	struct writer w = { .profile = profile, .err = err };
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

int seep_recording_write(const char *path, const struct seep_profile *profile, bool replace,
			 struct seep_error *err)
{
	struct seep_atomic_file file = { 0 };
	int r = seep_atomic_open(path, 0600, &file, err);

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
