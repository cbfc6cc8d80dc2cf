/* SPDX-License-Identifier: MIT */
/*
 * speedscope's own format: one profile per measure, each of a list of stacks and a list of their
 * weights, over one table of functions. Lines are left out: speedscope would show a function that
 * is called from two lines as two.
 */
#include "export/export.h"

#include "analysis/counts.h"
#include "analysis/sites.h"
#include "base/json_writer.h"
#include "base/path.h"
#include "export/export_names.h"

static const struct {
	const char *name;
	const char *unit;
	int figure;
} values[] = {
	[SEEP_BY_LIVE] = { "live bytes", "bytes", SEEP_FIGURE_live_bytes },
	[SEEP_BY_PEAK] = { "bytes at the peak", "bytes", SEEP_FIGURE_peak_bytes },
	[SEEP_BY_ALLOCS] = { "allocations", "none", SEEP_FIGURE_allocs },
	[SEEP_BY_TEMPORARY] = { "temporary allocations", "none", SEEP_FIGURE_temporary },
	[SEEP_MEASURE_COUNT] = { "allocated bytes", "bytes", SEEP_FIGURE_alloc_bytes },
};

enum { VALUE_COUNT = sizeof(values) / sizeof(values[0]) };

struct writer {
	const struct seep_profile *profile;
	struct seep_sites *sites;
	struct seep_json *json;
	size_t no_stack[2]; /* index of the frame in place of no stack, by context.other; 0: none */
};

static void write_frame(struct writer *w, const char *name, const char *file)
{
	seep_json_open_object(w->json, NULL);
	seep_json_text(w->json, "name", name);
	if (file != NULL)
		seep_json_text(w->json, "file", file);
	seep_json_close(w->json);
}

/* By function number of the sites; then, where they are needed, those in place of no stack. */
static void write_frames(struct writer *w)
{
	const struct seep_profile *profile = w->profile;
	size_t count = w->sites->function_count;

	seep_json_open_object(w->json, "shared");
	seep_json_open_array(w->json, "frames");
	for (uint32_t i = 0; i < w->sites->function_count; i++) {
		const struct seep_profile_frame *frame =
			&profile->frames[w->sites->frame_of_function[i]];
		SEEP_FREED char *name = seep_export_raw_name(profile, frame);

		write_frame(w, name,
			    frame->file ? frame->file : seep_profile_frame_path(profile, frame));
	}
	for (uint32_t i = 0; i < profile->context_count; i++) {
		const struct seep_profile_context *context = &profile->contexts[i];

		if (context->stack_count > 0 || w->no_stack[context->other] > 0)
			continue;
		write_frame(w, seep_export_no_stack(context->other), NULL);
		w->no_stack[context->other] = count++;
	}
	seep_json_close(w->json);
	seep_json_close(w->json);
}

static void write_stack(struct writer *w, const struct seep_profile_context *context)
{
	seep_json_open_array(w->json, NULL);
	for (uint32_t left = context->stack_count; left > 0; left--) {
		const uint32_t frame = context->stack[left - 1].frame;

		seep_json_int(w->json, NULL, w->sites->of_frame[frame].function);
	}
	if (context->stack_count == 0)
		seep_json_int(w->json, NULL, (int64_t)w->no_stack[context->other]);
	seep_json_close(w->json);
}

/* Contexts that have nothing of it are left out. */
static void write_values(struct writer *w, size_t index)
{
	const struct seep_profile *profile = w->profile;
	const int figure = values[index].figure;
	int64_t total = 0;

	seep_json_open_object(w->json, NULL);
	seep_json_text(w->json, "type", "sampled");
	seep_json_text(w->json, "name", values[index].name);
	seep_json_text(w->json, "unit", values[index].unit);
	for (uint32_t i = 0; seep_json_each(w->json, "samples", i, profile->context_count); i++)
		if (seep_counts_of(&profile->contexts[i]).figures[figure] > 0)
			write_stack(w, &profile->contexts[i]);
	for (uint32_t i = 0; seep_json_each(w->json, "weights", i, profile->context_count); i++) {
		const int64_t value = seep_counts_of(&profile->contexts[i]).figures[figure];

		if (value > 0)
			seep_json_int(w->json, NULL, value);
		seep_counts_sum(&total, value);
	}
	seep_json_int(w->json, "startValue", 0);
	seep_json_int(w->json, "endValue", total);
	seep_json_close(w->json);
}

void seep_export_speedscope(FILE *out, const struct seep_profile *profile,
			    const struct seep_view_options *options)
{
	const char *exe = profile->process.exe ? seep_path_base(profile->process.exe) : "";
	SEEP_FREED char *estimates = seep_export_estimates(profile);
	SEEP_FREED char *name = estimates ? seep_xasprintf("%s (%s)", exe, estimates) : NULL;
	int64_t active = 0;
	struct writer w = { .profile = profile };

	w.sites = seep_sites_new(profile);
	w.json = seep_json_new(out, false);
	seep_json_open_object(w.json, NULL);
	seep_json_text(w.json, "$schema", "https://www.speedscope.app/file-format-schema.json");
	seep_json_text(w.json, "exporter", "seep " SEEP_VERSION);
	seep_json_text(w.json, "name", name ? name : exe);
	for (size_t i = 0; i < seep_view_measure(profile, options->by); i++)
		active += seep_figure_is_known(profile, values[i].figure);
	seep_json_int(w.json, "activeProfileIndex", active);
	write_frames(&w);
	seep_json_open_array(w.json, "profiles");
	for (size_t i = 0; i < VALUE_COUNT; i++)
		if (seep_figure_is_known(profile, values[i].figure))
			write_values(&w, i);
	seep_json_finish(w.json);
	seep_sites_free(w.sites);
}
