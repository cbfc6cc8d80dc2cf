/* SPDX-License-Identifier: MIT */
#include "report/report_parts.h"

#include <inttypes.h>

#include "analysis/suppressions.h"
#include "base/terminal.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "view/finding_text.h"
#include "view/frame_text.h"
#include "view/view_head.h"

enum { FINDINGS_SHOWN = 10 };

const struct seep_column seep_report_ranked[4] = {
	{ NULL, SEEP_ALIGN_RIGHT, SEEP_CUT_NEVER, 0 },
	{ NULL, SEEP_ALIGN_RIGHT, SEEP_CUT_NEVER, 2 },
	{ NULL, SEEP_ALIGN_LEFT, SEEP_CUT_END, 0 },
	{ NULL, SEEP_ALIGN_LEFT, SEEP_CUT_START, 1 },
};

void seep_report_print_view(const struct seep_printer *printer, const struct seep_sites *sites,
			    const struct seep_view_options *options, struct seep_next_command next,
			    void (*print)(const struct seep_printer *, const struct seep_view *))
{
	SEEP_RELEASED(seep_view_done) struct seep_view view;
	SEEP_FREED char *nothing = NULL;

	seep_view_init(&view, sites->profile, sites, options);
	seep_view_add_head(&view, "", false, false);
	seep_lines_print(&view.head, printer);
	fputc('\n', printer->out);
	nothing = seep_view_nothing(&view);
	if (view.total != 0)
		print(printer, &view);
	else
		seep_line_print(printer, "%s.", nothing);
	fputc('\n', printer->out);
	seep_view_add_unseen(&view, 0);
	seep_view_add_next(&view, &next, 1);
	seep_lines_print(&view.foot, printer);
}

void seep_report_add_name(struct seep_table *table, const struct seep_view *view,
			  const struct seep_profile_frame *frame, const char *prefix,
			  const char *suffix, enum seep_style style)
{
	SEEP_FREED char *name = seep_frame_name(
		view->profile, frame, view->options->full ? SEEP_NAME_WHOLE : SEEP_NAME_SHORT);
	SEEP_FREED char *brief = seep_frame_name(view->profile, frame, SEEP_NAME_BRIEF);
	SEEP_FREED char *cell = seep_xasprintf("%s%s%s", prefix, name, suffix);
	SEEP_FREED char *brief_cell = seep_xasprintf("%s%s%s", prefix, brief, suffix);

	seep_table_add_styled(table, style, cell, brief_cell);
}

void seep_report_print_table(const struct seep_printer *printer, const struct seep_view *view,
			     struct seep_table *table, size_t indent)
{
	const struct seep_printer wide = { printer->out, 0, printer->color };

	seep_table_print(table, view->options->full ? &wide : printer, indent);
}

static void add_frame(struct seep_table *table, const struct seep_view *view,
		      const struct seep_stack_line *line, enum seep_style style)
{
	const struct seep_profile_frame *frame = &view->profile->frames[line->entry->frame];
	SEEP_FREED char *repeats = seep_frame_repeats(line->entry);
	SEEP_FREED char *place = seep_frame_place(view->profile, frame, true);
	SEEP_FREED char *shown = view->options->full && frame->inlined
					 ? seep_xasprintf("%s  (inlined)", place)
					 : seep_xstrdup(place);

	seep_report_add_name(table, view, frame, "", repeats, style);
	seep_table_add(table, shown);
}

static void print_stack(const struct seep_printer *printer, const struct seep_view *view,
			const struct seep_stack_lines *lines, size_t indent)
{
	static const struct seep_column columns[] = {
		{ NULL, SEEP_ALIGN_LEFT, SEEP_CUT_END, 0 },
		{ NULL, SEEP_ALIGN_LEFT, SEEP_CUT_START, 1 },
	};
	SEEP_TABLE(table, columns);

	for (uint32_t i = 0; i < lines->count; i++)
		if (lines->items[i].entry != NULL)
			add_frame(table, view, &lines->items[i],
				  i == lines->blamed ? SEEP_STYLE_BOLD : SEEP_STYLE_PLAIN);
		else
			seep_table_add_line(table, SEEP_STYLE_DIM, SEEP_CUT_END,
					    lines->items[i].note);
	seep_report_print_table(printer, view, table, indent);
}

void seep_report_print_item(const struct seep_printer *printer, const struct seep_view *view,
			    const struct seep_stack_lines *lines, uint32_t number)
{
	fprintf(printer->out, "\n%3" PRIu32 ". ", number);
	seep_text_fold(printer, SEEP_STYLE_BOLD, SEEP_REPORT_INDENT, SEEP_REPORT_INDENT,
		       lines->figures);
	print_stack(printer, view, lines, SEEP_REPORT_INDENT);
}

void seep_report_print_context(const struct seep_printer *printer, struct seep_view *view,
			       size_t indent, const char *title,
			       const struct seep_profile_context *context)
{
	SEEP_RELEASED(seep_stack_lines_done) struct seep_stack_lines lines = { 0 };

	if (!context)
		return;
	if (title)
		fprintf(printer->out, "%*s%s:\n", (int)indent, "", title);
	seep_stack_lines_fold(&lines, view, context);
	print_stack(printer, view, &lines, indent + (title ? 2 : 0));
}

void seep_report_print_origin(const struct seep_printer *printer, struct seep_view *view,
			      size_t indent, const struct seep_profile_finding *finding)
{
	seep_report_print_context(printer, view, indent, "freed before by",
				  seep_profile_context_at(view->profile, finding->freed));
	seep_report_print_context(printer, view, indent, "allocated by",
				  seep_profile_context_at(view->profile, finding->block));
}

void seep_report_print_findings(const struct seep_printer *printer, struct seep_view *view)
{
	const uint32_t top = view->options->top > 0 ? view->options->top : FINDINGS_SHOWN;
	const uint32_t all = seep_findings_count(view->profile);
	uint32_t number = 0;

	if (all > 0)
		seep_line_print(printer, "Heap errors: %s of %s",
				seep_digits_text(top < all ? top : all).text,
				seep_digits_text(all).text);
	for (uint32_t i = 0; i < view->profile->finding_count && number < top; i++) {
		const struct seep_profile_finding *finding = &view->profile->findings[i];
		SEEP_FREED char *text = seep_finding_text(view->profile, finding);
		SEEP_FREED char *thread = seep_escape_dup(finding->thread ? finding->thread : "");
		SEEP_FREED char *line = seep_xasprintf("%s%s%s", text, *thread ? ", thread " : "",
						       thread);

		if (finding->suppressed_by)
			continue;
		fprintf(printer->out, "\n%3" PRIu32 ". ", ++number);
		seep_text_fold(printer, SEEP_STYLE_BOLD, SEEP_REPORT_INDENT, SEEP_REPORT_INDENT,
			       line);
		seep_report_print_context(printer, view, SEEP_REPORT_INDENT,
					  finding->freeing ? "freed by" : "found by",
					  seep_profile_context_at(view->profile, finding->here));
		seep_report_print_origin(printer, view, SEEP_REPORT_INDENT, finding);
	}
	if (all > 0)
		fputc('\n', printer->out);
}
