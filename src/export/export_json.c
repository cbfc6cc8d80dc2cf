/* SPDX-License-Identifier: MIT */
/* What "seep report --json" writes. */
#include "export/export.h"
#include "report/report.h"

void seep_export_json(FILE *out, const struct seep_profile *profile,
		      const struct seep_export_options *options)
{
	const struct seep_view_options view = { .by = options->by, .shown = options->shown };

	seep_report_json(out, profile, &view, false);
}
