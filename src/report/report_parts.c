/* SPDX-License-Identifier: MIT */
#include "report/report_parts.h"

#include <inttypes.h>

#include "analysis/growth_text.h"
#include "analysis/threads.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "view/frame_text.h"

enum { THREADS_SHOWN = 8, CHAIN = 4 };

const struct seep_column seep_report_ranked[4] = {
	{ NULL, SEEP_ALIGN_RIGHT, SEEP_CUT_NEVER, 0 },
	{ NULL, SEEP_ALIGN_RIGHT, SEEP_CUT_NEVER, 2 },
	{ NULL, SEEP_ALIGN_LEFT, SEEP_CUT_END, 0 },
	{ NULL, SEEP_ALIGN_LEFT, SEEP_CUT_START, 1 },
};

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

void seep_report_print_stack(const struct seep_printer *printer, const struct seep_view *view,
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
	seep_report_print_stack(printer, view, lines, SEEP_REPORT_INDENT);
}

/* "load_rows ← visit ×17 ← main" */
static char *chain_of(const struct seep_view *view, const struct seep_stack_lines *lines)
{
	SEEP_STRBUF(chain, SEEP_LINE_BYTES_MAX);
	uint32_t frames = 0;

	for (uint32_t i = lines->blamed; i < lines->count && frames < CHAIN; i++) {
		const struct seep_stack_line *line = &lines->items[i];
		SEEP_FREED char *name = NULL, *repeats = NULL;

		if (line->entry == NULL)
			break;
		name = seep_frame_name(view->profile, &view->profile->frames[line->entry->frame],
				       SEEP_NAME_BRIEF);
		repeats = seep_frame_repeats(line->entry);
		seep_strbuf_addf(&chain, "%s%s%s", frames++ > 0 ? " ← " : "", name, repeats);
	}
	if (frames == 0)
		seep_strbuf_addf(&chain, "(%s)", lines->items[0].note);
	return seep_strbuf_take(&chain);
}

void seep_report_add_chain(struct seep_table *table, const struct seep_view *view,
			   const struct seep_stack_lines *lines)
{
	const struct seep_profile_stack_entry *entry = lines->items[lines->blamed].entry;
	SEEP_FREED char *chain = chain_of(view, lines);
	SEEP_FREED char *place = entry != NULL
					 ? seep_frame_place(view->profile,
							    &view->profile->frames[entry->frame],
							    true)
					 : NULL;

	seep_table_add(table, chain);
	seep_table_add(table, place);
}

void seep_report_few_leaks(const struct seep_printer *printer, const struct seep_view *view,
			   const struct seep_leaks_view *leaks)
{
	static const struct seep_column columns[] = {
		{ NULL, SEEP_ALIGN_RIGHT, SEEP_CUT_NEVER, 0 },
		{ NULL, SEEP_ALIGN_LEFT, SEEP_CUT_NEVER, 2 },
		{ NULL, SEEP_ALIGN_LEFT, SEEP_CUT_END, 0 },
		{ NULL, SEEP_ALIGN_LEFT, SEEP_CUT_START, 1 },
	};
	SEEP_TABLE(table, columns);

	if (leaks->count == 0)
		return;
	for (uint32_t i = 0; i < leaks->count; i++) {
		const struct seep_profile_leak *leak = leaks->items[i].leak;

		seep_table_add(table, seep_bytes_text(leak->bytes + leak->with_bytes).text);
		seep_table_add(table, seep_verdict_name(leak->verdict));
		seep_report_add_chain(table, view, &leaks->items[i].stack);
	}
	seep_line_print(printer, "%s%s, by what is lost with %s:",
			leaks->count < leaks->all ? "Largest of " : "",
			seep_things_text(leaks->all, "leak").text, leaks->all == 1 ? "it" : "each");
	seep_table_print(table, printer, 2);
}

void seep_report_few_growing(const struct seep_printer *printer, const struct seep_view *view,
			     const struct seep_growth_view *growth)
{
	SEEP_TABLE(table, seep_report_ranked);

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
		SEEP_FREED char *answer = seep_growth_answer(growth, view->profile);

		seep_line_print(printer, "%s:", answer);
		seep_table_print(table, printer, 2);
	}
}

static void add_thread(struct seep_table *table, const struct seep_view *view, const char *name,
		       const struct seep_counts *counts)
{
	seep_table_add(table, name);
	seep_table_add(table, seep_bytes_text((uint64_t)counts->live_bytes).text);
	seep_table_add(table, seep_count_text((uint64_t)counts->live_blocks).text);
	seep_table_add(table, seep_bytes_text((uint64_t)counts->peak_bytes).text);
	seep_table_add(table, seep_count_text((uint64_t)counts->allocs).text);
	seep_table_add(table, seep_view_share(view, seep_counts_value(counts, view->measure)).text);
}

void seep_report_threads(const struct seep_printer *printer, const struct seep_view *view,
			 const struct seep_groups *groups)
{
	static const struct seep_column columns[] = {
		{ "THREAD", SEEP_ALIGN_LEFT, SEEP_CUT_END, 0 },
		{ "LIVE", SEEP_ALIGN_RIGHT, SEEP_CUT_NEVER, 0 },
		{ "BLOCKS", SEEP_ALIGN_RIGHT, SEEP_CUT_NEVER, 1 },
		{ "PEAK", SEEP_ALIGN_RIGHT, SEEP_CUT_NEVER, 3 },
		{ "ALLOCS", SEEP_ALIGN_RIGHT, SEEP_CUT_NEVER, 2 },
		{ "%", SEEP_ALIGN_RIGHT, SEEP_CUT_NEVER, 0 },
	};
	struct seep_threads *threads;
	SEEP_TABLE(table, columns);
	struct seep_counts rest = { 0 };
	char more[64];

	if (!seep_threads_known(view->profile))
		return;
	threads = seep_threads_new(groups, view->profile, NULL, view->measure);
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
		(void)snprintf(more, sizeof(more), "(%" PRIu32 " more)",
			       threads->count - THREADS_SHOWN);
		add_thread(table, view, more, &rest);
	}
	seep_line_print(printer, "Threads by %s", seep_measure_words(view->profile, view->measure));
	fputc('\n', printer->out);
	seep_report_print_table(printer, view, table, 0);
	fputc('\n', printer->out);
	seep_threads_free(threads);
}
