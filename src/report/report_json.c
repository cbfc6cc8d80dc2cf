/* SPDX-License-Identifier: MIT */
/*
 * The JSON document: one function per top-level member, in the order of docs/json.md. Its schema is
 * docs/json-schema.json; whoever adds a key here adds it there.
 */
#include "report/report_json.h"

#include <string.h>

#include "base/xalloc.h"
#include "profile/finding_name.h"
#include "profile/kind_name.h"
#include "profile/total_fields.h"
#include "profile/verdict.h"
#include "report/json_contexts.h"
#include "report/json_scopes.h"
#include "report/report.h"
#include "view/finding_text.h"

static void write_status(struct seep_json *json, const struct seep_profile_process *process)
{
	const bool exited = process->ended == SEEP_ENDED_EXIT;

	if (!seep_json_open_known(json, "status",
				  process->has_status &&
					  (exited || process->ended == SEEP_ENDED_SIGNAL)))
		return;
	if (exited)
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

static void write_process(struct seep_json *json, const struct seep_profile *profile)
{
	const struct seep_profile_process *process = &profile->process;
	const bool imported = seep_profile_says(profile, SEEP_UNSEEN_IMPORTED);

	seep_json_open_object(json, "process");
	seep_json_process_id(json, "pid", profile, process->pid);
	seep_json_process_id(json, "ppid", profile, process->ppid);
	seep_json_process_id(json, "uid", profile, process->uid);
	seep_json_text(json, "exe", process->exe);
	seep_json_text(json, "cwd", process->cwd);
	write_argv(json, process->argv);
	seep_json_text(json, "allocator", process->allocator);
	seep_json_text(json, "options", process->options);
	seep_json_text(json, "mode", imported ? "unknown" : seep_profile_mode_name(process->mode));
	seep_json_text(json, "tier", seep_profile_tier_name(process->tiers));
	seep_json_known(json, "sample_bytes", process->sample_bytes);
	seep_json_known(json, "estimates_since_ns", process->estimates_since_ns);
	seep_json_text(json, "origin", seep_profile_origin_name(process->origin));
	seep_json_known(json, "ran_before_ns", process->ran_before_ns);
	seep_json_u64(json, "start_ns", process->start_ns);
	seep_json_known(json, "start_realtime_ns", process->start_realtime_ns);
	seep_json_known(json, "end_ns", process->end_ns);
	seep_json_text(json, "ended", seep_profile_ended_name(process->ended));
	write_status(json, process);
	seep_json_bool(json, "core_dumped", process->core_dumped);
	seep_json_known(json, "peak_rss_bytes", process->peak_rss_bytes);
	seep_json_known(json, "growth_after_ns", profile->growth_after_ns);
	for (uint32_t i = 0; seep_json_each(json, "children", i, process->child_count); i++)
		seep_json_int(json, NULL, process->children[i]);
	seep_json_close(json);
}

/* Bucket i holds the requests of 2^(i-1) to 2^i - 1 bytes, the last one everything above too. */
static void write_histogram(struct seep_json *json, const struct seep_profile_totals *totals)
{
	unsigned count = SEEP_PROFILE_HISTOGRAM_BUCKETS;

	while (count > 0 && totals->histogram[count - 1] == 0)
		count--;
	for (unsigned i = 0; seep_json_each_object(json, "size_histogram", i, count); i++) {
		const bool last = i == SEEP_PROFILE_HISTOGRAM_BUCKETS - 1;

		seep_json_u64(json, "upto_bytes", last ? UINT64_MAX : (UINT64_C(1) << i) - 1);
		seep_json_u64(json, "allocs", totals->histogram[i]);
	}
}

static void write_verify(struct seep_json *json, const struct seep_profile_verify *verify)
{
	if (!seep_json_open_known(json, "verify", verify->asked))
		return;
	seep_json_u64(json, "walks", verify->walks);
	seep_json_u64(json, "landed", verify->landed);
	seep_json_u64(json, "truncated", verify->truncated);
	seep_json_u64(json, "differences", verify->differences);
	seep_json_close(json);
}

static void write_totals(struct seep_json *json, const struct seep_profile *profile)
{
	const struct seep_profile_totals *totals = &profile->totals;

	seep_json_open_object(json, "totals");
	for (size_t i = 0; i < seep_total_field_count; i++) {
		const struct seep_total_field *field = &seep_total_fields[i];
		const uint64_t value = seep_total_get(totals, field);

		if (strncmp(field->name, "verify_", strlen("verify_")) == 0)
			continue;
		if (!seep_profile_knows(profile, field->name))
			seep_json_null(json, field->name);
		else if (field->is_flag)
			seep_json_bool(json, field->name, value);
		else if (strcmp(field->name, "peak_at_ns") == 0)
			seep_json_known(json, field->name, value);
		else
			seep_json_u64(json, field->name, value);
	}
	seep_json_estimate(json, totals->errors);
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
	seep_json_u64(json, "inherited_frees", forked->inherited_frees);
	seep_json_u64(json, "inherited_freed_bytes", forked->inherited_freed_bytes);
	seep_json_close(json);
}

static void write_other(struct seep_json *json, const struct seep_profile_other *other)
{
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
}

static void write_run(struct seep_json *json, const struct seep_profile *profile)
{
	if (!seep_json_open_known(json, "run", profile->run.sums.processes > 0))
		return;
	write_sums(json, &profile->run.sums);
	seep_json_u64(json, "peaks_bytes", profile->run.peaks_bytes);
	seep_json_u64(json, "peaks_at_once_bytes", profile->run.peaks_at_once_bytes);
	for (uint32_t i = 0; seep_json_each_object(json, "others", i, profile->other_count); i++)
		write_other(json, &profile->others[i]);
	seep_json_close(json);
}

static void write_stacks(struct seep_json *json, const struct seep_json_shown *shown)
{
	seep_json_frames(json, shown, 1);
	if (shown->context_places)
		seep_json_context_columns(json, shown);
	else
		seep_json_contexts(json, shown);
}

static void write_flags(struct seep_json *json, uint32_t flags)
{
	seep_json_open_array(json, "flags");
	if (flags & SEEP_LEAK_STARTUP)
		seep_json_text(json, NULL, "startup");
	if (flags & SEEP_LEAK_REPORTED)
		seep_json_text(json, NULL, "reported");
	seep_json_close(json);
}

static void write_chain(struct seep_json *json, const struct seep_profile_leak *leak)
{
	for (uint32_t i = 0; seep_json_each_object(json, "chain", i, leak->chain_count); i++) {
		seep_json_text(json, "from", leak->chain[i].from);
		seep_json_text(json, "name", leak->chain[i].name);
		seep_json_u64(json, "address", leak->chain[i].address);
		seep_json_u64(json, "offset", leak->chain[i].offset);
	}
}

static void write_blocks(struct seep_json *json, const struct seep_profile_leak *leak)
{
	const uint32_t count = leak->block_list_count;

	for (uint32_t i = 0; seep_json_each_object(json, "block_list", i, count); i++) {
		const struct seep_profile_leak_block *block = &leak->block_list[i];

		seep_json_u64(json, "address", block->address);
		seep_json_u64(json, "size", block->size);
		seep_json_hex(json, "bytes_hex", block->contents, block->content_bytes);
	}
}

/* Whose blocks these are: null where that is not in the document. */
static void write_origin(struct seep_json *json, const struct seep_json_shown *shown,
			 const struct seep_profile_leak *leak,
			 const struct seep_profile_context *context)
{
	const uint32_t root = leak->root ? shown->leak_places[leak->root - 1] : 0;

	if (leak->hash)
		seep_json_hash(json, "hash", leak->hash);
	else
		seep_json_null(json, "hash");
	if (context && shown->context_places)
		seep_json_known(json, "context", shown->context_places[leak->context - 1]);
	else if (context)
		seep_json_int(json, "context", context->id);
	else
		seep_json_null(json, "context");
	if (root)
		seep_json_int(json, "root", root - INT64_C(1));
	else
		seep_json_null(json, "root");
}

static void write_leak_estimate(struct seep_json *json, const struct seep_profile_leak *leak)
{
	if (!leak->blocks_error && !leak->bytes_error)
		return;
	seep_json_open_object(json, "estimate");
	seep_json_u64(json, "blocks", leak->blocks_error);
	seep_json_u64(json, "bytes", leak->bytes_error);
	seep_json_close(json);
}

static void write_leak(struct seep_json *json, const struct seep_json_shown *shown,
		       const struct seep_profile_leak *leak)
{
	const struct seep_profile_context *context = seep_profile_context_at(shown->profile,
									     leak->context);

	seep_json_text(json, "verdict", seep_verdict_name(leak->verdict));
	write_flags(json, leak->flags);
	write_origin(json, shown, leak, context);
	seep_json_u64(json, "blocks", leak->blocks);
	seep_json_u64(json, "bytes", leak->bytes);
	seep_json_u64(json, "with_blocks", leak->with_blocks);
	seep_json_u64(json, "with_bytes", leak->with_bytes);
	write_leak_estimate(json, leak);
	seep_json_text(json, "rule", leak->rule);
	seep_json_text(json, "evidence", leak->evidence);
	seep_json_text(json, "suppressed_by", leak->suppressed_by);
	write_chain(json, leak);
	write_blocks(json, leak);
	/* Contexts in columns have it, too. */
	if (!context || !shown->context_places || !shown->context_places[leak->context - 1])
		seep_json_stack(json, shown, context);
}

static void write_skipped(struct seep_json *json, const struct seep_profile_scan *scan)
{
	for (uint32_t i = 0; seep_json_each_object(json, "skipped", i, scan->skipped_count); i++) {
		seep_json_u64(json, "from", scan->skipped[i].from);
		seep_json_u64(json, "to", scan->skipped[i].to);
		seep_json_text(json, "reason", scan->skipped[i].reason);
	}
}

static void write_suppressions(struct seep_json *json, const struct seep_profile_scan *scan)
{
	const uint32_t count = scan->suppression_count;

	for (uint32_t i = 0; seep_json_each_object(json, "suppressions", i, count); i++) {
		const struct seep_profile_suppression *suppression = &scan->suppressions[i];

		seep_json_text(json, "text", suppression->text);
		seep_json_text(json, "file", suppression->file);
		seep_json_u64(json, "leaks", suppression->leaks);
		seep_json_u64(json, "blocks", suppression->blocks);
		seep_json_u64(json, "bytes", suppression->bytes);
	}
}

static void write_scan(struct seep_json *json, const struct seep_profile_scan *scan)
{
	if (!seep_json_open_known(json, "scan", scan->done || scan->why_not))
		return;
	seep_json_text(json, "method", scan->done ? scan->method : NULL);
	seep_json_text(json, "why_not", scan->done ? NULL : scan->why_not);
	seep_json_u64(json, "at_ns", scan->at_ns);
	seep_json_u64(json, "pause_ns", scan->pause_ns);
	seep_json_u64(json, "mark_ns", scan->mark_ns);
	seep_json_u64(json, "marked_bytes", scan->marked_bytes);
	seep_json_u64(json, "blocks", scan->blocks);
	write_skipped(json, scan);
	for (uint32_t i = 0; seep_json_each(json, "caveats", i, scan->caveat_count); i++)
		seep_json_text(json, NULL, scan->caveats[i]);
	write_suppressions(json, scan);
	seep_json_close(json);
}

static void write_leaks(struct seep_json *json, const struct seep_json_shown *shown)
{
	const struct seep_profile *profile = shown->profile;

	for (uint32_t i = 0; seep_json_each_object(json, "leaks", i, shown->leak_count); i++)
		write_leak(json, shown, &profile->leaks[shown->leaks[i]]);
	write_scan(json, &profile->scan);
}

/* What was meant, and what was done: functions, or numbers. */
static void write_mismatch(struct seep_json *json, const struct seep_profile_finding *finding)
{
	const bool is_number = finding->kind == LEDGER_FINDING_SIZE_MISMATCH ||
			       finding->kind == LEDGER_FINDING_ALIGN_MISMATCH;
	const bool is_name = finding->kind == LEDGER_FINDING_MISMATCHED_FREE;

	if (is_number) {
		seep_json_u64(json, "expected", finding->expected);
		seep_json_u64(json, "actual", finding->actual);
		return;
	}
	seep_json_text(json, "expected", is_name ? seep_finding_meant_name(finding->family) : NULL);
	seep_json_text(json, "actual",
		       is_name ? seep_finding_freeing_name(finding->freeing) : NULL);
}

static void write_finding_block(struct seep_json *json, const struct seep_profile_finding *finding)
{
	int64_t distance;

	if (seep_finding_distance(finding, &distance))
		seep_json_int(json, "distance", distance);
	else
		seep_json_null(json, "distance");
	if (!seep_json_open_known(json, "block", finding->block || finding->block_bytes))
		return;
	seep_json_u64(json, "size", finding->block_bytes);
	seep_json_int(json, "offset", finding->offset);
	seep_json_close(json);
}

void seep_json_finding(struct seep_json *json, const struct seep_json_shown *shown,
		       const struct seep_profile_finding *finding)
{
	const struct seep_profile *profile = shown->profile;
	SEEP_FREED char *text = seep_finding_text(profile, finding);

	seep_json_text(json, "kind", seep_finding_kind_name(finding->kind));
	seep_json_text(json, "text", text);
	seep_json_text(json, "freeing", seep_finding_freeing_name(finding->freeing));
	seep_json_hash(json, "hash", finding->hash);
	seep_json_u64(json, "count", finding->count);
	seep_json_text(json, "thread", finding->thread);
	seep_json_int(json, "tid", finding->tid);
	seep_json_u64(json, "at_ns", finding->at_ns);
	seep_json_u64(json, "pointer", finding->pointer);
	write_mismatch(json, finding);
	write_finding_block(json, finding);
	seep_json_text(json, "suppressed_by", finding->suppressed_by);
	seep_json_frame_list(json, "alloc_frames", shown,
			     seep_profile_context_at(profile, finding->block));
	if (finding->freed)
		seep_json_frame_list(json, "free_frames", shown,
				     seep_profile_context_at(profile, finding->freed));
	else
		seep_json_null(json, "free_frames");
	seep_json_frame_list(json, "here_frames", shown,
			     seep_profile_context_at(profile, finding->here));
}

static void write_findings(struct seep_json *json, const struct seep_json_shown *shown)
{
	const struct seep_profile *profile = shown->profile;

	for (uint32_t i = 0; seep_json_each_object(json, "findings", i, profile->finding_count);
	     i++)
		seep_json_finding(json, shown, &profile->findings[i]);
}

static void write_timeline(struct seep_json *json, const struct seep_profile *profile)
{
	for (uint32_t i = 0; seep_json_each_object(json, "timeline", i, profile->sample_count);
	     i++) {
		const struct seep_profile_sample *sample = &profile->timeline[i];

		seep_json_u64(json, "at_ns", sample->at_ns);
		seep_json_u64(json, "live_bytes", sample->live_bytes);
		seep_json_u64(json, "rss_bytes", sample->rss_bytes);
		seep_json_u64(json, "allocs", sample->allocs);
		seep_json_u64(json, "frees", sample->frees);
	}
}

static void write_unseen(struct seep_json *json, const struct seep_profile *profile,
			 uint32_t omitted, const char *shown)
{
	seep_json_open_array(json, "unseen");
	seep_json_unseen(json, profile, NULL);
	for (uint32_t i = 0; i < profile->left_out_count; i++)
		omitted += profile->contexts[profile->context_count + i].allocs > 0;
	if (omitted > 0) {
		SEEP_FREED char *detail = seep_xasprintf("%u contexts were left out on request%s%s",
							 omitted, shown ? ": only " : "",
							 shown ? shown : "");

		seep_json_unseen_line(json, "contexts-left-out", detail, NULL);
	}
	seep_json_close(json);
}

void seep_json_profile(struct seep_json *json, const char *key, const struct seep_json_shown *shown,
		       const struct seep_sites *sites, const struct seep_view_options *options)
{
	const struct seep_profile *profile = shown->profile;

	seep_json_open_document(json, key);
	seep_json_lead(json, sites, options);
	seep_json_within(json, profile->within);
	write_process(json, profile);
	write_totals(json, profile);
	write_forked(json, &profile->forked);
	write_run(json, profile);
	write_stacks(json, shown);
	write_leaks(json, shown);
	write_findings(json, shown);
	seep_json_scopes(json, shown);
	for (uint32_t i = 0; seep_json_each(json, "marks", i, profile->mark_count); i++)
		seep_json_mark(json, NULL, &profile->marks[i]);
	write_timeline(json, profile);
	write_unseen(json, profile, profile->context_count - shown->context_count, options->shown);
	seep_json_close(json);
}

void seep_report_json(FILE *out, const struct seep_profile *profile,
		      const struct seep_view_options *options, bool strings)
{
	SEEP_RELEASED(seep_sites_free_at) struct seep_sites *sites = seep_sites_new(profile);
	struct seep_json *json = seep_json_new(out, strings);
	SEEP_RELEASED(seep_json_shown_done) struct seep_json_shown shown;

	seep_json_shown_init(&shown, profile, options);
	seep_json_profile(json, NULL, &shown, sites, options);
	seep_json_finish(json);
}

void seep_report_heap_json(FILE *out, const struct seep_profile *profile,
			   const struct seep_heap_counts *counts, bool strings)
{
	struct seep_json *json = seep_json_new(out, strings);
	SEEP_RELEASED(seep_json_shown_done) struct seep_json_shown shown;

	seep_json_shown_take(&shown, profile, NULL, 0, true);
	seep_json_open_document(json, NULL);
	write_process(json, profile);
	seep_json_u64(json, "live_blocks", counts->live_blocks);
	seep_json_u64(json, "waiting_blocks", counts->waiting_blocks);
	seep_json_u64(json, "look_ns", counts->look_ns);
	seep_json_frames(json, &shown, 1);
	write_findings(json, &shown);
	seep_json_finish(json);
}
