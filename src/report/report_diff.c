/* SPDX-License-Identifier: MIT */
/* What changed between two profiles, or is held since a mark. */
#include "report/report.h"

#include <inttypes.h>

#include "base/terminal.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "profile/estimate.h"
#include "profile/kind_name.h"
#include "report/report_parts.h"
#include "view/view_head.h"

enum { BEFORE, AFTER, TOP_DEFAULT = 10, FACTOR_DIGITS = 10 };

/* What the stacks of one side are shown by. */
struct side {
	struct seep_sites *sites;
	struct seep_view view;
};

static char *blocks_of_rounds(const struct seep_diff *diff, const struct seep_diff_row *row)
{
	const char *about = seep_diff_error(diff, row->counts) > 0 ? "about " : "";
	uint64_t least = UINT64_MAX, most = 0;

	for (uint32_t i = 0; i < diff->round_count; i++) {
		least = row->rounds[i].blocks < least ? row->rounds[i].blocks : least;
		most = row->rounds[i].blocks > most ? row->rounds[i].blocks : most;
	}
	if (least < most)
		return seep_xasprintf("%s+%s to %s", about, seep_digits_text(least).text,
				      seep_things_text(most, "block").text);
	return seep_xasprintf("%s+%s", about, seep_things_text(least, "block").text);
}

/* "39.1 KB in 1 block" */
static void add_held_in_all(struct seep_strbuf *line, const struct seep_counts *held)
{
	seep_strbuf_addf(line, "%s in %s", seep_figure_text(held, SEEP_FIGURE_live_bytes).text,
			 seep_counted_text(held, SEEP_FIGURE_live_blocks, "block").text);
}

static void add_held(struct seep_strbuf *line, const struct seep_diff *diff,
		     const struct seep_diff_row *row)
{
	const struct seep_counts *held = &row->counts[AFTER];
	SEEP_FREED char *rounds = NULL;

	if (diff->round_count == 1) {
		add_held_in_all(line, held);
		return;
	}
	rounds = blocks_of_rounds(diff, row);
	seep_strbuf_addf(line, "%s in each of %" PRIu32 " rounds, %s in all", rounds,
			 diff->round_count, seep_figure_text(held, SEEP_FIGURE_live_bytes).text);
}

/* ", ×2.9" or ", ×12": where it is more than half as much again. */
static void add_factor(struct seep_strbuf *line, uint64_t before, uint64_t after)
{
	const double factor = before ? (double)after / (double)before : 0;

	if (factor >= FACTOR_DIGITS)
		seep_strbuf_addf(line, ", ×%s", seep_digits_text((uint64_t)factor).text);
	else if (factor > 1.5)
		seep_strbuf_addf(line, ", ×%.2g", factor);
}

/* "+1.1 MB (0.2 MB → 1.3 MB, ×6), blocks 80 ±9 → 200 ±15", "allocations +7 (5 → 12, ×2)" */
static void add_figures(struct seep_strbuf *line, const struct seep_diff *diff,
			const struct seep_diff_row *row)
{
	struct seep_unit_text (*const text)(uint64_t) = seep_measure_is_bytes(diff->measure)
								? seep_bytes_text
								: seep_digits_text;
	const int figure = seep_measure_blocks(diff->measure);
	int64_t values[2], blocks[2];

	for (int i = BEFORE; i <= AFTER; i++) {
		values[i] = seep_counts_value(&row->counts[i], diff->measure);
		blocks[i] = seep_counts_blocks(&row->counts[i], diff->measure);
	}
	if (!seep_measure_is_bytes(diff->measure))
		seep_strbuf_addf(line, "%sallocations ",
				 diff->measure == SEEP_BY_TEMPORARY ? "temporary " : "");
	seep_strbuf_addf(line, "%s%s (%s → %s",
			 seep_estimate_text(seep_change_text(values[AFTER] - values[BEFORE], text),
					    seep_diff_error(diff, row->counts), text)
				 .text,
			 seep_diff_is_within_error(diff, row->counts) ? ", within the error" : "",
			 text((uint64_t)values[BEFORE]).text, text((uint64_t)values[AFTER]).text);
	add_factor(line, (uint64_t)values[BEFORE], (uint64_t)values[AFTER]);
	seep_strbuf_addc(line, ')');
	for (int i = BEFORE; i <= AFTER && seep_measure_is_bytes(diff->measure); i++)
		seep_strbuf_addf(
			line, "%s%s", i == BEFORE ? ", blocks " : " → ",
			seep_estimate_text(seep_digits_text((uint64_t)blocks[i]),
					   seep_counts_figure_error(&row->counts[i], figure),
					   seep_digits_text)
				.text);
}

static void print_row(const struct seep_printer *printer, const struct seep_diff *diff,
		      struct side *sides, uint32_t i)
{
	const struct seep_diff_row *row = &diff->rows[i];
	const int at = row->context[AFTER] ? AFTER : BEFORE;
	const struct seep_profile_context *context =
		&diff->profiles[at]->contexts[row->context[at] - 1];
	SEEP_STRBUF(line, SEEP_LINE_BYTES_MAX);
	SEEP_RELEASED(seep_stack_lines_done) struct seep_stack_lines lines;

	seep_strbuf_addf(&line, "%s  ", seep_diff_verdict_names[row->verdict]);
	(row->verdict == SEEP_DIFF_HELD ? add_held : add_figures)(&line, diff, row);
	seep_strbuf_addf(&line, ", %s", seep_profile_kind_name(context->kind));
	seep_stack_lines_fold(&lines, &sides[at].view, context);
	lines.figures = seep_escape_dup(line.text);
	seep_report_print_item(printer, &sides[at].view, &lines, i + 1);
	for (uint32_t b = 0; b < row->block_count; b++)
		fprintf(printer->out, "%*s0x%" PRIx64 "  %" PRIu64 " B\n", SEEP_REPORT_INDENT, "",
			row->blocks[b].address, row->blocks[b].size);
}

static uint64_t total_error(const struct seep_diff *diff, int figure)
{
	return seep_error_join(seep_counts_figure_error(&diff->counts[BEFORE], figure),
			       seep_counts_figure_error(&diff->counts[AFTER], figure));
}

static struct seep_things_text change_text(int64_t change, uint64_t error,
					   struct seep_unit_text (*text)(uint64_t))
{
	const uint64_t size = change < 0 ? 0 - (uint64_t)change : (uint64_t)change;
	struct seep_things_text both;

	(void)snprintf(both.text, sizeof(both.text), "%s%s",
		       seep_estimate_text(seep_change_text(change, text), error, text).text,
		       error && size <= error ? ", within the error" : "");
	return both;
}

static void print_totals(const struct seep_printer *printer, const struct seep_diff *diff)
{
	static const struct seep_column columns[] = {
		{ "", SEEP_ALIGN_LEFT, SEEP_CUT_NEVER, 0 },
		{ "BEFORE", SEEP_ALIGN_RIGHT, SEEP_CUT_NEVER, 0 },
		{ "AFTER", SEEP_ALIGN_RIGHT, SEEP_CUT_NEVER, 0 },
		{ "CHANGE", SEEP_ALIGN_RIGHT, SEEP_CUT_NEVER, 0 },
	};
	const struct {
		const char *name;
		struct seep_unit_text (*text)(uint64_t);
		enum seep_measure measure; /* that it is known with */
		int figure;
		int64_t before, after;
	} lines[] = {
#define LINE(words, text, measure, field) \
	{ words,                          \
	  text,                           \
	  measure,                        \
	  SEEP_FIGURE_##field,            \
	  diff->counts[BEFORE].field,     \
	  diff->counts[AFTER].field }
		LINE("live bytes", seep_bytes_text, SEEP_BY_LIVE, live_bytes),
		LINE("live blocks", seep_digits_text, SEEP_BY_LIVE, live_blocks),
		LINE("peak bytes", seep_bytes_text, SEEP_BY_PEAK, peak_bytes),
		LINE("allocations", seep_digits_text, SEEP_BY_ALLOCS, allocs),
#undef LINE
	};
	SEEP_TABLE(table, columns);

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		if (!seep_measure_is_known(diff->profiles[BEFORE], lines[i].measure) ||
		    !seep_measure_is_known(diff->profiles[AFTER], lines[i].measure))
			continue;
		seep_table_add(table, lines[i].name);
		seep_table_add(table, lines[i].text((uint64_t)lines[i].before).text);
		seep_table_add(table, lines[i].text((uint64_t)lines[i].after).text);
		seep_table_add(table, change_text(lines[i].after - lines[i].before,
						  total_error(diff, lines[i].figure), lines[i].text)
					      .text);
	}
	seep_table_print(table, printer, 0);
}

static void print_rows(const struct seep_printer *printer, const struct seep_diff_view *view,
		       const struct seep_diff *diff, const char *thing, struct side *sides)
{
	const uint32_t top = view->top ? view->top : TOP_DEFAULT;

	for (uint32_t i = 0; i < diff->count && i < top; i++)
		print_row(printer, diff, sides, i);
	if (diff->count > top) {
		fputc('\n', printer->out);
		seep_line_print(printer, "%s more: --top %" PRIu32 " shows all",
				seep_things_text(diff->count - top, thing).text, diff->count);
	}
	fputc('\n', printer->out);
}

/* "3 new, +1.2 MB ±0.3 MB; 1 gone, -4 B" */
static void add_verdicts(struct seep_strbuf *line, const struct seep_diff *diff)
{
	static const char *const words[SEEP_DIFF_VERDICTS] = {
		[SEEP_DIFF_NEW] = "new",
		[SEEP_DIFF_GROWN] = "grown",
		[SEEP_DIFF_SHRUNK] = "shrunk",
		[SEEP_DIFF_GONE] = "gone",
	};

	for (unsigned v = SEEP_DIFF_NEW; v <= SEEP_DIFF_GONE; v++) {
		struct seep_counts sums[2] = { 0 };
		uint64_t count = 0;

		for (uint32_t i = 0; i < diff->count; i++)
			if (diff->rows[i].verdict == v) {
				count++;
				seep_counts_add(&sums[BEFORE], &diff->rows[i].counts[BEFORE]);
				seep_counts_add(&sums[AFTER], &diff->rows[i].counts[AFTER]);
			}
		if (count > 0)
			seep_strbuf_addf(line, "%s%s %s, %s", line->length ? "; " : "",
					 seep_digits_text(count).text, words[v],
					 change_text(seep_diff_change(diff, sums),
						     seep_diff_error(diff, sums),
						     seep_measure_is_bytes(diff->measure)
							     ? seep_bytes_text
							     : seep_digits_text)
						 .text);
	}
}

/* Also where less is lost in all: what was repaired would hide what is new. */
static void print_leaks(const struct seep_printer *printer, const struct seep_diff_view *view,
			struct side *sides)
{
	const struct seep_diff *leaks = view->diff->leaks;
	const struct seep_profile *before = view->diff->profiles[BEFORE];
	const struct seep_profile *after = view->diff->profiles[AFTER];
	const char *const who = after->scan.done    ? "before was not scanned"
				: before->scan.done ? "after was not scanned"
						    : "neither side was scanned";
	SEEP_STRBUF(line, SEEP_LINE_BYTES_MAX);

	if (!leaks) {
		seep_line_print(printer, "Leaks are not compared: %s: %s", who,
				seep_profile_not_scanned(after->scan.done ? before : after));
		fputc('\n', printer->out);
		return;
	}
	add_verdicts(&line, leaks);
	if (leaks->same_count > 0)
		seep_strbuf_addf(&line, "%s%s as before", line.length ? "; " : "",
				 seep_digits_text(leaks->same_count).text);
	seep_line_print(printer, "Leaks: %s", line.length ? line.text : "none, before and after");
	print_rows(printer, view, leaks, "leak", sides);
}

static void print_verdicts(const struct seep_printer *printer, const struct seep_diff *diff,
			   const struct seep_profile *after)
{
	const char *const what = diff->measure == SEEP_BY_LIVE
					 ? "bytes live"
					 : seep_measure_words(after, diff->measure);
	SEEP_STRBUF(line, SEEP_LINE_BYTES_MAX);

	add_verdicts(&line, diff);
	if (diff->count > 0)
		seep_line_print(printer, "Call stacks by %s: %s", what, line.text);
	else
		seep_line_print(printer,
				"No call stack differs by %s; --by compares "
				"live, peak, allocs and temporary.",
				what);
}

/* "between the marks warm and done", for free(). */
static char *when(const struct seep_diff_view *view)
{
	if (view->from && view->until)
		return seep_xasprintf("between the marks %s and %s", view->from->name,
				      view->until->name);
	if (view->from)
		return seep_xasprintf("since the mark %s", view->from->name);
	if (view->diff->round_count > 1)
		return seep_xasprintf("in each of %" PRIu32 " rounds", view->diff->round_count);
	return seep_xstrdup("in the cycle");
}

static void print_held(const struct seep_printer *printer, const struct seep_diff_view *view)
{
	const struct seep_diff *diff = view->diff;
	SEEP_FREED char *moments = when(view);
	SEEP_STRBUF(held, SEEP_LINE_BYTES_MAX);

	add_held_in_all(&held, &diff->counts[AFTER]);
	if (diff->count == 0)
		seep_line_print(printer, "Nothing was allocated %s that is still alive.", moments);
	else
		seep_line_print(printer, "%s of %s: allocated %s and still alive", held.text,
				seep_things_text(diff->count, "call stack").text, moments);
	if (diff->partial_count > 0)
		seep_line_print(printer, "%s more, with %s, hold%s blocks of some rounds only",
				seep_things_text(diff->partial_count, "call stack").text,
				seep_figure_text(&diff->partial, SEEP_FIGURE_live_bytes).text,
				diff->partial_count == 1 ? "s" : "");
}

static void print_notes(const struct seep_printer *printer, const struct seep_diff_view *view)
{
	const struct seep_profile *last = view->diff->profiles[AFTER];

	/* What comes after such a mark may count as of any epoch before. */
	for (uint32_t i = 0; i < last->mark_count && !view->diff->profiles[BEFORE]; i++)
		if (!last->marks[i].exact) {
			seep_line_print(printer,
					"Not exact: since %s%s the ledger had no room to tell "
					"apart what came before and after a mark",
					last->marks[i].name ? "the mark " : "an automatic mark",
					last->marks[i].name ? last->marks[i].name : "");
			break;
		}
	if (view->diff->undated_blocks > 0)
		seep_line_print(printer,
				"%s without a call stack of %s own cannot be told apart by marks",
				seep_things_text(view->diff->undated_blocks, "live block").text,
				view->diff->undated_blocks == 1 ? "its" : "their");
	if (view->listed)
		seep_line_print(printer, "The blocks are those of a moment: the process went on "
					 "while they were read");
	for (int side = BEFORE; side <= AFTER; side++) {
		const struct seep_profile *profile = view->diff->profiles[side];

		for (uint32_t i = 0; profile && i < profile->unseen_count; i++)
			seep_line_print(printer, "Not seen%s: %s",
					!view->diff->profiles[BEFORE] ? ""
					: side == BEFORE	      ? " before"
								      : " after",
					profile->unseen[i].detail);
	}
}

void seep_report_diff(const struct seep_printer *printer, const struct seep_diff_view *view)
{
	const struct seep_diff *diff = view->diff;
	const struct seep_view_options options = { .full = view->full, .by = (int)diff->measure };
	struct side sides[2] = { 0 };

	for (int i = BEFORE; i <= AFTER; i++) {
		static const char *const words[] = { "before: ", "after: " };

		if (!diff->profiles[i])
			continue;
		sides[i].sites = seep_sites_new(diff->profiles[i]);
		seep_view_init(&sides[i].view, diff->profiles[i], sides[i].sites, &options);
		seep_view_add_process(&sides[i].view, diff->profiles[BEFORE] ? words[i] : "");
		seep_lines_print(&sides[i].view.head, printer);
	}
	fputc('\n', printer->out);
	if (diff->profiles[BEFORE]) {
		print_totals(printer, diff);
		fputc('\n', printer->out);
		print_leaks(printer, view, sides);
		print_verdicts(printer, diff, diff->profiles[AFTER]);
	} else {
		print_held(printer, view);
	}
	print_rows(printer, view, diff, "call stack", sides);
	print_notes(printer, view);
	for (int i = BEFORE; i <= AFTER; i++) {
		seep_view_done(&sides[i].view);
		seep_sites_free(sides[i].sites);
	}
}
