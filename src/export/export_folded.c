/* SPDX-License-Identifier: MIT */
/* "main;load;read 4096": a line per context that has something of one measure, outermost first. */
#include "export/export.h"

#include <inttypes.h>

#include "export/export_names.h"

void seep_export_folded(FILE *out, const struct seep_profile *profile,
			const struct seep_view_options *options)
{
	const enum seep_measure measure = seep_view_measure(profile, options->by);
	SEEP_RELEASED(seep_export_names_done) struct seep_export_names names;

	seep_export_names_init(&names, profile);
	for (uint32_t i = 0; i < profile->context_count; i++) {
		const struct seep_profile_context *context = &profile->contexts[i];
		const int64_t value = seep_context_value(context, measure);

		if (value == 0)
			continue;
		if (context->stack_count == 0)
			(void)fputs(seep_export_no_stack(context->other), out);
		for (uint32_t left = context->stack_count; left > 0; left--) {
			seep_export_put(
				out, seep_export_name(&names, context->stack[left - 1].frame), 0);
			if (left > 1)
				(void)fputc(';', out);
		}
		(void)fprintf(out, " %" PRId64 "\n", value);
	}
}
