/* SPDX-License-Identifier: MIT */
#include "report/report_parts.h"

#include <inttypes.h>
#include <stdlib.h>

#include "analysis/threads.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "view/frame_text.h"

enum { THREADS_SHOWN = 8 };

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
	char *name = seep_frame_name(view->profile, frame,
				     view->options->full ? SEEP_NAME_WHOLE : SEEP_NAME_SHORT);
	char *brief = seep_frame_name(view->profile, frame, SEEP_NAME_BRIEF);
	char *cell = seep_xasprintf("%s%s%s", prefix, name, suffix);
	char *brief_cell = seep_xasprintf("%s%s%s", prefix, brief, suffix);

	seep_table_add_styled(table, style, cell, brief_cell);
	free(brief_cell);
	free(cell);
	free(brief);
	free(name);
}

void seep_report_print_table(const struct seep_printer *printer, const struct seep_view *view,
			     struct seep_table *table, size_t indent)
{
	const struct seep_printer wide = { printer->out, 0, printer->color };

	seep_table_print(table, view->options->full ? &wide : printer, indent);
	seep_table_free(table);
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
	struct seep_table *table;
	struct seep_counts rest = { 0 };
	char more[64];

	if (!seep_threads_known(view->profile))
		return;
	threads = seep_threads_new(groups, view->profile, NULL, view->measure);
	table = seep_table_new(columns, sizeof(columns) / sizeof(columns[0]));
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
