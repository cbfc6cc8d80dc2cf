/* SPDX-License-Identifier: MIT */
/*
 * The JSON document: one function per top-level member, in the order of docs/json.md. Its schema is
 * docs/json-schema.json; whoever adds a key here adds it there.
 */
#include "report/report.h"

#include <stdlib.h>

#include "analysis/rank.h"
#include "base/xalloc.h"
#include "profile/kind_name.h"
#include "report/json_context.h"
#include "base/json_writer.h"

/* A time or size of which 0 means that it is not known. */
static void known_u64(struct seep_json *json, const char *key, uint64_t value)
{
	if (value == 0)
		seep_json_null(json, key);
	else
		seep_json_u64(json, key, value);
}

static void write_status(struct seep_json *json, const struct seep_profile_process *process)
{
	if (!process->has_status ||
	    (process->ended != SEEP_ENDED_EXIT && process->ended != SEEP_ENDED_SIGNAL)) {
		seep_json_null(json, "status");
		return;
	}
	seep_json_open_object(json, "status");
	if (process->ended == SEEP_ENDED_EXIT)
		seep_json_int(json, "code", process->status_code);
	else
		seep_json_int(json, "signal", process->status_signal);
	seep_json_close(json);
}

static void write_argv(struct seep_json *json, char *const *argv)
{
	if (argv == NULL) {
		seep_json_null(json, "argv");
		return;
	}
	seep_json_open_array(json, "argv");
	for (; *argv != NULL; argv++)
		seep_json_text(json, NULL, *argv);
	seep_json_close(json);
}

static void write_process(struct seep_json *json, const struct seep_profile_process *process)
{
	seep_json_open_object(json, "process");
	seep_json_int(json, "pid", process->pid);
	seep_json_int(json, "ppid", process->ppid);
	seep_json_int(json, "uid", process->uid);
	seep_json_text(json, "exe", process->exe);
	seep_json_text(json, "cwd", process->cwd);
	write_argv(json, process->argv);
	seep_json_text(json, "allocator", process->allocator);
	seep_json_text(json, "options", process->options);
	seep_json_text(json, "mode", seep_profile_mode_name(process->mode));
	seep_json_u64(json, "start_ns", process->start_ns);
	known_u64(json, "start_realtime_ns", process->start_realtime_ns);
	known_u64(json, "end_ns", process->end_ns);
	seep_json_text(json, "ended", seep_profile_ended_name(process->ended));
	write_status(json, process);
	seep_json_bool(json, "core_dumped", process->core_dumped);
	known_u64(json, "peak_rss_bytes", process->peak_rss_bytes);
	seep_json_open_array(json, "children");
	for (uint32_t i = 0; i < process->child_count; i++)
		seep_json_int(json, NULL, process->children[i]);
	seep_json_close(json);
	seep_json_close(json);
}

/* Bucket i holds the requests of 2^(i-1) to 2^i - 1 bytes, the last one everything above too. */
static void write_histogram(struct seep_json *json, const struct seep_profile_totals *totals)
{
	unsigned count = SEEP_PROFILE_HISTOGRAM_BUCKETS;

	while (count > 0 && totals->histogram[count - 1] == 0)
		count--;
	seep_json_open_array(json, "size_histogram");
	for (unsigned i = 0; i < count; i++) {
		const bool last = i == SEEP_PROFILE_HISTOGRAM_BUCKETS - 1;

		seep_json_open_object(json, NULL);
		seep_json_u64(json, "upto_bytes", last ? UINT64_MAX : (UINT64_C(1) << i) - 1);
		seep_json_u64(json, "allocs", totals->histogram[i]);
		seep_json_close(json);
	}
	seep_json_close(json);
}

static void write_verify(struct seep_json *json, const struct seep_profile_verify *verify)
{
	if (!verify->asked) {
		seep_json_null(json, "verify");
		return;
	}
	seep_json_open_object(json, "verify");
	seep_json_u64(json, "walks", verify->walks);
	seep_json_u64(json, "landed", verify->landed);
	seep_json_u64(json, "truncated", verify->truncated);
	seep_json_u64(json, "differences", verify->differences);
	seep_json_close(json);
}

static void write_totals(struct seep_json *json, const struct seep_profile_totals *totals)
{
	seep_json_open_object(json, "totals");
	seep_json_u64(json, "allocs", totals->allocs);
	seep_json_u64(json, "alloc_bytes", totals->alloc_bytes);
	seep_json_u64(json, "frees", totals->frees);
	seep_json_u64(json, "freed_bytes", totals->freed_bytes);
	seep_json_u64(json, "live_blocks", totals->live_blocks);
	seep_json_u64(json, "live_bytes", totals->live_bytes);
	seep_json_u64(json, "usable_bytes", totals->usable_bytes);
	seep_json_u64(json, "peak_bytes", totals->peak_bytes);
	known_u64(json, "peak_at_ns", totals->peak_at_ns);
	seep_json_bool(json, "peak_exact", totals->peak_exact);
	seep_json_u64(json, "peak_error_bytes", totals->peak_error_bytes);
	seep_json_u64(json, "temporary", totals->temporary);
	seep_json_u64(json, "temporary_bytes", totals->temporary_bytes);
	seep_json_u64(json, "threads", totals->threads);
	seep_json_u64(json, "untracked_frees", totals->untracked_frees);
	seep_json_u64(json, "missed_frees", totals->missed_frees);
	seep_json_u64(json, "inherited_frees", totals->inherited_frees);
	seep_json_u64(json, "inherited_freed_bytes", totals->inherited_freed_bytes);
	seep_json_u64(json, "dropped", totals->dropped);
	seep_json_u64(json, "in_doubt", totals->in_doubt);
	seep_json_u64(json, "abandoned", totals->abandoned);
	seep_json_u64(json, "early_allocs", totals->early_allocs);
	seep_json_u64(json, "unrecorded_children", totals->unrecorded_children);
	seep_json_u64(json, "own_bytes", totals->own_bytes);
	seep_json_u64(json, "walks", totals->walks);
	seep_json_u64(json, "walks_landed", totals->walks_landed);
	seep_json_u64(json, "walks_truncated", totals->walks_truncated);
	write_histogram(json, totals);
	write_verify(json, &totals->verify);
	seep_json_close(json);
}

static void write_sums(struct seep_json *json, const struct seep_profile_forked *sums)
{
	seep_json_u64(json, "processes", sums->processes);
	seep_json_u64(json, "allocs", sums->allocs);
	seep_json_u64(json, "alloc_bytes", sums->alloc_bytes);
	seep_json_u64(json, "frees", sums->frees);
	seep_json_u64(json, "freed_bytes", sums->freed_bytes);
	seep_json_u64(json, "live_bytes", sums->live_bytes);
}

static void write_forked(struct seep_json *json, const struct seep_profile_forked *forked)
{
	seep_json_open_object(json, "forked");
	write_sums(json, forked);
	seep_json_close(json);
}

static void write_other(struct seep_json *json, const struct seep_profile_other *other)
{
	seep_json_open_object(json, NULL);
	seep_json_int(json, "pid", other->pid);
	seep_json_int(json, "ppid", other->ppid);
	seep_json_text(json, "exe", other->exe);
	seep_json_text(json, "recording", other->file);
	seep_json_u64(json, "start_ns", other->start_ns);
	seep_json_u64(json, "end_ns", other->end_ns);
	seep_json_u64(json, "allocs", other->allocs);
	seep_json_u64(json, "alloc_bytes", other->alloc_bytes);
	seep_json_u64(json, "frees", other->frees);
	seep_json_u64(json, "freed_bytes", other->freed_bytes);
	seep_json_u64(json, "live_bytes", other->live_bytes);
	seep_json_u64(json, "peak_bytes", other->peak_bytes);
	seep_json_close(json);
}

static void write_run(struct seep_json *json, const struct seep_profile *profile)
{
	if (profile->run.sums.processes == 0) {
		seep_json_null(json, "run");
		return;
	}
	seep_json_open_object(json, "run");
	write_sums(json, &profile->run.sums);
	seep_json_u64(json, "peaks_bytes", profile->run.peaks_bytes);
	seep_json_u64(json, "peaks_at_once_bytes", profile->run.peaks_at_once_bytes);
	seep_json_open_array(json, "others");
	for (uint32_t i = 0; i < profile->other_count; i++)
		write_other(json, &profile->others[i]);
	seep_json_close(json);
	seep_json_close(json);
}

/* Returns how many contexts were left out. */
static uint32_t write_contexts(struct seep_json *json, const struct seep_profile *profile,
			       enum seep_measure measure, uint32_t top)
{
	const uint32_t count = profile->context_count;
	uint32_t *order = seep_xcalloc(count, sizeof(*order));
	const uint32_t shown = seep_rank_contexts(profile, measure, top > 0 ? top : count, order);
	struct seep_json_frames frames;

	seep_json_frames_init(&frames, profile);
	seep_json_open_array(json, "contexts");
	for (uint32_t i = 0; i < shown; i++)
		seep_json_context(json, &frames, &profile->contexts[order[i]]);
	seep_json_close(json);
	seep_json_frames_done(&frames);
	free(order);
	return count - shown;
}

/* Members whose content other commands add; they are there so that readers need not ask. */
static void write_empty(struct seep_json *json)
{
	seep_json_open_array(json, "leaks");
	seep_json_close(json);
	seep_json_null(json, "scan");
	seep_json_open_array(json, "findings");
	seep_json_close(json);
	seep_json_open_array(json, "scopes");
	seep_json_close(json);
}

static void write_marks(struct seep_json *json, const struct seep_profile *profile)
{
	seep_json_open_array(json, "marks");
	for (uint32_t i = 0; i < profile->mark_count; i++) {
		const struct seep_profile_mark *mark = &profile->marks[i];

		seep_json_open_object(json, NULL);
		seep_json_text(json, "name", mark->name);
		seep_json_int(json, "epoch", mark->epoch);
		seep_json_u64(json, "at_ns", mark->at_ns);
		seep_json_bool(json, "exact", mark->exact);
		seep_json_close(json);
	}
	seep_json_close(json);
}

static void write_timeline(struct seep_json *json, const struct seep_profile *profile)
{
	seep_json_open_array(json, "timeline");
	for (uint32_t i = 0; i < profile->sample_count; i++) {
		const struct seep_profile_sample *sample = &profile->timeline[i];

		seep_json_open_object(json, NULL);
		seep_json_u64(json, "at_ns", sample->at_ns);
		seep_json_u64(json, "live_bytes", sample->live_bytes);
		seep_json_u64(json, "rss_bytes", sample->rss_bytes);
		seep_json_u64(json, "allocs", sample->allocs);
		seep_json_u64(json, "frees", sample->frees);
		seep_json_close(json);
	}
	seep_json_close(json);
}

static void write_unseen_line(struct seep_json *json, const char *code, const char *detail)
{
	seep_json_open_object(json, NULL);
	seep_json_text(json, "code", code);
	seep_json_text(json, "detail", detail);
	seep_json_close(json);
}

static void write_unseen(struct seep_json *json, const struct seep_profile *profile,
			 uint32_t omitted, const char *shown)
{
	seep_json_open_array(json, "unseen");
	for (uint32_t i = 0; i < profile->unseen_count; i++)
		write_unseen_line(json, profile->unseen[i].code, profile->unseen[i].detail);
	if (omitted > 0) {
		char *detail = seep_xasprintf("%u smaller contexts were left out on request%s%s",
					      omitted, shown ? ", and all but " : "",
					      shown ? shown : "");

		write_unseen_line(json, "contexts-left-out", detail);
		free(detail);
	}
	if (omitted == 0 && profile->left_out_count > 0) {
		char *detail = seep_xasprintf("%u contexts were left out on request: only %s",
					      profile->left_out_count, shown ? shown : "some");

		write_unseen_line(json, "contexts-left-out", detail);
		free(detail);
	}
	seep_json_close(json);
}

void seep_report_json(FILE *out, const struct seep_profile *profile,
		      const struct seep_view_options *options, bool strings)
{
	struct seep_json *json = seep_xmalloc(sizeof(*json));
	uint32_t omitted;

	seep_json_init(json, out, strings);
	seep_json_open_document(json);
	write_process(json, &profile->process);
	write_totals(json, &profile->totals);
	write_forked(json, &profile->forked);
	write_run(json, profile);
	omitted = write_contexts(json, profile,
				 options->by < 0 ? SEEP_BY_LIVE : (enum seep_measure)options->by,
				 options->top);
	write_empty(json);
	write_marks(json, profile);
	write_timeline(json, profile);
	write_unseen(json, profile, omitted, options->shown);
	seep_json_close(json);
	seep_json_finish(json);
	free(json);
}
