/* SPDX-License-Identifier: MIT */
/* What grows. */
#include "report/report.h"

#include "base/units.h"
#include "report/report_parts.h"
#include "view/growth_view.h"
#include "view/view_foot.h"
#include "view/view_head.h"

enum { TOP_DEFAULT = 10 };

void seep_report_growth(const struct seep_printer *printer, const struct seep_sites *sites,
			const struct seep_view_options *options)
{
	static const struct seep_next_command next[] = {
		{ " --by live", "all that is left" },
		{ " --by lost", "what nothing points to" },
	};
	SEEP_RELEASED(seep_view_done) struct seep_view view;
	SEEP_RELEASED(seep_growth_view_done) struct seep_growth_view growth;
	SEEP_FREED char *answer = NULL;

	seep_view_init(&view, sites->profile, sites, options);
	seep_growth_view_init(&growth, &view, options->top > 0 ? options->top : TOP_DEFAULT);
	seep_view_add_head(&view, "", true, false);
	seep_lines_print(&view.head, printer);
	answer = seep_growth_answer(&growth, sites->profile);
	fputc('\n', printer->out);
	seep_line_print(printer, "%s", answer);
	for (uint32_t i = 0; i < growth.count; i++)
		seep_report_print_item(printer, &view, &growth.items[i].stack, i + 1);
	fputc('\n', printer->out);
	if (growth.count < growth.all)
		seep_line_print(printer, "%s more; --top shows them",
				seep_things_text(growth.all - growth.count, "call stack").text);
	seep_view_add_unseen(&view, 0);
	seep_view_add_next(&view, next, 2);
	seep_lines_print(&view.foot, printer);
}
