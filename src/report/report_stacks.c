/* SPDX-License-Identifier: MIT */
/* Call stacks, and what is printed when a run is over. */
#include "report/report.h"

#include "analysis/growth_text.h"
#include "analysis/suppressions.h"
#include "analysis/threads.h"
#include "base/table.h"
#include "base/units.h"
#include "report/report_parts.h"
#include "view/alike.h"
#include "view/growth_view.h"
#include "view/leaks_view.h"
#include "view/view_foot.h"
#include "view/view_head.h"

enum { TOP_DEFAULT = 10, THREADS_SHOWN = 8 };
enum { LEAKS = 3, GROWING = 3, GROWING_CROWDED = 2 };

static const struct seep_next_command next_growth = { " --by growth",
						      "what grows, and why it is thought so" };
static const struct seep_next_command next_leaks = { " --by lost", "each leak, and why it is one" };

static struct seep_row row_of_leak(struct seep_view *view, const struct seep_profile_leak *leak)
{
	const struct seep_profile_context *context = seep_profile_context_at(view->profile,
									     leak->context);
	const struct seep_profile_stack_entry *stack = context ? context->stack : NULL;
	const uint32_t count = context ? seep_fold(&view->folder, &stack, context->stack_count) : 0;

	return seep_row_of(view->sites, context, stack, count);
}

static struct seep_row row_of_group(const struct seep_view *view, const struct seep_group *group)
{
	struct seep_row row = seep_row_of(view->sites, &view->profile->contexts[group->context],
					  group->stack, group->stack_count);

	row.many = group->context_count > 1;
	return row;
}

/* "load_rows ← visit ×17 ← main", and where the first of them stands. */
static void add_row(struct seep_table *table, const struct seep_row *row)
{
	SEEP_FREED char *chain = seep_xasprintf("%s%s", row->name, row->callers);

	seep_table_add(table, chain);
	seep_table_add(table, row->place);
}

static void print_few_leaks(const struct seep_printer *printer, struct seep_view *view,
			    const struct seep_leaks_view *leaks)
{
	static const struct seep_column columns[] = {
		{ NULL, SEEP_ALIGN_RIGHT, SEEP_CUT_NEVER, 0 },
		{ NULL, SEEP_ALIGN_LEFT, SEEP_CUT_NEVER, 2 },
		{ NULL, SEEP_ALIGN_LEFT, SEEP_CUT_END, 0 },
		{ NULL, SEEP_ALIGN_LEFT, SEEP_CUT_START, 1 },
	};
	SEEP_TABLE(table, columns);
	struct seep_row *rows;

	if (leaks->count == 0)
		return;
	rows = seep_xcalloc(leaks->count, sizeof(*rows));
	for (uint32_t i = 0; i < leaks->count; i++)
		rows[i] = row_of_leak(view, leaks->items[i].leak);
	seep_rows_tell_apart(rows, leaks->count, true);
	for (uint32_t i = 0; i < leaks->count; i++) {
		const struct seep_profile_leak *leak = leaks->items[i].leak;

		seep_table_add(table,
			       seep_estimate_text(seep_bytes_text(leak->bytes + leak->with_bytes),
						  leak->bytes_error, seep_bytes_text)
				       .text);
		seep_table_add(table, seep_verdict_name(leak->verdict));
		add_row(table, &rows[i]);
	}
	seep_rows_free(rows, leaks->count);
	seep_line_print(printer, "%s%s, by what is lost with %s:",
			leaks->count < leaks->all ? "Largest of " : "",
			seep_things_text(leaks->all, "leak").text, leaks->all == 1 ? "it" : "each");
	seep_table_print(table, printer, 2);
}

static void print_few_growing(const struct seep_printer *printer, const struct seep_view *view,
			      const struct seep_growth_view *growth)
{
	SEEP_TABLE(table, seep_report_ranked);
	struct seep_row *rows = seep_xcalloc(growth->count, sizeof(*rows));
	uint32_t count = 0;

	for (; count < growth->count && growth->items[count].growth.verdict != SEEP_GROWTH_NONE;
	     count++)
		rows[count] = row_of_group(view, growth->items[count].group);
	seep_rows_tell_apart(rows, count, true);
	for (uint32_t i = 0; i < count; i++) {
		const struct seep_growing_stack *item = &growth->items[i];

		seep_table_add(table, seep_bytes_text(item->growth.bytes).text);
		seep_table_add(table, item->growth.verdict == SEEP_GROWTH_GROWING
					      ? seep_growth_rate_text(
							seep_growth_bytes_per_hour(&item->growth))
							.text
					      : seep_growth_verdict_name(item->growth.verdict));
		add_row(table, &rows[i]);
	}
	seep_rows_free(rows, count);
	if (seep_table_rows(table) > 0) {
		SEEP_FREED char *answer = seep_growth_answer(growth, view->profile);

		seep_line_print(printer, "%s:", answer);
		seep_table_print(table, printer, 2);
	}
}

static void add_thread(struct seep_table *table, const struct seep_view *view, const char *name,
		       const struct seep_counts *counts)
{
	seep_table_add(table, name);
	seep_table_add(table, seep_figure_text(counts, SEEP_FIGURE_live_bytes).text);
	seep_table_add(table, seep_figure_text(counts, SEEP_FIGURE_live_blocks).text);
	seep_table_add(table, seep_figure_text(counts, SEEP_FIGURE_peak_bytes).text);
	seep_table_add(table, seep_figure_text(counts, SEEP_FIGURE_allocs).text);
	seep_table_add(table, seep_view_share(view, seep_counts_value(counts, view->measure)).text);
}

static void print_threads(const struct seep_printer *printer, const struct seep_view *view)
{
	static const struct seep_column columns[] = {
		{ "THREAD", SEEP_ALIGN_LEFT, SEEP_CUT_END, 0 },
		{ "LIVE", SEEP_ALIGN_RIGHT, SEEP_CUT_NEVER, 0 },
		{ "BLOCKS", SEEP_ALIGN_RIGHT, SEEP_CUT_NEVER, 1 },
		{ "PEAK", SEEP_ALIGN_RIGHT, SEEP_CUT_NEVER, 3 },
		{ "ALLOCS", SEEP_ALIGN_RIGHT, SEEP_CUT_NEVER, 2 },
		{ "%", SEEP_ALIGN_RIGHT, SEEP_CUT_NEVER, 0 },
	};
	SEEP_FREED struct seep_threads *threads = NULL;
	SEEP_TABLE(table, columns);
	struct seep_counts rest = { 0 };
	char more[64];

	if (!seep_threads_known(view->profile))
		return;
	threads = seep_threads_new(NULL, view->profile, NULL, view->measure, false);
	for (uint32_t i = 0; i < threads->count; i++) {
		const struct seep_thread *thread = &threads->items[i];

		/* One more line says no more than the line that it stands for. */
		if (view->options->full || i < THREADS_SHOWN || threads->count == THREADS_SHOWN + 1)
			add_thread(table, view, thread->name ? thread->name : "(no thread)",
				   &thread->counts);
		else
			seep_counts_add(&rest, &thread->counts);
	}
	if (seep_table_rows(table) < threads->count) {
		(void)snprintf(more, sizeof(more), "(%u more)", threads->count - THREADS_SHOWN);
		add_thread(table, view, more, &rest);
	}
	seep_line_print(printer, "Threads by %s", seep_measure_words(view->profile, view->measure));
	fputc('\n', printer->out);
	seep_report_print_table(printer, view, table, 0);
	fputc('\n', printer->out);
}

static void print_stacks(const struct seep_printer *printer, const struct seep_view *view,
			 const struct seep_stacks_view *stacks)
{
	SEEP_FREED char *nothing = seep_view_nothing(view);

	if (stacks->count > 0)
		seep_line_print(printer, "Call stacks by %s: %s of %s, %s of all",
				seep_measure_words(view->profile, view->measure),
				seep_digits_text(stacks->count).text,
				seep_digits_text(stacks->all).text,
				seep_view_share(view, stacks->value).text);
	else
		seep_line_print(printer, "%s.", nothing);
	for (uint32_t i = 0; i < stacks->count; i++)
		seep_report_print_item(printer, view, &stacks->items[i].stack, i + 1);
	fputc('\n', printer->out);
}

static bool is_growing(const struct seep_growth_view *growth)
{
	return growth->count > 0 && growth->items[0].growth.verdict != SEEP_GROWTH_NONE;
}

void seep_report_stacks(const struct seep_printer *printer, const struct seep_sites *sites,
			const struct seep_view_options *options)
{
	struct seep_next_command next[] = {
		{ " --tree", "who called whom" },
		{ " --by peak", "what was alive at the peak" },
	};
	SEEP_RELEASED(seep_view_done) struct seep_view view;
	SEEP_RELEASED(seep_stacks_view_done) struct seep_stacks_view stacks;
	SEEP_RELEASED(seep_leaks_view_done) struct seep_leaks_view leaks;
	SEEP_RELEASED(seep_growth_view_done) struct seep_growth_view growth;

	seep_view_init(&view, sites->profile, sites, options);
	seep_growth_view_init(&growth, &view, GROWING);
	seep_stacks_view_init(&stacks, &view, options->top > 0 ? options->top : TOP_DEFAULT);
	seep_leaks_view_init(&leaks, &view, LEAKS);
	seep_view_add_head(&view, "", true, true);
	seep_lines_print(&view.head, printer);
	fputc('\n', printer->out);
	seep_report_print_findings(printer, &view);
	print_few_leaks(printer, &view, &leaks);
	if (leaks.count > 0)
		fputc('\n', printer->out);
	print_few_growing(printer, &view, &growth);
	if (is_growing(&growth))
		fputc('\n', printer->out);
	print_threads(printer, &view);
	seep_report_tags(printer, &view);
	print_stacks(printer, &view, &stacks);
	if (!seep_measure_is_known(sites->profile, SEEP_BY_PEAK))
		next[1] = seep_measure_is_known(sites->profile, SEEP_BY_ALLOCS)
				  ? (struct seep_next_command){ " --by allocs",
								"what was allocated most" }
				  : (struct seep_next_command){ " --flat", "functions" };
	else if (view.measure == SEEP_BY_PEAK)
		next[1] = (struct seep_next_command){ " --by live", "what is left" };
	if (is_growing(&growth))
		next[0] = next_growth;
	if (leaks.count > 0)
		next[1] = next_leaks;
	seep_view_add_unseen(&view, 0);
	seep_view_add_own(&view);
	seep_view_add_next(&view, next, 2);
	seep_lines_print(&view.foot, printer);
}

/*
 * Small, and the same size whatever happened. Every part has its most lines:
 *
 *	process 3, lead 3, start at 2, title, stacks 5, unseen 3, own 3, next 2 = 22
 *	where much was not seen: stacks 3, unseen 5 = 22; and what is lost, or why nobody knows: 2
 *	with leaks: no start at, stacks 3, leaks 4 (3), unseen 3 (4) = 24
 *	with heap errors: lead 2 more, leaks and stacks as where much was not seen
 *	with growth: 2 or 1 of those that grow and their title, so many stacks less
 *	with scopes: lead 1 more, a stack less
 */
enum { STACKS = 5, STACKS_CROWDED = 3, UNSEEN_LINES = 4, UNSEEN_LEAKS = 3, WIDTH_MIN = 40 };

static void print_summaries(const struct seep_printer *printer, const struct seep_view *view,
			    uint32_t top)
{
	SEEP_TABLE(table, seep_report_ranked);
	SEEP_RELEASED(seep_stacks_view_done) struct seep_stacks_view stacks;

	struct seep_row *rows;

	seep_stacks_view_init(&stacks, view, top);
	rows = seep_xcalloc(stacks.count, sizeof(*rows));
	for (uint32_t i = 0; i < stacks.count; i++)
		rows[i] = row_of_group(view, stacks.items[i].group);
	seep_rows_tell_apart(rows, stacks.count, true);
	if (stacks.count > 0)
		seep_line_print(printer, "Largest of %s, by %s:",
				seep_things_text(stacks.all, "call stack").text,
				seep_measure_words(view->profile, view->measure));
	for (uint32_t i = 0; i < stacks.count; i++) {
		const int64_t value = seep_counts_value(&stacks.items[i].group->counts,
							view->measure);

		seep_table_add(
			table,
			seep_counts_text(&stacks.items[i].group->counts, view->measure).text);
		seep_table_add(table, seep_view_share(view, value).text);
		add_row(table, &rows[i]);
	}
	seep_rows_free(rows, stacks.count);
	seep_table_print(table, printer, 2);
}

void seep_report_summary(const struct seep_printer *printer, const struct seep_profile *profile,
			 const char *path)
{
	const struct seep_view_options options = { .path = path, .by = SEEP_BY_CHOICE };
	struct seep_next_command next[] = {
		{ "", "the largest stacks in full" },
		{ " --tree", "who called whom" },
	};
	const bool findings = seep_findings_count(profile) > 0;
	const bool crowded = profile->unseen_count + profile->scan.caveat_count > 1 || findings;
	SEEP_RELEASED(seep_sites_free_at) struct seep_sites *sites = seep_sites_new(profile);
	struct seep_printer narrow = *printer;
	SEEP_RELEASED(seep_view_done) struct seep_view view;
	SEEP_RELEASED(seep_leaks_view_done) struct seep_leaks_view leaks;
	SEEP_RELEASED(seep_growth_view_done) struct seep_growth_view growth;
	uint32_t stacks;

	if (narrow.width == 0 || narrow.width > 80)
		narrow.width = 80;
	if (narrow.width < WIDTH_MIN)
		narrow.width = WIDTH_MIN;
	seep_view_init(&view, profile, sites, &options);
	seep_leaks_view_init(&leaks, &view, crowded ? LEAKS - 1 : LEAKS);
	stacks = (crowded || leaks.count > 0 ? STACKS_CROWDED : STACKS) -
		 (profile->scope_count > 0);
	seep_view_add_head(&view, "seep: ", false, leaks.count == 0);
	if (findings)
		next[0].shows = "each heap error, and where the block came from";
	seep_growth_view_init(&growth, &view, crowded || leaks.count > 0 ? 1 : GROWING_CROWDED);
	if (is_growing(&growth)) {
		next[findings] = next_growth;
		stacks -= stacks > growth.count + 1 ? growth.count + 1 : stacks;
	}
	if (leaks.count > 0)
		next[1] = next_leaks;
	seep_lines_print(&view.head, &narrow);
	print_few_leaks(&narrow, &view, &leaks);
	print_few_growing(&narrow, &view, &growth);
	print_summaries(&narrow, &view, stacks);
	seep_view_add_unseen(&view, crowded && leaks.count > 0 ? UNSEEN_LEAKS : UNSEEN_LINES);
	seep_view_add_own(&view);
	seep_view_add_next(&view, next, sizeof(next) / sizeof(next[0]));
	seep_lines_print(&view.foot, &narrow);
}
