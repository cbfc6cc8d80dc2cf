/* SPDX-License-Identifier: MIT */
#include "report/json_parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/growth_text.h"
#include "analysis/rank.h"
#include "base/search.h"
#include "base/xalloc.h"
#include "profile/verdict.h"
#include "view/view_head.h"

/* Those of contexts that were left out are left out too. */
static void choose_leaks(struct seep_json_shown *shown, uint32_t kinds)
{
	const struct seep_profile *profile = shown->profile;

	shown->leaks = seep_xcalloc(profile->leak_count, sizeof(uint32_t));
	shown->leak_places = seep_xcalloc(profile->leak_count, sizeof(uint32_t));
	for (uint32_t i = 0; i < profile->leak_count; i++) {
		const unsigned verdict = profile->leaks[i].verdict;

		/* What a newer seep wrote is always shown. */
		if ((verdict < SEEP_VERDICT_COUNT && !(kinds >> verdict & 1)) ||
		    profile->leaks[i].context > profile->context_count)
			continue;
		shown->leaks[shown->leak_count++] = i;
		shown->leak_places[i] = shown->leak_count;
	}
}

/* @place: index + 1; 0: none. */
static void count_uses(const struct seep_profile *profile, struct seep_ranked *uses, uint32_t place)
{
	const struct seep_profile_context *context = seep_profile_context_at(profile, place);

	for (uint32_t i = 0; context && i < context->stack_count; i++)
		uses[context->stack[i].frame].value++;
}

static void choose_frames(struct seep_json_shown *shown)
{
	const struct seep_profile *profile = shown->profile;
	SEEP_FREED struct seep_ranked *uses = seep_xcalloc(profile->frame_count, sizeof(*uses));

	shown->frames = seep_xcalloc(profile->frame_count, sizeof(uint32_t));
	shown->frame_places = seep_xcalloc(profile->frame_count, sizeof(uint32_t));
	for (uint32_t i = 0; i < profile->frame_count; i++)
		uses[i].index = i;
	for (uint32_t i = 0; i < shown->context_count; i++)
		count_uses(profile, uses, shown->contexts[i] + 1);
	for (uint32_t i = 0; i < shown->leak_count; i++)
		count_uses(profile, uses, profile->leaks[shown->leaks[i]].context);
	for (uint32_t i = 0; i < profile->finding_count && shown->has_findings; i++) {
		count_uses(profile, uses, profile->findings[i].block);
		count_uses(profile, uses, profile->findings[i].freed);
		count_uses(profile, uses, profile->findings[i].here);
	}
	seep_rank_top(uses, profile->frame_count, profile->frame_count);
	for (uint32_t i = 0; i < profile->frame_count && uses[i].value > 0; i++) {
		shown->frame_places[uses[i].index] = shown->frame_count;
		shown->frames[shown->frame_count++] = uses[i].index;
	}
}

void seep_json_shown_init(struct seep_json_shown *shown, const struct seep_profile *profile,
			  const struct seep_view_options *options)
{
	/* Leaks and growth have an order of their own. */
	const enum seep_measure by = options->by < 0 || options->by >= SEEP_MEASURE_COUNT
					     ? SEEP_BY_LIVE
					     : (enum seep_measure)options->by;
	const uint32_t count = profile->context_count;

	*shown = (struct seep_json_shown){
		.profile = profile,
		.contexts = seep_xcalloc(count, sizeof(uint32_t)),
		.has_findings = true,
	};
	shown->context_count = seep_rank_contexts(profile, by, options->top ? options->top : count,
						  shown->contexts);
	choose_leaks(shown, options->leak_kinds
				    ? options->leak_kinds
				    : SEEP_VERDICTS_ALL & ~(1u << SEEP_VERDICT_REACHABLE));
	choose_frames(shown);
}

void seep_json_shown_take(struct seep_json_shown *shown, const struct seep_profile *profile,
			  uint32_t *contexts, uint32_t count, bool findings)
{
	*shown = (struct seep_json_shown){
		.profile = profile,
		.contexts = contexts,
		.context_count = count,
		.has_findings = findings,
	};
	choose_frames(shown);
}

void seep_json_shown_behind(struct seep_json_shown *shown, const struct seep_json_shown *before)
{
	shown->frames_before = before->frames_before + before->frame_count;
	shown->modules_before = before->modules_before + before->profile->module_count;
}

/* By the places of the frames in the document, outermost first; then as they were. */
static int compare_stacks(const void *a, const void *b, void *data)
{
	const struct seep_json_shown *shown = data;
	const uint32_t indexes[2] = { *(const uint32_t *)a, *(const uint32_t *)b };
	const struct seep_profile_context *x = &shown->profile->contexts[indexes[0]];
	const struct seep_profile_context *y = &shown->profile->contexts[indexes[1]];
	uint32_t i = x->stack_count, j = y->stack_count;
	int order = 0;

	while (!order && i > 0 && j > 0)
		order = seep_search_order(shown->frame_places[x->stack[--i].frame],
					  shown->frame_places[y->stack[--j].frame]);
	return order ?: seep_search_order(i, j) ?: seep_search_order(indexes[0], indexes[1]);
}

/* The next one, if it has no place yet. */
static void take_frame(struct seep_json_shown *shown, uint32_t frame, bool *seen, uint32_t *count)
{
	if (seen[frame])
		return;
	seen[frame] = true;
	shown->frame_places[frame] = *count;
	shown->frames[(*count)++] = frame;
}

/* Those of leaks and findings are their contexts', but for contexts that are not shown. */
static void order_frames(struct seep_json_shown *shown)
{
	SEEP_FREED bool *seen = seep_xcalloc(shown->profile->frame_count, sizeof(*seen));
	uint32_t count = 0;
	SEEP_FREED uint32_t *old = shown->frames;

	shown->frames = seep_xcalloc(shown->frame_count, sizeof(uint32_t));
	for (uint32_t i = 0; i < shown->context_count; i++) {
		const struct seep_profile_context *context =
			&shown->profile->contexts[shown->contexts[i]];

		for (uint32_t at = context->stack_count; at-- > 0;)
			take_frame(shown, context->stack[at].frame, seen, &count);
	}
	for (uint32_t i = 0; i < shown->frame_count; i++)
		take_frame(shown, old[i], seen, &count);
}

void seep_json_shown_sort(struct seep_json_shown *shown)
{
	qsort_r(shown->contexts, shown->context_count, sizeof(uint32_t), compare_stacks, shown);
	shown->context_places = seep_xcalloc(shown->profile->context_count, sizeof(uint32_t));
	for (uint32_t i = 0; i < shown->context_count; i++)
		shown->context_places[shown->contexts[i]] = i + 1;
	order_frames(shown);
}

void seep_json_shown_done(struct seep_json_shown *shown)
{
	free(shown->context_places);
	free(shown->frame_places);
	free(shown->frames);
	free(shown->leak_places);
	free(shown->leaks);
	free(shown->contexts);
}

void seep_json_lead(struct seep_json *json, const struct seep_sites *sites,
		    const struct seep_view_options *options)
{
	SEEP_RELEASED(seep_view_done) struct seep_view view;

	seep_view_init(&view, sites->profile, sites, options);
	seep_view_add_lead(&view, true);
	seep_json_open_object(json, "lead");
	for (size_t i = 0; seep_json_each(json, "sentences", i, view.head.count); i++)
		seep_json_text(json, NULL, view.head.items[i].text);
	seep_json_text(json, "measure", seep_measure_names[view.measure]);
	seep_json_close(json);
}

void seep_json_within(struct seep_json *json, const struct seep_profile_within *within)
{
	const struct seep_profile_within patterns = within ? *within
							   : (struct seep_profile_within){ 0 };

	for (size_t i = 0; seep_json_each(json, "within", i, patterns.within_count); i++)
		seep_json_text(json, NULL, patterns.within[i]);
	for (size_t i = 0; seep_json_each(json, "without", i, patterns.without_count); i++)
		seep_json_text(json, NULL, patterns.without[i]);
}

void seep_json_mark(struct seep_json *json, const char *key, const struct seep_profile_mark *mark)
{
	if (!seep_json_open_known(json, key, mark))
		return;
	seep_json_text(json, "name", mark->name);
	seep_json_int(json, "epoch", mark->epoch);
	seep_json_u64(json, "at_ns", mark->at_ns);
	seep_json_bool(json, "exact", mark->exact);
	seep_json_close(json);
}

static void write_module(struct seep_json *json, const struct seep_profile_module *module)
{
	seep_json_open_object(json, NULL);
	seep_json_text(json, "path", module->path);
	seep_json_hex(json, "build_id", module->build_id, module->build_id_bytes);
	seep_json_close(json);
}

static void write_frame(struct seep_json *json, const struct seep_json_shown *shown,
			const struct seep_profile_frame *frame)
{
	const struct seep_profile *profile = shown->profile;

	seep_json_open_object(json, NULL);
	seep_json_text(json, "function", frame->function);
	seep_json_text(json, "file", frame->file);
	if (frame->line == 0)
		seep_json_null(json, "line");
	else
		seep_json_int(json, "line", frame->line);
	if (frame->module == 0 || frame->module > profile->module_count) {
		seep_json_null(json, "module");
		seep_json_null(json, "offset");
		seep_json_u64(json, "address", frame->address);
	} else {
		seep_json_int(json, "module", shown->modules_before + frame->module - 1);
		seep_json_u64(json, "offset", frame->address);
		if (!shown->context_places)
			seep_json_u64(json, "address",
				      frame->address + profile->modules[frame->module - 1].bias);
	}
	seep_json_bool(json, "exact", frame->exact);
	seep_json_bool(json, "inlined", frame->inlined);
	seep_json_close(json);
}

void seep_json_frames(struct seep_json *json, const struct seep_json_shown *shown, size_t count)
{
	seep_json_open_array(json, "modules");
	for (size_t i = 0; i < count; i++)
		for (uint32_t k = 0; k < shown[i].profile->module_count; k++)
			write_module(json, &shown[i].profile->modules[k]);
	seep_json_close(json);
	seep_json_open_array(json, "frames");
	for (size_t i = 0; i < count; i++)
		for (uint32_t k = 0; k < shown[i].frame_count; k++)
			write_frame(json, &shown[i], &shown[i].profile->frames[shown[i].frames[k]]);
	seep_json_close(json);
}

void seep_json_unseen_line(struct seep_json *json, const char *code, const char *detail,
			   const char *side)
{
	seep_json_open_object(json, NULL);
	if (side)
		seep_json_text(json, "side", side);
	seep_json_text(json, "code", code);
	seep_json_text(json, "detail", detail);
	seep_json_close(json);
}

void seep_json_unseen(struct seep_json *json, const struct seep_profile *profile, const char *side)
{
	for (uint32_t i = 0; i < profile->unseen_count; i++)
		seep_json_unseen_line(json, profile->unseen[i].code, profile->unseen[i].detail,
				      side);
}

/*
 * It stands for the entry's physical frame, with what is inlined into that, and the period - 1
 * outside of it.
 */
struct seep_json_fold seep_json_fold_at(const struct seep_profile *profile,
					const struct seep_profile_context *context, uint32_t at)
{
	const struct seep_profile_stack_entry *entry = &context->stack[at];
	struct seep_json_fold fold = { at, at, entry->repeats + UINT32_C(1) };
	unsigned physical = 1;

	while (fold.from > 0 && profile->frames[context->stack[fold.from - 1].frame].inlined)
		fold.from--;
	while (physical < entry->period && fold.to + 1 < context->stack_count)
		physical += !profile->frames[context->stack[++fold.to].frame].inlined;
	return fold;
}

static void write_fold(struct seep_json *json, struct seep_json_fold fold)
{
	seep_json_open_object(json, NULL);
	seep_json_int(json, "from", fold.from);
	seep_json_int(json, "to", fold.to);
	seep_json_int(json, "times", fold.times);
	seep_json_bool(json, "or_more", fold.times > SEEP_FOLD_REPEATS_MAX);
	seep_json_close(json);
}

static void write_folds(struct seep_json *json, const struct seep_profile *profile,
			const struct seep_profile_context *context)
{
	bool folded = false;

	for (uint32_t i = 0; i < context->stack_count; i++) {
		if (context->stack[i].period == 0)
			continue;
		if (!folded)
			seep_json_open_array(json, "folded");
		folded = true;
		write_fold(json, seep_json_fold_at(profile, context, i));
	}
	if (folded)
		seep_json_close(json);
}

void seep_json_frame_list(struct seep_json *json, const char *key,
			  const struct seep_json_shown *shown,
			  const struct seep_profile_context *context)
{
	const uint32_t count = context ? context->stack_count : 0;

	for (uint32_t i = 0; seep_json_each(json, key, i, count); i++)
		seep_json_int(json, NULL, seep_json_frame_place(shown, context->stack[i].frame));
}

void seep_json_stack(struct seep_json *json, const struct seep_json_shown *shown,
		     const struct seep_profile_context *context)
{
	seep_json_frame_list(json, "frames", shown, context);
	if (context)
		write_folds(json, shown->profile, context);
}

void seep_json_known(struct seep_json *json, const char *key, uint64_t value)
{
	if (value == 0)
		seep_json_null(json, key);
	else
		seep_json_u64(json, key, value);
}

void seep_json_process_id(struct seep_json *json, const char *key,
			  const struct seep_profile *profile, uint32_t id)
{
	if (seep_profile_says(profile, SEEP_UNSEEN_IMPORTED))
		seep_json_null(json, key);
	else
		seep_json_int(json, key, id);
}

void seep_json_estimate(struct seep_json *json, const uint64_t *errors)
{
	uint64_t any = 0;

	for (int i = 0; errors && i < SEEP_FIGURE_COUNT; i++)
		any |= errors[i];
	if (!any)
		return;
	seep_json_open_object(json, "estimate");
	for (int i = 0; i < SEEP_FIGURE_COUNT; i++)
		if (errors[i])
			seep_json_u64(json, seep_figure_names[i], errors[i]);
	seep_json_close(json);
}

void seep_json_growth(struct seep_json *json, const struct seep_profile_context *context,
		      const struct seep_profile_growth *growth, const char *evidence)
{
	const uint64_t millis = seep_growth_bytes_per_hour(growth) * 5 / 18;
	char number[32];

	seep_json_open_object(json, "growth");
	seep_json_text(json, "verdict",
		       growth->verdict ? seep_growth_verdict_name(growth->verdict) : NULL);
	seep_json_text(json, "confidence", seep_growth_confidence_name(growth->confidence));
	seep_json_u64(json, "bytes", growth->bytes);
	(void)snprintf(number, sizeof(number), "%" PRIu64 ".%03" PRIu64, millis / 1000,
		       millis % 1000);
	seep_json_raw(json, "bytes_per_s", number);
	seep_json_u64(json, "present_bytes_per_hour", growth->present_bytes_per_hour);
	seep_json_known(json, "quiet_ns", growth->quiet_ns);
	(void)snprintf(number, sizeof(number), "%.4f",
		       context->allocs ? (double)context->frees / (double)context->allocs : 0.0);
	seep_json_raw(json, "freed_share", number);
	seep_json_u64(json, "since_ns", growth->since_ns);
	seep_json_u64(json, "until_ns", growth->until_ns);
	seep_json_bool(json, "returned", growth->returned);
	seep_json_u64(json, "stale_blocks", growth->blocks);
	seep_json_u64(json, "freed_late", growth->freed_late);
	seep_json_text(json, "evidence", evidence);
	seep_json_close(json);
}
