/* SPDX-License-Identifier: MIT */
/*
 * The call tree. A function that is the only one called on the way stands under its caller without
 * indentation ("→"), so that only real branches move to the right.
 */
#include "report/report.h"

#include <inttypes.h>
#include <stdlib.h>

#include "analysis/sites.h"
#include "analysis/tree.h"
#include "base/terminal.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "report/text_foot.h"
#include "report/text_frame.h"
#include "report/text_head.h"
#include "report/text_style.h"

enum {
	PRUNE_PERCENT = 1,
	VALUE_COLUMNS = 10,
	SHARE_COLUMNS = 7,
	PLACES_COLUMN_FREE = 76, /* where places begin at most when there is no limit */
	NAME_COLUMNS_MIN = 24,
	PLACE_COLUMNS_MIN = 10,
	DEPTH_MAX = 4096, /* branches in branches; a bound on recursion only */
};

struct view {
	FILE *out;
	const struct seep_profile *profile;
	const struct seep_report_options *options;
	const struct seep_tree *tree;
	enum seep_measure measure;
	uint64_t total;
	uint32_t depth;
	struct seep_strbuf prefix; /* the lines of open branches */
	bool measuring;		   /* nothing is printed, only @names_end is found */
	size_t names_end;	   /* the column where the longest name ends */
};

static uint64_t value_of(const struct view *view, uint32_t node)
{
	return seep_counts_value(&view->tree->nodes[node].counts, view->measure);
}

static void add_special(struct seep_strbuf *buf, uint32_t frame)
{
	switch (frame) {
	case SEEP_TREE_NO_STACK:
		seep_strbuf_adds(buf, "(no stack: no walk was possible)");
		return;
	case SEEP_TREE_OTHER:
		seep_strbuf_adds(buf, "(stacks met after the ledger was full)");
		return;
	case SEEP_TREE_TRUNCATED:
		seep_strbuf_adds(buf, "(callers unknown: too deep, or no unwind information)");
		return;
	default:
		seep_strbuf_adds(buf, "(callers not stored: depth=)");
	}
}

static void add_name(struct seep_strbuf *line, const struct view *view,
		     const struct seep_tree_node *node, size_t room)
{
	seep_frame_name(line, view->profile, &view->profile->frames[node->frame], room,
			view->options->full);
	if (node->period > 0) {
		seep_strbuf_addc(line, ' ');
		seep_frame_repeats(line, node->period, node->repeats);
	}
}

/* Append name, repeats and place of @node. */
static void add_node(struct seep_strbuf *line, const struct view *view,
		     const struct seep_tree_node *node)
{
	const size_t width = view->options->full ? 0 : view->options->width;
	const size_t places_max = width == 0 ? PLACES_COLUMN_FREE : width * 3 / 5;
	const size_t places = view->names_end < places_max ? view->names_end : places_max;
	const size_t start = seep_display_width(line->text, line->length);
	size_t room = 0;
	size_t used;

	if (node->frame >= SEEP_TREE_SPECIAL) {
		add_special(line, node->frame);
		return;
	}
	if (width > 0 && start + NAME_COLUMNS_MIN <= places_max)
		room = places_max - start;
	else if (width > 0) /* no place then */
		room = start + NAME_COLUMNS_MIN < width ? width - start : NAME_COLUMNS_MIN;
	add_name(line, view, node, room);
	seep_text_pad(line, 0, places);
	used = seep_display_width(line->text, line->length) + 2;
	if (width > 0 && used + PLACE_COLUMNS_MIN > width)
		return;
	seep_strbuf_adds(line, "  ");
	seep_frame_place(line, view->profile, &view->profile->frames[node->frame],
			 width > 0 ? width - used : 0, !node->several_lines);
}

/* Nothing but spaces may end a line. */
static void print_line(const struct view *view, struct seep_strbuf *line)
{
	size_t length = line->length;

	while (length > 0 && line->text[length - 1] == ' ')
		length--;
	seep_strbuf_cut(line, length);
	fprintf(view->out, "%s\n", line->text);
}

/* The lines that have no place do not count. */
static void measure_node(struct view *view, const struct seep_tree_node *node, const char *joint)
{
	struct seep_strbuf line;
	size_t end;

	if (node->frame >= SEEP_TREE_SPECIAL)
		return;
	seep_strbuf_init(&line, SEEP_LINE_BYTES_MAX);
	seep_strbuf_adds(&line, view->prefix.text);
	seep_strbuf_adds(&line, joint);
	add_name(&line, view, node, 0);
	end = VALUE_COLUMNS + SHARE_COLUMNS + 2 + seep_display_width(line.text, line.length);
	if (end > view->names_end)
		view->names_end = end;
	seep_strbuf_done(&line);
}

static void print_node(struct view *view, uint32_t node, const char *joint, bool figures)
{
	struct seep_strbuf line;

	if (view->measuring) {
		measure_node(view, &view->tree->nodes[node], joint);
		return;
	}
	seep_strbuf_init(&line, SEEP_LINE_BYTES_MAX);
	if (figures) {
		const uint64_t value = value_of(view, node);
		const struct seep_unit_text text = seep_measure_is_bytes(view->measure)
							   ? seep_bytes_text(value)
							   : seep_count_text(value);

		seep_strbuf_addf(&line, "%*s%*s  ", VALUE_COLUMNS, text.text, SHARE_COLUMNS,
				 seep_percent_text(value, view->total).text);
	} else {
		seep_strbuf_repeat(&line, ' ', VALUE_COLUMNS + SHARE_COLUMNS + 2);
	}
	seep_strbuf_adds(&line, view->prefix.text);
	seep_strbuf_adds(&line, joint);
	add_node(&line, view, &view->tree->nodes[node]);
	print_line(view, &line);
	seep_strbuf_done(&line);
}

static void print_children(struct view *view, uint32_t node);

/* Print @node and, below it without indentation, its only descendants up to the next branching. */
static void print_branch(struct view *view, uint32_t node, const char *joint, const char *open)
{
	const size_t prefix = view->prefix.length;

	print_node(view, node, joint, true);
	seep_strbuf_adds(&view->prefix, open);
	for (;;) {
		const uint32_t only = view->tree->nodes[node].first_child;

		if (only == 0 || view->tree->nodes[only].next != 0)
			break;
		print_node(view, only, "→ ", value_of(view, only) != value_of(view, node));
		node = only;
	}
	print_children(view, node);
	seep_strbuf_cut(&view->prefix, prefix);
}

static void print_children(struct view *view, uint32_t node)
{
	uint32_t *children;
	uint32_t count;

	if (view->depth >= DEPTH_MAX)
		return;
	view->depth++;
	count = seep_tree_children(view->tree, node, &children);
	for (uint32_t i = 0; i < count; i++) {
		const bool last = i + 1 == count;

		if (node == 0)
			print_branch(view, children[i], "", "");
		else
			print_branch(view, children[i], last ? "└─ " : "├─ ", last ? "   " : "│  ");
	}
	free(children);
	view->depth--;
}

static void print_pruned(const struct view *view)
{
	uint64_t pruned_value = 0;
	uint32_t count = 0;
	struct seep_unit_text value;

	for (uint32_t i = 0; i < view->tree->count; i++) {
		pruned_value += view->tree->nodes[i].pruned_value;
		count += view->tree->nodes[i].pruned_count;
	}
	value = seep_measure_is_bytes(view->measure) ? seep_bytes_text(pruned_value)
						     : seep_count_text(pruned_value);
	if (count > 0)
		fprintf(view->out, "\n%s branch%s below %d%% left out: %s (%s)%s\n",
			seep_digits_text(count).text, count == 1 ? "" : "es", PRUNE_PERCENT,
			value.text, seep_percent_text(pruned_value, view->total).text,
			count == 1 ? "" : " together");
}

/* Twice: the names must be known to say where the places begin. */
static void print_tree(struct view *view)
{
	fprintf(view->out, "\nCall tree by %s\n\n",
		seep_head_measure_words(view->profile, view->measure));
	view->measuring = true;
	print_children(view, 0);
	view->measuring = false;
	print_children(view, 0);
	print_pruned(view);
}

static uint64_t total_of(const struct seep_profile *profile, enum seep_measure measure)
{
	struct seep_counts sum = { 0 };

	seep_counts_add_context(&sum, &profile->left_out);
	for (uint32_t i = 0; i < profile->context_count; i++)
		seep_counts_add_context(&sum, &profile->contexts[i]);
	return seep_counts_value(&sum, measure);
}

void seep_report_tree(FILE *out, const struct seep_profile *profile,
		      const struct seep_report_options *options)
{
	const enum seep_measure measure = seep_report_measure(profile, options);
	struct seep_sites *sites = seep_sites_new(profile);
	const uint64_t total = total_of(profile, measure);
	struct seep_tree *tree = seep_tree_new(sites, options->full, measure,
					       total / 100 * PRUNE_PERCENT);
	struct view view = {
		.out = out,
		.profile = profile,
		.options = options,
		.tree = tree,
		.measure = measure,
		.total = total,
	};
	const struct seep_next_command next = { " --flat", "the same by function" };

	seep_strbuf_init(&view.prefix, SEEP_LINE_BYTES_MAX);
	seep_head_process(out, profile, options, "", false);
	seep_head_lead(out, profile, options);
	seep_head_shown(out, profile, options, measure);
	if (total > 0)
		print_tree(&view);
	else
		fprintf(out, "\nThere are no %s.\n", seep_head_measure_words(profile, measure));
	fputc('\n', out);
	seep_foot_unseen(out, profile, options, 0);
	seep_foot_next(out, options, &next, 1);
	seep_strbuf_done(&view.prefix);
	seep_tree_free(tree);
	seep_sites_free(sites);
}
