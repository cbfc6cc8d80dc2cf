/* SPDX-License-Identifier: MIT */
#include "report/json_contexts.h"

#include "profile/kind_name.h"

static void write_epochs(struct seep_json *json, const struct seep_profile_context *context)
{
	for (uint32_t i = 0; seep_json_each_object(json, "epochs", i, context->epoch_count); i++) {
		seep_json_int(json, "epoch", context->epochs[i].epoch);
		seep_json_u64(json, "blocks", context->epochs[i].blocks);
		seep_json_u64(json, "bytes", context->epochs[i].bytes);
	}
}

/* What is unusual about it; nothing is for most. */
static void write_flags(struct seep_json *json, const struct seep_profile_context *context)
{
	const struct {
		bool set;
		const char *name;
	} flags[] = {
		{ context->cut, "cut" },
		{ context->by_frame_pointer, "by-frame-pointer" },
		{ context->no_stack, "no-stack" },
		{ context->other, "other" },
		{ context->site, "site" },
		{ context->in_doubt, "in-doubt" },
	};
	const char *names[sizeof(flags) / sizeof(flags[0])];
	size_t count = 0;

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		if (flags[i].set)
			names[count++] = flags[i].name;
	for (size_t i = 0; count > 0 && seep_json_each(json, "flags", i, count); i++)
		seep_json_text(json, NULL, names[i]);
}

static void write_names(struct seep_json *json, const struct seep_profile_context *context)
{
	if (context->align_log2 > 0 && context->align_log2 < 64)
		seep_json_u64(json, "align_bytes", UINT64_C(1) << context->align_log2);
	if (context->thread)
		seep_json_text(json, "thread", context->thread);
	if (context->scope)
		seep_json_int(json, "scope", context->scope);
}

static void write_state(struct seep_json *json, const struct seep_profile_context *context)
{
	if (context->truncated)
		seep_json_bool(json, "truncated", true);
	write_flags(json, context);
	seep_json_estimate(json, context->errors);
	if (context->epoch_count > 0)
		write_epochs(json, context);
	if (context->growth)
		seep_json_growth(json, context, context->growth, context->growth->evidence);
}

void seep_json_context_name(struct seep_json *json, const struct seep_json_shown *shown,
			    const struct seep_profile_context *context)
{
	seep_json_hash(json, "hash", context->hash);
	seep_json_text(json, "kind", seep_profile_kind_name(context->kind));
	seep_json_stack(json, shown, context);
}

/* Contexts are nearly all of a document: what does not apply to one is left out. */
void seep_json_context(struct seep_json *json, const struct seep_json_shown *shown,
		       const struct seep_profile_context *context)
{
	seep_json_int(json, "id", context->id);
	seep_json_context_name(json, shown, context);
	write_names(json, context);
	seep_json_u64(json, "first_ns", context->first_ns);
	for (int i = 0; i < SEEP_FIGURE_COUNT; i++)
		seep_json_u64(json, seep_figure_names[i], context->figures[i]);
	write_state(json, context);
}

static const struct seep_profile_context *nth(const struct seep_json_shown *shown, uint32_t i)
{
	return &shown->profile->contexts[shown->contexts[i]];
}

void seep_json_contexts(struct seep_json *json, const struct seep_json_shown *shown)
{
	for (uint32_t i = 0; seep_json_each_object(json, "contexts", i, shown->context_count); i++)
		seep_json_context(json, shown, nth(shown, i));
}

static void write_kinds(struct seep_json *json, const struct seep_json_shown *shown)
{
	uint32_t places[UINT8_MAX + 1] = { 0 }; /* by kind: its place among the names + 1 */
	uint32_t count = 0;

	for (uint32_t i = 0; seep_json_each(json, "kinds", i, shown->context_count); i++) {
		const uint8_t kind = nth(shown, i)->kind;

		if (places[kind])
			continue;
		places[kind] = ++count;
		seep_json_text(json, NULL, seep_profile_kind_name(kind));
	}
	for (uint32_t i = 0; seep_json_each(json, "kind", i, shown->context_count); i++)
		seep_json_int(json, NULL, places[nth(shown, i)->kind] - INT64_C(1));
}

/* A moment of which milliseconds do takes half the bytes of one in nanoseconds. */
static void write_first(struct seep_json *json, const struct seep_json_shown *shown)
{
	const uint64_t start_ns = shown->profile->process.start_ns;

	for (uint32_t i = 0; seep_json_each(json, "first_ms", i, shown->context_count); i++) {
		const uint64_t first_ns = nth(shown, i)->first_ns;

		seep_json_u64(json, NULL,
			      first_ns > start_ns ? (first_ns - start_ns) / 1000000 : 0);
	}
}

static void write_figures(struct seep_json *json, const struct seep_json_shown *shown)
{
	const uint32_t count = shown->context_count;

	for (int k = 0; k < SEEP_FIGURE_COUNT; k++)
		for (uint32_t i = 0; seep_json_each(json, seep_figure_names[k], i, count); i++)
			seep_json_u64(json, NULL, nth(shown, i)->figures[k]);
}

/* How many of the outermost frames are the same. */
static uint32_t shared(const struct seep_profile_context *a, const struct seep_profile_context *b)
{
	uint32_t same = 0;

	while (same < a->stack_count && same < b->stack_count &&
	       a->stack[a->stack_count - 1 - same].frame ==
		       b->stack[b->stack_count - 1 - same].frame)
		same++;
	return same;
}

static void write_stacks(struct seep_json *json, const struct seep_json_shown *shown)
{
	for (uint32_t i = 0; seep_json_each(json, "stacks", i, shown->context_count); i++) {
		const struct seep_profile_context *context = nth(shown, i);
		const uint32_t same = i ? shared(nth(shown, i - 1), context) : 0;

		seep_json_int(json, NULL, same);
		seep_json_int(json, NULL, context->stack_count - same);
		for (uint32_t at = context->stack_count - same; at-- > 0;)
			seep_json_int(json, NULL,
				      seep_json_frame_place(shown, context->stack[at].frame));
	}
}

static uint32_t count_folds(const struct seep_profile_context *context)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < context->stack_count; i++)
		count += context->stack[i].period > 0;
	return count;
}

/* As those of docs/json.md, but from the outermost frame, where neighbours are alike. */
static void write_context_folds(struct seep_json *json, const struct seep_profile *profile,
				const struct seep_profile_context *context)
{
	for (uint32_t i = 0; i < context->stack_count; i++) {
		struct seep_json_fold fold;

		if (context->stack[i].period == 0)
			continue;
		fold = seep_json_fold_at(profile, context, i);
		seep_json_int(json, NULL, context->stack_count - 1 - fold.to);
		seep_json_int(json, NULL, fold.to - fold.from);
		seep_json_int(json, NULL, fold.times);
	}
}

static void write_folds(struct seep_json *json, const struct seep_json_shown *shown)
{
	uint32_t before = 0;

	for (uint32_t i = 0; seep_json_each(json, "folds", i, shown->context_count); i++) {
		const struct seep_profile_context *context = nth(shown, i);
		const uint32_t count = count_folds(context);

		if (count == 0)
			continue;
		seep_json_int(json, NULL, i - before);
		seep_json_int(json, NULL, count);
		write_context_folds(json, shown->profile, context);
		before = i;
	}
}

/* What few contexts have. */
static bool has_others(const struct seep_profile_context *context)
{
	return context->align_log2 || context->thread || context->scope || context->truncated ||
	       context->cut || context->by_frame_pointer || context->no_stack || context->other ||
	       context->site || context->errors || context->in_doubt || context->epoch_count > 0 ||
	       context->growth;
}

static void write_others(struct seep_json *json, const struct seep_json_shown *shown)
{
	for (uint32_t i = 0; seep_json_each(json, "others", i, shown->context_count); i++) {
		const struct seep_profile_context *context = nth(shown, i);

		if (!has_others(context))
			continue;
		seep_json_open_array(json, NULL);
		seep_json_int(json, NULL, i);
		seep_json_open_object(json, NULL);
		write_names(json, context);
		write_state(json, context);
		seep_json_close(json);
		seep_json_close(json);
	}
}

void seep_json_context_columns(struct seep_json *json, const struct seep_json_shown *shown)
{
	seep_json_open_object(json, "contexts");
	seep_json_int(json, "count", shown->context_count);
	write_kinds(json, shown);
	write_first(json, shown);
	write_figures(json, shown);
	write_stacks(json, shown);
	write_folds(json, shown);
	write_others(json, shown);
	seep_json_close(json);
}
