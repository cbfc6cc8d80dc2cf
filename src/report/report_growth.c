/* SPDX-License-Identifier: MIT */
/* What grows. */
#include "report/report_growth.h"

#include <stdlib.h>

#include "analysis/growth_text.h"
#include "base/units.h"
#include "report/report.h"
#include "report/report_parts.h"
#include "view/view_foot.h"
#include "view/view_head.h"

enum { INDENT = 5, TOP_DEFAULT = 10 };

void seep_report_few_growing(const struct seep_printer *printer, const struct seep_view *view,
			     const struct seep_growth_view *growth)
{
	static const struct seep_column columns[] = {
		{ NULL, SEEP_ALIGN_RIGHT, SEEP_CUT_NEVER, 0 },
		{ NULL, SEEP_ALIGN_RIGHT, SEEP_CUT_NEVER, 2 },
		{ NULL, SEEP_ALIGN_LEFT, SEEP_CUT_END, 0 },
		{ NULL, SEEP_ALIGN_LEFT, SEEP_CUT_START, 1 },
	};
	struct seep_table *table = seep_table_new(columns, 4);

	for (uint32_t i = 0; i < growth->count; i++) {
		const struct seep_growing_stack *item = &growth->items[i];

		if (item->growth.verdict == SEEP_GROWTH_NONE)
			break;
		seep_table_add(table, seep_bytes_text(item->growth.bytes).text);
		seep_table_add(table, item->growth.verdict == SEEP_GROWTH_GROWING
					      ? seep_growth_rate_text(
							seep_growth_bytes_per_hour(&item->growth))
							.text
					      : seep_growth_verdict_name(item->growth.verdict));
		seep_report_add_chain(table, view, &item->stack);
	}
	if (seep_table_rows(table) > 0) {
		char *answer = seep_growth_answer(growth, view->profile);

		seep_line_print(printer, "%s:", answer);
		seep_table_print(table, printer, 2);
		free(answer);
	}
	seep_table_free(table);
}

void seep_report_growth(const struct seep_printer *printer, const struct seep_sites *sites,
			const struct seep_view_options *options)
{
	static const struct seep_next_command next[] = {
		{ " --by live", "all that is left" },
		{ " --by lost", "what nothing points to" },
	};
	struct seep_growth_view growth;
	struct seep_view view;
	char *answer;

	seep_view_init(&view, sites->profile, sites, options);
	seep_growth_view_init(&growth, &view, options->top > 0 ? options->top : TOP_DEFAULT);
	seep_view_add_head(&view, "", true);
	seep_lines_print(&view.head, printer);
	answer = seep_growth_answer(&growth, sites->profile);
	fputc('\n', printer->out);
	seep_line_print(printer, "%s", answer);
	free(answer);
	for (uint32_t i = 0; i < growth.count; i++) {
		fprintf(printer->out, "\n%3u. ", i + 1);
		seep_text_fold(printer, SEEP_STYLE_BOLD, INDENT, INDENT, growth.items[i].figures);
		seep_report_print_stack(printer, &view, &growth.items[i].stack, INDENT);
	}
	fputc('\n', printer->out);
	if (growth.count < growth.all)
		seep_line_print(printer, "%s more; --top shows them",
				seep_things_text(growth.all - growth.count, "call stack").text);
	seep_growth_view_done(&growth);
	seep_view_add_unseen(&view, 0);
	seep_view_add_next(&view, next, 2);
	seep_lines_print(&view.foot, printer);
	seep_view_done(&view);
}
