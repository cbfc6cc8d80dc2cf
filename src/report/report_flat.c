/* SPDX-License-Identifier: MIT */
/* Functions in a table. */
#include "base/path.h"
#include "report/report.h"

#include <inttypes.h>
#include <stdlib.h>

#include "analysis/flat.h"
#include "base/table.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "report/text_foot.h"
#include "report/text_frame.h"
#include "report/text_head.h"
#include "report/text_style.h"

enum { TOP_DEFAULT = 25, WIDE_COLUMNS = 100 };

static const struct seep_column columns[] = {
	{ "SELF", SEEP_ALIGN_RIGHT, SEEP_CUT_NEVER },
	{ "%", SEEP_ALIGN_RIGHT, SEEP_CUT_NEVER },
	{ "INCLUSIVE", SEEP_ALIGN_RIGHT, SEEP_CUT_NEVER },
	{ "%", SEEP_ALIGN_RIGHT, SEEP_CUT_NEVER },
	{ "BLOCKS", SEEP_ALIGN_RIGHT, SEEP_CUT_NEVER },
	{ "STACKS", SEEP_ALIGN_RIGHT, SEEP_CUT_NEVER },
	{ "FUNCTION", SEEP_ALIGN_LEFT, SEEP_CUT_END },
	{ "FILE", SEEP_ALIGN_LEFT, SEEP_CUT_START },
};

static struct seep_unit_text value_text(uint64_t value, enum seep_measure measure)
{
	return seep_measure_is_bytes(measure) ? seep_bytes_text(value) : seep_count_text(value);
}

static void add_figures(struct seep_table *table, const struct seep_counts *self,
			const struct seep_counts *inclusive, const struct seep_counts *total,
			enum seep_measure measure)
{
	const uint64_t all = seep_counts_value(total, measure);
	const uint64_t own = seep_counts_value(self, measure);
	const uint64_t sum = seep_counts_value(inclusive, measure);

	seep_table_add(table, own > 0 ? value_text(own, measure).text : "");
	seep_table_add(table, own > 0 ? seep_percent_text(own, all).text : "");
	seep_table_add(table, value_text(sum, measure).text);
	seep_table_add(table, seep_percent_text(sum, all).text);
	seep_table_add(table, seep_count_text(seep_counts_blocks(inclusive, measure)).text);
}

static void add_row(struct seep_table *table, const struct seep_profile *profile,
		    const struct seep_report_options *options, const struct seep_flat_row *row)
{
	const struct seep_profile_frame *frame = &profile->frames[row->frame];
	struct seep_strbuf text;
	bool narrow;

	seep_table_add(table, seep_digits_text(row->stacks).text);
	seep_strbuf_init(&text, SEEP_LINE_BYTES_MAX);
	seep_frame_name(&text, profile, frame,
			options->width > 0 && !options->full ? options->width / 2 : 0,
			options->full);
	seep_table_add(table, text.text);
	seep_strbuf_clear(&text);
	seep_frame_place(&text, profile, frame, 0, false);
	/* Where there is little room the function's name needs it more than the path. */
	narrow = options->width > 0 && options->width < WIDE_COLUMNS && !options->full;
	seep_table_add(table, narrow ? seep_path_base(text.text) : text.text);
	seep_strbuf_done(&text);
}

static void print_table(FILE *out, const struct seep_profile *profile,
			const struct seep_report_options *options, const struct seep_flat *flat,
			enum seep_measure measure)
{
	const uint32_t wanted = options->top > 0 ? options->top : TOP_DEFAULT;
	uint32_t *top = seep_xcalloc(wanted < flat->count ? wanted : flat->count, sizeof(*top));
	const uint32_t shown = seep_flat_top(flat, measure, options->full, wanted, top);
	struct seep_table *table = seep_table_new(columns, sizeof(columns) / sizeof(columns[0]));

	for (uint32_t i = 0; i < shown; i++) {
		const struct seep_flat_row *row = &flat->rows[top[i]];

		add_figures(table, &row->self, &row->inclusive, &flat->total, measure);
		add_row(table, profile, options, row);
	}
	if (seep_counts_value(&flat->unnamed, measure) > 0) {
		add_figures(table, &flat->unnamed, &flat->unnamed, &flat->total, measure);
		seep_table_add(table, "");
		seep_table_add(table, "(no stack)");
		seep_table_add(table, "");
	}
	seep_table_print(table, out, options->width);
	seep_table_free(table);
	free(top);
}

void seep_report_flat(FILE *out, const struct seep_profile *profile,
		      const struct seep_report_options *options)
{
	const enum seep_measure measure = seep_report_measure(profile, options);
	struct seep_sites *sites = seep_sites_new(profile);
	struct seep_flat *flat = seep_flat_new(sites);
	const struct seep_next_command next = { " --tree", "who called whom" };
	char *title = seep_xasprintf("Functions by %s; SELF is what a function allocated itself or "
				     "through library code it called",
				     seep_head_measure_words(profile, measure));

	seep_head_process(out, profile, options, "", false);
	seep_head_lead(out, profile, options);
	seep_head_shown(out, profile, options, measure);
	fputc('\n', out);
	if (seep_counts_value(&flat->total, measure) > 0) {
		seep_text_fold(out, options, SEEP_STYLE_PLAIN, 0, 2, title);
		fputc('\n', out);
		print_table(out, profile, options, flat, measure);
	} else {
		fprintf(out, "There are no %s.\n", seep_head_measure_words(profile, measure));
	}
	fputc('\n', out);
	seep_foot_unseen(out, profile, options, 0);
	seep_foot_next(out, options, &next, 1);
	free(title);
	seep_flat_free(flat);
	seep_sites_free(sites);
}
