/* SPDX-License-Identifier: MIT */
/* Call stacks, and what is printed when a run is over. */
#include "report/report.h"

#include <stdlib.h>

#include "base/table.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "report/report_parts.h"
#include "view/frame_text.h"
#include "view/stacks_view.h"
#include "view/view_foot.h"
#include "view/view_head.h"

enum { TOP_DEFAULT = 10, INDENT = 5 };

static void add_frame(struct seep_table *table, const struct seep_view *view,
		      const struct seep_stack_line *line, enum seep_style style)
{
	const struct seep_profile_frame *frame = &view->profile->frames[line->entry->frame];
	char *repeats = seep_frame_repeats(line->entry);
	char *place = seep_frame_place(view->profile, frame, true);
	char *shown = view->options->full && frame->inlined ? seep_xasprintf("%s  (inlined)", place)
							    : seep_xstrdup(place);

	seep_report_add_name(table, view, frame, "", repeats, style);
	seep_table_add(table, shown);
	free(shown);
	free(place);
	free(repeats);
}

static void print_stack(const struct seep_printer *printer, const struct seep_view *view,
			const struct seep_stack_view *stack)
{
	static const struct seep_column columns[] = {
		{ NULL, SEEP_ALIGN_LEFT, SEEP_CUT_END, 0 },
		{ NULL, SEEP_ALIGN_LEFT, SEEP_CUT_START, 1 },
	};
	struct seep_table *table = seep_table_new(columns, 2);

	for (uint32_t i = 0; i < stack->line_count; i++)
		if (stack->lines[i].entry != NULL)
			add_frame(table, view, &stack->lines[i],
				  i == stack->blamed ? SEEP_STYLE_BOLD : SEEP_STYLE_PLAIN);
		else
			seep_table_add_line(table, SEEP_STYLE_DIM, SEEP_CUT_END,
					    stack->lines[i].note);
	seep_report_print_table(printer, view, table, INDENT);
}

static void print_stacks(const struct seep_printer *printer, const struct seep_view *view,
			 const struct seep_stacks_view *stacks)
{
	if (stacks->count > 0)
		seep_line_print(printer, "Call stacks by %s: %s of %s, %s of all",
				seep_measure_words(view->profile, view->measure),
				seep_digits_text(stacks->count).text,
				seep_digits_text(stacks->all).text,
				seep_view_share(view, stacks->value).text);
	else
		seep_line_print(printer, "There are no %s%s.",
				seep_measure_words(view->profile, view->measure),
				view->options->shown ? " among what is shown" : "");
	for (uint32_t i = 0; i < stacks->count; i++) {
		fprintf(printer->out, "\n%3u. ", i + 1);
		seep_text_fold(printer, SEEP_STYLE_BOLD, INDENT, INDENT, stacks->items[i].figures);
		print_stack(printer, view, &stacks->items[i]);
	}
	fputc('\n', printer->out);
}

void seep_report_stacks(const struct seep_printer *printer, const struct seep_sites *sites,
			const struct seep_view_options *options)
{
	struct seep_next_command next[] = {
		{ " --tree", "who called whom" },
		{ " --by peak", "what was alive at the peak" },
	};
	struct seep_stacks_view stacks;
	struct seep_view view;

	seep_view_init(&view, sites->profile, sites, options);
	seep_stacks_view_init(&stacks, &view, options->top > 0 ? options->top : TOP_DEFAULT);
	seep_view_add_head(&view, "", true);
	seep_view_add_start_at(&view);
	seep_lines_print(&view.head, printer);
	fputc('\n', printer->out);
	seep_report_threads(printer, &view, stacks.groups);
	print_stacks(printer, &view, &stacks);
	if (view.measure == SEEP_BY_PEAK)
		next[1] = (struct seep_next_command){ " --by live", "what is left" };
	seep_view_add_unseen(&view, 0);
	seep_view_add_own(&view);
	seep_view_add_next(&view, next, 2);
	seep_lines_print(&view.foot, printer);
	seep_stacks_view_done(&stacks);
	seep_view_done(&view);
}

/* ---- summary --------------------------------------------------------------------------------- */

/*
 * Small, and the same size whatever happened. Every part has its most lines:
 *
 *	process 3, lead 3, start at 2, title, stacks 5 (3 where much was not seen), unseen 5, own 3,
 *	next 2 = 24
 */
enum { STACKS = 5, STACKS_CROWDED = 3, UNSEEN_LINES = 4, CHAIN = 4, WIDTH_MIN = 40 };

/* "load_rows ← visit ×17 ← main" */
static char *chain_of(const struct seep_view *view, const struct seep_stack_view *stack)
{
	struct seep_strbuf chain;
	uint32_t frames = 0;

	seep_strbuf_init(&chain, SEEP_LINE_BYTES_MAX);
	for (uint32_t i = stack->blamed; i < stack->line_count && frames < CHAIN; i++) {
		const struct seep_stack_line *line = &stack->lines[i];
		char *name;
		char *repeats;

		if (line->entry == NULL)
			break;
		name = seep_frame_name(view->profile, &view->profile->frames[line->entry->frame],
				       SEEP_NAME_BRIEF);
		repeats = seep_frame_repeats(line->entry);
		seep_strbuf_addf(&chain, "%s%s%s", frames++ > 0 ? " ← " : "", name, repeats);
		free(repeats);
		free(name);
	}
	if (frames == 0)
		seep_strbuf_addf(&chain, "(%s)", stack->lines[0].note);
	return seep_strbuf_take(&chain);
}

static void add_summary(struct seep_table *table, const struct seep_view *view,
			const struct seep_stack_view *stack)
{
	const int64_t value = seep_counts_value(&stack->group->counts, view->measure);
	const struct seep_profile_stack_entry *entry = stack->lines[stack->blamed].entry;
	char *chain = chain_of(view, stack);
	char *place = entry != NULL ? seep_frame_place(view->profile,
						       &view->profile->frames[entry->frame], true)
				    : NULL;

	seep_table_add(table, seep_measure_text(value, view->measure).text);
	seep_table_add(table, seep_view_share(view, value).text);
	seep_table_add(table, chain);
	seep_table_add(table, place);
	free(place);
	free(chain);
}

static void print_summaries(const struct seep_printer *printer, const struct seep_view *view)
{
	struct seep_table *table = seep_table_new(seep_report_ranked, 4);
	struct seep_stacks_view stacks;

	seep_stacks_view_init(&stacks, view,
			      view->profile->unseen_count > 1 ? STACKS_CROWDED : STACKS);
	if (stacks.count > 0)
		seep_line_print(printer, "Largest of %s, by %s:",
				seep_things_text(stacks.all, "call stack").text,
				seep_measure_words(view->profile, view->measure));
	for (uint32_t i = 0; i < stacks.count; i++)
		add_summary(table, view, &stacks.items[i]);
	seep_table_print(table, printer, 2);
	seep_table_free(table);
	seep_stacks_view_done(&stacks);
}

void seep_report_summary(const struct seep_printer *printer, const struct seep_profile *profile,
			 const char *path)
{
	const struct seep_view_options options = { .path = path, .by = SEEP_BY_CHOICE };
	static const struct seep_next_command next[] = {
		{ "", "the largest stacks in full" },
		{ " --tree", "who called whom" },
	};
	struct seep_sites *sites = seep_sites_new(profile);
	struct seep_printer narrow = *printer;
	struct seep_view view;

	if (narrow.width == 0 || narrow.width > 80)
		narrow.width = 80;
	if (narrow.width < WIDTH_MIN)
		narrow.width = WIDTH_MIN;
	seep_view_init(&view, profile, sites, &options);
	seep_view_add_head(&view, "seep: ", false);
	seep_view_add_start_at(&view);
	seep_lines_print(&view.head, &narrow);
	print_summaries(&narrow, &view);
	seep_view_add_unseen(&view, UNSEEN_LINES);
	seep_view_add_own(&view);
	seep_view_add_next(&view, next, sizeof(next) / sizeof(next[0]));
	seep_lines_print(&view.foot, &narrow);
	seep_view_done(&view);
	seep_sites_free(sites);
}
