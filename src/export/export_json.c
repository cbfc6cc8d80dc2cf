/* SPDX-License-Identifier: MIT */
/* What "seep report --json" writes. */
#include "export/export.h"
#include "report/report.h"

void seep_export_json(FILE *out, const struct seep_profile *profile,
		      const struct seep_view_options *options)
{
	seep_report_json(out, profile, options, false);
}
