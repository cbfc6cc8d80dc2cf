/* SPDX-License-Identifier: MIT */
/* The call tree, and functions. */
#include "report/report.h"

#include "analysis/flat.h"
#include "base/path.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "report/report_parts.h"
#include "view/frame_text.h"
#include "view/tree_view.h"

enum { FUNCTIONS_DEFAULT = 25 };

static void add_node(struct seep_table *table, const struct seep_view *view,
		     const struct seep_tree_node *node, const char *prefix)
{
	const struct seep_profile_frame *frame;
	SEEP_FREED char *repeats = NULL, *place = NULL;

	if (node->entry.frame >= SEEP_TREE_SPECIAL) {
		seep_table_add(table, seep_tree_special_words(node->entry.frame));
		seep_table_add(table, NULL);
		return;
	}
	frame = &view->profile->frames[node->entry.frame];
	repeats = seep_frame_repeats(&node->entry);
	place = seep_frame_place(view->profile, frame, !node->several_lines);
	seep_report_add_name(table, view, frame, prefix, repeats, SEEP_STYLE_PLAIN);
	seep_table_add(table, place);
}

static void print_tree(const struct seep_printer *printer, const struct seep_view *view)
{
	SEEP_TABLE(table, seep_report_ranked);
	SEEP_RELEASED(seep_tree_view_done) struct seep_tree_view rows;

	seep_tree_view_init(&rows, view);
	for (size_t i = 0; i < rows.count; i++) {
		const struct seep_tree_row *row = &rows.rows[i];
		const struct seep_tree_node *node = &rows.tree->nodes[row->node];
		const int64_t value = node->value;

		seep_table_add(table,
			       row->figures
				       ? seep_value_text(value, node->square, view->measure).text
				       : NULL);
		seep_table_add(table, row->figures ? seep_view_share(view, value).text : NULL);
		add_node(table, view, node, row->prefix);
	}
	seep_line_print(printer, "Call tree by %s",
			seep_measure_words(view->profile, view->measure));
	fputc('\n', printer->out);
	seep_report_print_table(printer, view, table, 2);
	if (rows.tree->pruned_count > 0) {
		fputc('\n', printer->out);
		seep_line_print(printer, "%s branch%s below %d%% left out: %s (%s)%s",
				seep_digits_text(rows.tree->pruned_count).text,
				rows.tree->pruned_count == 1 ? "" : "es", SEEP_TREE_PRUNE_PERCENT,
				seep_measure_text(rows.tree->pruned_value, view->measure).text,
				seep_view_share(view, rows.tree->pruned_value).text,
				rows.tree->pruned_count == 1 ? "" : " together");
	}
}

void seep_report_tree(const struct seep_printer *printer, const struct seep_sites *sites,
		      const struct seep_view_options *options)
{
	seep_report_print_view(printer, sites, options,
			       (struct seep_next_command){ " --flat", "the same by function" },
			       print_tree);
}

static void add_figures(struct seep_table *table, const struct seep_view *view,
			const struct seep_flat_row *row)
{
	const int64_t own = row->self;

	seep_table_add(table, own != 0 ? seep_value_text(own, row->self_square, view->measure).text
				       : NULL);
	seep_table_add(table, own != 0 ? seep_view_share(view, own).text : NULL);
	seep_table_add(table,
		       seep_value_text(row->inclusive, row->inclusive_square, view->measure).text);
	seep_table_add(table, seep_view_share(view, row->inclusive).text);
	seep_table_add(table, seep_count_text((uint64_t)row->blocks).text);
}

static void print_flat(const struct seep_printer *printer, const struct seep_view *view)
{
	static const struct seep_column columns[] = {
		{ "SELF", SEEP_ALIGN_RIGHT, SEEP_CUT_NEVER, 0 },
		{ "%", SEEP_ALIGN_RIGHT, SEEP_CUT_NEVER, 5 },
		{ "INCLUSIVE", SEEP_ALIGN_RIGHT, SEEP_CUT_NEVER, 6 },
		{ "%", SEEP_ALIGN_RIGHT, SEEP_CUT_NEVER, 3 },
		{ "BLOCKS", SEEP_ALIGN_RIGHT, SEEP_CUT_NEVER, 2 },
		{ "STACKS", SEEP_ALIGN_RIGHT, SEEP_CUT_NEVER, 1 },
		{ "FUNCTION", SEEP_ALIGN_LEFT, SEEP_CUT_END, 0 },
		{ "FILE", SEEP_ALIGN_LEFT, SEEP_CUT_START, 4 },
	};
	SEEP_FREED struct seep_flat *flat = seep_flat_new(view->sites, view->measure, true);
	const uint32_t asked = view->options->top > 0 ? view->options->top : FUNCTIONS_DEFAULT;
	const uint32_t wanted = asked < flat->count ? asked : flat->count;
	SEEP_FREED uint32_t *top = seep_xcalloc(wanted, sizeof(*top));
	const uint32_t shown = seep_flat_top(flat, view->options->full, wanted, top);
	SEEP_TABLE(table, columns);

	for (uint32_t i = 0; i < shown; i++) {
		const struct seep_flat_row *row = &flat->rows[top[i]];
		const struct seep_profile_frame *frame = &view->profile->frames[row->frame];
		SEEP_FREED char *place = seep_frame_place(view->profile, frame, false);

		add_figures(table, view, row);
		seep_table_add(table, seep_digits_text(row->stacks).text);
		seep_report_add_name(table, view, frame, "", "", SEEP_STYLE_PLAIN);
		/* Where there is little room the function's name needs it more than the path. */
		seep_table_add_styled(table, SEEP_STYLE_PLAIN, place, seep_path_base(place));
	}
	if (flat->unnamed.self != 0) {
		add_figures(table, view, &flat->unnamed);
		seep_table_add(table, NULL);
		seep_table_add(table, "(no stack)");
	}
	seep_line_print(printer,
			"Functions by %s; SELF is what a function allocated itself or through "
			"library code and wrappers of malloc",
			seep_measure_words(view->profile, view->measure));
	fputc('\n', printer->out);
	seep_report_print_table(printer, view, table, 0);
}

void seep_report_flat(const struct seep_printer *printer, const struct seep_sites *sites,
		      const struct seep_view_options *options)
{
	seep_report_print_view(printer, sites, options,
			       (struct seep_next_command){ " --tree", "who called whom" },
			       print_flat);
}
