/* SPDX-License-Identifier: MIT */
#include "report/json_parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/growth_text.h"
#include "analysis/rank.h"
#include "base/xalloc.h"
#include "profile/verdict.h"

/* repeats of a stack entry that are this many or more */
enum { REPEATS_SATURATED = 65535 };

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

static void count_uses(struct seep_ranked *uses, const struct seep_profile_context *context)
{
	for (uint32_t i = 0; i < context->stack_count; i++)
		uses[context->stack[i].frame].value++;
}

static void choose_frames(struct seep_json_shown *shown)
{
	const struct seep_profile *profile = shown->profile;
	struct seep_ranked *uses = seep_xcalloc(profile->frame_count, sizeof(*uses));

	shown->frames = seep_xcalloc(profile->frame_count, sizeof(uint32_t));
	shown->frame_places = seep_xcalloc(profile->frame_count, sizeof(uint32_t));
	for (uint32_t i = 0; i < profile->frame_count; i++)
		uses[i].index = i;
	for (uint32_t i = 0; i < shown->context_count; i++)
		count_uses(uses, &profile->contexts[shown->contexts[i]]);
	for (uint32_t i = 0; i < shown->leak_count; i++) {
		const uint32_t context = profile->leaks[shown->leaks[i]].context;

		if (context)
			count_uses(uses, &profile->contexts[context - 1]);
	}
	seep_rank_top(uses, profile->frame_count, profile->frame_count);
	for (uint32_t i = 0; i < profile->frame_count && uses[i].value > 0; i++) {
		shown->frame_places[uses[i].index] = shown->frame_count;
		shown->frames[shown->frame_count++] = uses[i].index;
	}
	free(uses);
}

void seep_json_shown_init(struct seep_json_shown *shown, const struct seep_profile *profile,
			  const struct seep_view_options *options)
{
	const enum seep_measure by = options->by < 0 ? SEEP_BY_LIVE
						     : (enum seep_measure)options->by;
	const uint32_t count = profile->context_count;

	*shown = (struct seep_json_shown){
		.profile = profile,
		.contexts = seep_xcalloc(count, sizeof(uint32_t)),
	};
	shown->context_count = seep_rank_contexts(profile, by, options->top ? options->top : count,
						  shown->contexts);
	choose_leaks(shown, options->leak_kinds
				    ? options->leak_kinds
				    : SEEP_VERDICTS_ALL & ~(1u << SEEP_VERDICT_REACHABLE));
	choose_frames(shown);
}

void seep_json_shown_take(struct seep_json_shown *shown, const struct seep_profile *profile,
			  uint32_t *contexts, uint32_t count)
{
	*shown = (struct seep_json_shown){
		.profile = profile,
		.contexts = contexts,
		.context_count = count,
	};
	choose_frames(shown);
}

void seep_json_shown_done(struct seep_json_shown *shown)
{
	free(shown->frame_places);
	free(shown->frames);
	free(shown->leak_places);
	free(shown->leaks);
	free(shown->contexts);
}

void seep_json_mark(struct seep_json *json, const char *key, const struct seep_profile_mark *mark)
{
	if (!mark) {
		seep_json_null(json, key);
		return;
	}
	seep_json_open_object(json, key);
	seep_json_text(json, "name", mark->name);
	seep_json_int(json, "epoch", mark->epoch);
	seep_json_u64(json, "at_ns", mark->at_ns);
	seep_json_bool(json, "exact", mark->exact);
	seep_json_close(json);
}

void seep_json_modules(struct seep_json *json, const struct seep_profile *profile)
{
	for (uint32_t i = 0; i < profile->module_count; i++) {
		const struct seep_profile_module *module = &profile->modules[i];

		seep_json_open_object(json, NULL);
		seep_json_text(json, "path", module->path);
		seep_json_hex(json, "build_id", module->build_id, module->build_id_bytes);
		seep_json_close(json);
	}
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
		seep_json_u64(json, "address",
			      frame->address + profile->modules[frame->module - 1].bias);
	}
	seep_json_bool(json, "exact", frame->exact);
	seep_json_bool(json, "inlined", frame->inlined);
	seep_json_close(json);
}

void seep_json_frames(struct seep_json *json, const struct seep_json_shown *shown)
{
	for (uint32_t i = 0; i < shown->frame_count; i++)
		write_frame(json, shown, &shown->profile->frames[shown->frames[i]]);
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
 * The fold that the entry at @at ends, as places in frames: it stands for its physical frame, with
 * what is inlined into that, and the period - 1 outside of it.
 */
static void write_fold(struct seep_json *json, const struct seep_profile *profile,
		       const struct seep_profile_context *context, uint32_t at)
{
	const struct seep_profile_stack_entry *entry = &context->stack[at];
	uint32_t from = at;
	uint32_t to = at;
	unsigned physical = 1;

	while (from > 0 && profile->frames[context->stack[from - 1].frame].inlined)
		from--;
	while (physical < entry->period && to + 1 < context->stack_count)
		physical += !profile->frames[context->stack[++to].frame].inlined;
	seep_json_open_object(json, NULL);
	seep_json_int(json, "from", from);
	seep_json_int(json, "to", to);
	seep_json_int(json, "times", entry->repeats + INT64_C(1));
	seep_json_bool(json, "or_more", entry->repeats == REPEATS_SATURATED);
	seep_json_close(json);
}

void seep_json_stack(struct seep_json *json, const struct seep_json_shown *shown,
		     const struct seep_profile_context *context)
{
	const uint32_t count = context ? context->stack_count : 0;
	bool folded = false;

	seep_json_open_array(json, "frames");
	for (uint32_t i = 0; i < count; i++)
		seep_json_int(json, NULL,
			      shown->frames_before + shown->frame_places[context->stack[i].frame]);
	seep_json_close(json);
	for (uint32_t i = 0; i < count; i++) {
		if (context->stack[i].period == 0)
			continue;
		if (!folded)
			seep_json_open_array(json, "folded");
		folded = true;
		write_fold(json, shown->profile, context, i);
	}
	if (folded)
		seep_json_close(json);
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

void seep_json_figures(struct seep_json *json, const void *from,
		       const struct seep_json_figure *figures, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t value;

		memcpy(&value, (const char *)from + figures[i].offset, sizeof(value));
		seep_json_u64(json, figures[i].key, value);
	}
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
