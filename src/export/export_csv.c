/* SPDX-License-Identifier: MIT */
/*
 * Comma-separated values (RFC 4180): a row per context with all of its figures and its stack, the
 * largest first; of a profile with estimates, the errors behind that.
 */
#include "export/export.h"

#include <inttypes.h>

#include "analysis/rank.h"
#include "analysis/scope_sums.h"
#include "base/encode.h"
#include "base/terminal.h"
#include "export/export_names.h"
#include "profile/kind_name.h"
#include "view/frame_text.h"

/* "function (file:line)", or "function (module)". */
static void write_frame(FILE *out, struct seep_export_names *names, uint32_t index)
{
	SEEP_FREED char *place = seep_frame_place(names->profile, &names->profile->frames[index],
						  true);
	SEEP_FREED char *escaped = seep_escape_dup(place);

	seep_export_put(out, seep_export_name(names, index), '"');
	if (*escaped) {
		(void)fputs(" (", out);
		seep_export_put(out, escaped, '"');
		(void)fputc(')', out);
	}
}

/* A cell for each figure, empty where it is not known. @figures: by figure; NULL: all are 0. */
static void write_figures(FILE *out, const struct seep_profile *profile, const uint64_t *figures)
{
	for (int i = 0; i < SEEP_FIGURE_COUNT; i++) {
		(void)fputc(',', out);
		if (seep_figure_is_known(profile, i))
			(void)fprintf(out, "%" PRIu64, figures ? figures[i] : 0);
	}
}

static void write_context(FILE *out, struct seep_export_names *names,
			  const struct seep_profile_context *context, bool estimates)
{
	SEEP_FREED char *scope = seep_scope_path(names->profile, context->scope);

	(void)fprintf(out, "%016" PRIx64 ",%s,", context->hash,
		      seep_profile_kind_name(context->kind));
	seep_csv_write(out, context->thread);
	(void)fputc(',', out);
	seep_csv_write(out, scope);
	write_figures(out, names->profile, context->figures);
	(void)fprintf(out, ",%d,\"%s", context->truncated,
		      context->stack_count
			      ? seep_csv_guard(seep_export_name(names, context->stack[0].frame))
			      : "");
	for (uint32_t i = 0; i < context->stack_count; i++) {
		if (i > 0)
			(void)fputc(';', out);
		write_frame(out, names, context->stack[i].frame);
	}
	if (context->stack_count == 0)
		(void)fputs(seep_export_no_stack(context->other), out);
	(void)fputc('"', out);
	/* How far each may be off, 0 if not at all. */
	if (estimates)
		write_figures(out, names->profile, context->errors);
	(void)fputs("\r\n", out);
}

void seep_export_csv(FILE *out, const struct seep_profile *profile,
		     const struct seep_view_options *options)
{
	const uint32_t count = profile->context_count;
	SEEP_FREED char *estimates = seep_export_estimates(profile);
	SEEP_FREED uint32_t *order = seep_xcalloc(count, sizeof(*order));
	SEEP_RELEASED(seep_export_names_done) struct seep_export_names names;

	seep_export_names_init(&names, profile);
	(void)seep_rank_contexts(profile, seep_view_measure(profile, options->by), count, order);
	(void)fputs("hash,kind,thread,scope,", out);
	for (int i = 0; i < SEEP_FIGURE_COUNT; i++)
		(void)fprintf(out, "%s,", seep_figure_names[i]);
	(void)fputs("truncated,stack", out);
	/* Behind all others: where columns are counted, they stay where they are. */
	for (int i = 0; estimates && i < SEEP_FIGURE_COUNT; i++)
		(void)fprintf(out, ",%s_error", seep_figure_names[i]);
	(void)fputs("\r\n", out);
	for (uint32_t i = 0; i < count; i++)
		write_context(out, &names, &profile->contexts[order[i]], estimates != NULL);
}
