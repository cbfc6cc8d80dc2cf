/* SPDX-License-Identifier: MIT */
#include "report/text_threads.h"

#include <inttypes.h>

#include "analysis/threads.h"
#include "base/table.h"
#include "base/units.h"
#include "report/text_head.h"
#include "report/text_style.h"

enum { SHOWN = 8 };

static const struct seep_column columns[] = {
	{ "THREAD", SEEP_ALIGN_LEFT, SEEP_CUT_END },
	{ "LIVE", SEEP_ALIGN_RIGHT, SEEP_CUT_NEVER },
	{ "BLOCKS", SEEP_ALIGN_RIGHT, SEEP_CUT_NEVER },
	{ "PEAK", SEEP_ALIGN_RIGHT, SEEP_CUT_NEVER },
	{ "ALLOCS", SEEP_ALIGN_RIGHT, SEEP_CUT_NEVER },
	{ "%", SEEP_ALIGN_RIGHT, SEEP_CUT_NEVER },
};

static void add_row(struct seep_table *table, const char *name, const struct seep_counts *counts,
		    const struct seep_counts *total, enum seep_measure measure)
{
	seep_table_add(table, name);
	seep_table_add(table, seep_bytes_text(counts->live_bytes).text);
	seep_table_add(table, seep_count_text(counts->live_blocks).text);
	seep_table_add(table, seep_bytes_text(counts->peak_bytes).text);
	seep_table_add(table, seep_count_text(counts->allocs).text);
	seep_table_add(table, seep_percent_text(seep_counts_value(counts, measure),
						seep_counts_value(total, measure))
				      .text);
}

void seep_report_threads(FILE *out, const struct seep_groups *groups,
			 const struct seep_profile *profile,
			 const struct seep_report_options *options, enum seep_measure measure)
{
	struct seep_threads *threads = seep_threads_new(groups, profile, NULL, measure);
	struct seep_table *table = seep_table_new(columns, sizeof(columns) / sizeof(columns[0]));
	struct seep_counts rest = { 0 };
	char more[64];

	for (uint32_t i = 0; i < threads->count; i++) {
		const struct seep_thread *thread = &threads->items[i];

		/* One more line says no more than the line that it stands for. */
		if (options->full || i < SHOWN || threads->count == SHOWN + 1)
			add_row(table, thread->name ? thread->name : "(no thread)", &thread->counts,
				&groups->total, measure);
		else
			seep_counts_add(&rest, &thread->counts);
	}
	if (seep_table_rows(table) < threads->count) {
		(void)snprintf(more, sizeof(more), "(%" PRIu32 " more)", threads->count - SHOWN);
		add_row(table, more, &rest, &groups->total, measure);
	}
	fprintf(out, "Threads by %s\n\n", seep_head_measure_words(profile, measure));
	seep_table_print(table, out, options->width);
	fputc('\n', out);
	seep_table_free(table);
	seep_threads_free(threads);
}
