/* SPDX-License-Identifier: MIT */
/* A diff as JSON, in the order of docs/json.md. */
#include "report/json_diff.h"

#include "base/xalloc.h"
#include "profile/kind_name.h"
#include "report/json_contexts.h"

enum { BEFORE, AFTER };

static void write_profile(struct seep_json *json, const char *key, const char *name,
			  const struct seep_profile *profile)
{
	if (!seep_json_open_known(json, key, profile))
		return;
	seep_json_text(json, "name", name);
	seep_json_process_id(json, "pid", profile, profile->process.pid);
	seep_json_text(json, "exe", profile->process.exe);
	seep_json_known(json, "start_realtime_ns", profile->process.start_realtime_ns);
	seep_json_text(json, "ended", seep_profile_ended_name(profile->process.ended));
	seep_json_text(json, "not_scanned", seep_profile_not_scanned(profile));
	seep_json_close(json);
}

/* Of what is held or lost only what lives is known. */
static void write_counts(struct seep_json *json, const char *key, const struct seep_counts *counts,
			 bool live_only)
{
	uint64_t errors[SEEP_FIGURE_COUNT];

	seep_json_open_object(json, key);
	for (int i = 0; i < SEEP_FIGURE_COUNT; i++)
		if (!live_only || i == SEEP_FIGURE_live_blocks || i == SEEP_FIGURE_live_bytes)
			seep_json_u64(json, seep_figure_names[i], (uint64_t)counts->figures[i]);
	for (int i = 0; i < SEEP_FIGURE_COUNT; i++)
		errors[i] = seep_counts_figure_error(counts, i);
	seep_json_estimate(json, errors);
	seep_json_close(json);
}

static void write_sides(struct seep_json *json, const struct seep_counts counts[2], bool held,
			bool lost)
{
	if (held)
		seep_json_null(json, "before");
	else
		write_counts(json, "before", &counts[BEFORE], lost);
	write_counts(json, "after", &counts[AFTER], held || lost);
}

static void write_held(struct seep_json *json, const struct seep_diff *diff,
		       const struct seep_diff_row *row, bool listed)
{
	for (uint32_t i = 0; seep_json_each_object(json, "rounds", i, diff->round_count); i++) {
		seep_json_u64(json, "blocks", row->rounds[i].blocks);
		seep_json_u64(json, "bytes", row->rounds[i].bytes);
	}
	if (!listed)
		return;
	for (uint32_t i = 0; seep_json_each_object(json, "block_list", i, row->block_count); i++) {
		seep_json_u64(json, "address", row->blocks[i].address);
		seep_json_u64(json, "size", row->blocks[i].size);
	}
}

static int side_of(const struct seep_diff_row *row)
{
	return row->context[AFTER] ? AFTER : BEFORE;
}

static void write_row(struct seep_json *json, const struct seep_diff_view *view,
		      const struct seep_diff *diff, const struct seep_diff_row *row,
		      const struct seep_json_shown *shown)
{
	const int at = side_of(row);

	seep_json_text(json, "verdict", seep_diff_verdict_names[row->verdict]);
	seep_json_context_name(json, &shown[at],
			       &diff->profiles[at]->contexts[row->context[at] - 1]);
	if (seep_diff_is_within_error(diff, row->counts))
		seep_json_bool(json, "within_error", true);
	write_sides(json, row->counts, row->verdict == SEEP_DIFF_HELD, diff != view->diff);
	if (row->verdict == SEEP_DIFF_HELD)
		write_held(json, view->diff, row, view->listed);
}

uint32_t seep_json_diff_rows(const struct seep_diff_view *view, const struct seep_diff *diff)
{
	return view->top && view->top < diff->count ? view->top : diff->count;
}

void seep_json_diff_shown_init(struct seep_json_shown shown[2], const struct seep_diff_view *view)
{
	const struct seep_diff *diff = view->diff;
	uint32_t *contexts[2] = { NULL, NULL };
	size_t counts[2] = { 0, 0 };

	for (const struct seep_diff *of = diff; of; of = of->leaks)
		for (uint32_t i = 0; i < seep_json_diff_rows(view, of); i++) {
			const int at = side_of(&of->rows[i]);

			*SEEP_APPEND(contexts[at], counts[at]) = of->rows[i].context[at] - 1;
		}
	for (int at = BEFORE; at <= AFTER; at++)
		seep_json_shown_take(
			&shown[at], diff->profiles[at] ? diff->profiles[at] : diff->profiles[AFTER],
			contexts[at], (uint32_t)counts[at], false);
	if (diff->profiles[BEFORE])
		seep_json_shown_behind(&shown[AFTER], &shown[BEFORE]);
}

static void write_changes(struct seep_json *json, const struct seep_diff_view *view,
			  const struct seep_diff *diff, const struct seep_json_shown shown[2])
{
	const uint32_t count = seep_json_diff_rows(view, diff);

	for (uint32_t i = 0; seep_json_each_object(json, "changes", i, count); i++)
		write_row(json, view, diff, &diff->rows[i], shown);
}

static void write_leaks(struct seep_json *json, const struct seep_diff_view *view,
			const struct seep_json_shown shown[2])
{
	const struct seep_diff *leaks = view->diff->leaks;

	if (!seep_json_open_known(json, "leaks", leaks))
		return;
	seep_json_int(json, "same", leaks->same_count);
	write_changes(json, view, leaks, shown);
	seep_json_int(json, "left_out", leaks->count - seep_json_diff_rows(view, leaks));
	seep_json_close(json);
}

void seep_json_diff(struct seep_json *json, const char *key, const struct seep_diff_view *view,
		    const struct seep_json_shown shown[2])
{
	const struct seep_diff *diff = view->diff;
	const int first = diff->profiles[BEFORE] ? BEFORE : AFTER;

	seep_json_open_document(json, key);
	write_profile(json, "before", view->names[BEFORE], diff->profiles[BEFORE]);
	write_profile(json, "after", view->names[AFTER], diff->profiles[AFTER]);
	seep_json_within(json, diff->profiles[AFTER]->within);
	seep_json_mark(json, "from", view->from);
	seep_json_mark(json, "until", view->until);
	seep_json_int(json, "round_count", diff->round_count);
	seep_json_text(json, "measure", seep_measure_names[diff->measure]);
	seep_json_open_object(json, "totals");
	write_sides(json, diff->counts, !diff->profiles[BEFORE], false);
	seep_json_close(json);
	seep_json_frames(json, &shown[first], AFTER + 1 - first);
	write_changes(json, view, diff, shown);
	write_leaks(json, view, shown);
	seep_json_open_object(json, "left_out");
	seep_json_int(json, "changes", diff->count - seep_json_diff_rows(view, diff));
	seep_json_int(json, "partial", diff->partial_count);
	seep_json_u64(json, "partial_bytes", (uint64_t)diff->partial.live_bytes);
	seep_json_u64(json, "undated_blocks", diff->undated_blocks);
	seep_json_close(json);
	seep_json_open_array(json, "unseen");
	for (int at = BEFORE; at <= AFTER; at++)
		if (diff->profiles[at])
			seep_json_unseen(json, diff->profiles[at],
					 at == BEFORE ? "before" : "after");
	seep_json_close(json);
	seep_json_close(json);
}

void seep_report_diff_json(FILE *out, const struct seep_diff_view *view, bool strings)
{
	struct seep_json *json = seep_json_new(out, strings);
	struct seep_json_shown shown[2];

	seep_json_diff_shown_init(shown, view);
	seep_json_diff(json, NULL, view, shown);
	seep_json_finish(json);
	seep_json_shown_done(&shown[BEFORE]);
	seep_json_shown_done(&shown[AFTER]);
}
