/* SPDX-License-Identifier: MIT */
/* The result of a check for people: what is broken first, what is kept in one line. */
#include "report/check.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/fold.h"
#include "base/terminal.h"
#include "base/xalloc.h"
#include "report/report_parts.h"

enum { INDENT = 4, STACK_INDENT = 6 };

static void print_stack(const struct seep_printer *printer, const struct seep_view *view,
			const struct seep_check_remark *remark)
{
	const struct seep_profile_context *context = seep_check_context(remark);
	char *figures = seep_check_figures(remark);
	const struct seep_profile_stack_entry *entries;
	struct seep_stack_lines lines;
	struct seep_folder folder;
	uint32_t count;

	fprintf(printer->out, "%*s%s", INDENT, "", figures);
	if (remark->stack->hash)
		fprintf(printer->out, ", hash:%016" PRIx64, remark->stack->hash);
	fputc('\n', printer->out);
	free(figures);
	/* Allocated by another process, or where no walk was possible. */
	if (!context)
		return;
	entries = context->stack;
	count = context->stack_count;
	seep_folder_init(&folder, remark->file->side.sites, SEEP_FOLD_BY_LINE);
	if (!view->options->full)
		count = seep_fold(&folder, &entries, count);
	seep_stack_lines_init(&lines, view, context, entries, count);
	seep_report_print_stack(printer, view, &lines, STACK_INDENT);
	seep_stack_lines_done(&lines);
	seep_folder_done(&folder);
}

static void print_stacks(const struct seep_printer *printer, const struct seep_check_remark *remark)
{
	const struct seep_view_options options = { .by = SEEP_BY_LIVE,
						   .full = remark->check->full };
	const struct seep_budget_outcome *outcome = remark->outcome;
	struct seep_check_remark one = *remark;
	uint32_t shown = outcome->stack_count;
	struct seep_view view;

	if (shown == 0)
		return;
	if (remark->check->top && remark->check->top < shown)
		shown = remark->check->top;
	seep_view_init(&view, remark->file->side.profile, remark->file->side.sites, &options);
	for (uint32_t i = 0; i < shown; i++) {
		one.stack = &outcome->stacks[i];
		print_stack(printer, &view, &one);
	}
	seep_view_done(&view);
	if (outcome->left_out + outcome->stack_count > shown)
		fprintf(printer->out, "%*sand %s\n", INDENT, "",
			seep_things_text((uint64_t)outcome->left_out + outcome->stack_count - shown,
					 "more call stack")
				.text);
}

char *seep_check_stacks(const struct seep_check_remark *remark)
{
	struct seep_printer printer = { 0 };
	char *text = NULL;
	size_t bytes;

	printer.out = open_memstream(&text, &bytes);
	if (printer.out) {
		print_stacks(&printer, remark);
		(void)fclose(printer.out);
	}
	return text ? text : seep_xstrdup("");
}

/* "  BROKEN  peak<24MB: 31.2 MB" */
static void print_outcome(const struct seep_printer *printer,
			  const struct seep_budget_outcome *outcome)
{
	const bool is_broken = outcome->result == SEEP_BUDGET_BROKEN;
	const char *result = is_broken ? "  BROKEN  " : "  NOT KNOWN  ";
	char *sentence = seep_check_sentence(outcome);
	char *line = seep_xasprintf("%s: %s", outcome->budget->text, sentence);
	char *escaped = seep_escape_dup(line);

	fputs(result, printer->out);
	seep_text_fold(printer, is_broken ? SEEP_STYLE_BOLD : SEEP_STYLE_PLAIN, strlen(result),
		       INDENT, escaped);
	free(escaped);
	free(line);
	free(sentence);
}

static void print_file(const struct seep_printer *printer, const struct seep_check *check,
		       const struct seep_checked_file *file)
{
	bool begun = false;

	for (size_t i = 0; i < check->budgets->count; i++) {
		const struct seep_check_remark remark = { check, file, &file->outcomes[i], NULL };

		if (seep_check_result(check, remark.outcome) == SEEP_BUDGET_KEPT)
			continue;
		if (!begun && file->pid)
			seep_line_print(printer, "%s: %s (pid %" PRIu32 ")", file->path, file->name,
					file->pid);
		else if (!begun)
			seep_line_print(printer, "%s", file->path);
		begun = true;
		print_outcome(printer, remark.outcome);
		print_stacks(printer, &remark);
	}
}

/* How a budget fared in all files: the worst result, the largest figure that is kept. */
struct fate {
	enum seep_budget_result result;
	const struct seep_budget_outcome *largest;
	bool has_place;
};

static struct fate fate_of(const struct seep_check *check, size_t budget)
{
	struct fate fate = { .result = SEEP_BUDGET_KEPT };

	for (size_t i = 0; i < check->count; i++) {
		const struct seep_budget_outcome *outcome = &check->files[i].outcomes[budget];

		if (seep_check_result(check, outcome) != SEEP_BUDGET_KEPT)
			fate.result = seep_check_result(check, outcome);
		else if (outcome->result == SEEP_BUDGET_KEPT &&
			 (!fate.largest || outcome->value > fate.largest->value))
			fate.largest = outcome;
		fate.has_place |= outcome->has_place;
	}
	return fate;
}

static void print_kept(const struct seep_printer *printer, const struct seep_check *check)
{
	struct seep_strbuf kept, missed;

	seep_strbuf_init(&kept, SEEP_LINE_BYTES_MAX);
	seep_strbuf_init(&missed, SEEP_LINE_BYTES_MAX);
	for (size_t i = 0; i < check->budgets->count; i++) {
		const struct seep_budget *budget = &check->budgets->items[i];
		const struct fate fate = fate_of(check, i);

		if (budget->place && !fate.has_place)
			seep_strbuf_addf(&missed, "%s%s", missed.length ? ", " : "", budget->text);
		if (fate.result != SEEP_BUDGET_KEPT)
			continue;
		seep_strbuf_addf(
			&kept, "%s%s (%s)", kept.length ? ", " : "", budget->text,
			fate.largest ? seep_budget_text(budget->measure, fate.largest->value).text
				     : "not known");
	}
	if (kept.length > 0)
		seep_line_print(printer, "Kept: %s%s", kept.text, kept.overflowed ? ", …" : "");
	if (missed.length > 0)
		seep_line_print(printer, "No call stack is of the place that these name: %s%s",
				missed.text, missed.overflowed ? ", …" : "");
	seep_strbuf_done(&kept);
	seep_strbuf_done(&missed);
}

void seep_check_text(const struct seep_printer *printer, const struct seep_check *check)
{
	static const char *const words[SEEP_BUDGET_RESULT_COUNT] = { "Passed", "Broken",
								     "Not known" };
	uint64_t counts[SEEP_BUDGET_RESULT_COUNT] = { 0 };

	for (size_t i = 0; i < check->count; i++) {
		print_file(printer, check, &check->files[i]);
		for (size_t k = 0; k < check->budgets->count; k++)
			counts[seep_check_result(check, &check->files[i].outcomes[k])]++;
	}
	print_kept(printer, check);
	fprintf(printer->out, "%s: %s, %s", words[seep_check_all(check)],
		seep_things_text(check->budgets->count, "budget").text,
		seep_things_text(check->count, "recording").text);
	if (seep_check_all(check) != SEEP_BUDGET_KEPT)
		fprintf(printer->out,
			": %" PRIu64 " broken, %" PRIu64 " not known, %" PRIu64 " kept",
			counts[SEEP_BUDGET_BROKEN], counts[SEEP_BUDGET_NOT_KNOWN],
			counts[SEEP_BUDGET_KEPT]);
	fputc('\n', printer->out);
}
