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
			const struct seep_checked_file *file,
			const struct seep_budget_outcome *outcome,
			const struct seep_budget_stack *stack)
{
	const struct seep_profile_context *context = seep_check_context(file, stack);
	char *figures = seep_check_stack_figures(outcome, stack);
	struct seep_stack_lines lines;
	struct seep_folder folder;
	const struct seep_profile_stack_entry *entries;
	uint32_t count;

	fprintf(printer->out, "%*s%s", INDENT, "", figures);
	if (stack->hash)
		fprintf(printer->out, ", hash:%016" PRIx64, stack->hash);
	fputc('\n', printer->out);
	free(figures);
	/* Allocated by another process, or where no walk was possible. */
	if (!context)
		return;
	entries = context->stack;
	count = context->stack_count;
	seep_folder_init(&folder, file->side.sites, SEEP_FOLD_BY_LINE);
	if (!view->options->full)
		count = seep_fold(&folder, &entries, count);
	seep_stack_lines_init(&lines, view, context, entries, count);
	seep_report_print_stack(printer, view, &lines, STACK_INDENT);
	seep_stack_lines_done(&lines);
	seep_folder_done(&folder);
}

static void print_stacks(const struct seep_printer *printer, const struct seep_check *check,
			 const struct seep_checked_file *file,
			 const struct seep_budget_outcome *outcome)
{
	const struct seep_view_options options = { .by = SEEP_BY_LIVE, .full = check->full };
	const uint32_t shown = check->top && check->top < outcome->stack_count
				       ? check->top
				       : outcome->stack_count;
	const uint64_t rest = (uint64_t)outcome->stack_count + outcome->left_out - shown;
	struct seep_view view;

	seep_view_init(&view, file->side.profile, file->side.sites, &options);
	for (uint32_t i = 0; i < shown; i++)
		print_stack(printer, &view, file, outcome, &outcome->stacks[i]);
	if (rest > 0)
		fprintf(printer->out, "%*sand %s\n", INDENT, "",
			seep_things_text(rest, "more call stack").text);
	seep_view_done(&view);
}

char *seep_check_stacks(const struct seep_check *check, const struct seep_checked_file *file,
			const struct seep_budget_outcome *outcome)
{
	struct seep_printer printer = { 0 };
	char *text = NULL;
	size_t bytes;

	if (outcome->stack_count == 0)
		return seep_xstrdup("");
	printer.out = open_memstream(&text, &bytes);
	if (printer.out) {
		print_stacks(&printer, check, file, outcome);
		(void)fclose(printer.out);
	}
	return text ? text : seep_xstrdup("");
}

/* "  BROKEN  peak<24MB: 31.2 MB"; @words are escaped here. */
static void print_line(const struct seep_printer *printer, bool is_broken, const char *budgets,
		       const char *sentence)
{
	char *line = seep_xasprintf("%s: %s", budgets, sentence);
	char *escaped = seep_escape_dup(line);
	const char *result = is_broken ? "  BROKEN  " : "  NOT KNOWN  ";

	fputs(result, printer->out);
	seep_text_fold(printer, is_broken ? SEEP_STYLE_BOLD : SEEP_STYLE_PLAIN, strlen(result),
		       INDENT, escaped);
	free(escaped);
	free(line);
}

static bool is_unknown(const struct seep_check *check, const struct seep_budget_outcome *outcome)
{
	return seep_check_result(check, outcome) == SEEP_BUDGET_NOT_KNOWN;
}

/* All that is not known for the same reason as the budget at @first, unless one before it is. */
static void print_unknown(const struct seep_printer *printer, const struct seep_check *check,
			  const struct seep_checked_file *file, size_t first)
{
	const struct seep_budget_outcome *outcomes = file->outcomes;
	struct seep_strbuf names;

	for (size_t i = 0; i < first; i++)
		if (is_unknown(check, &outcomes[i]) &&
		    strcmp(outcomes[i].reason, outcomes[first].reason) == 0)
			return;
	seep_strbuf_init(&names, SEEP_LINE_BYTES_MAX);
	for (size_t i = first; i < check->budgets->count; i++)
		if (is_unknown(check, &outcomes[i]) &&
		    strcmp(outcomes[i].reason, outcomes[first].reason) == 0)
			seep_strbuf_addf(&names, "%s%s", names.length ? ", " : "",
					 outcomes[i].budget->text);
	print_line(printer, false, names.text, outcomes[first].reason);
	seep_strbuf_done(&names);
}

static void print_file(const struct seep_printer *printer, const struct seep_check *check,
		       const struct seep_checked_file *file)
{
	bool begun = false;

	for (size_t i = 0; i < check->budgets->count; i++) {
		const struct seep_budget_outcome *outcome = &file->outcomes[i];
		char *sentence;

		if (seep_check_result(check, outcome) == SEEP_BUDGET_KEPT)
			continue;
		if (!begun && file->pid)
			seep_line_print(printer, "%s: %s (pid %" PRIu32 ")", file->path, file->name,
					file->pid);
		else if (!begun)
			seep_line_print(printer, "%s", file->path);
		begun = true;
		if (is_unknown(check, outcome)) {
			print_unknown(printer, check, file, i);
			continue;
		}
		sentence = seep_check_sentence(outcome);
		print_line(printer, true, outcome->budget->text, sentence);
		free(sentence);
		print_stacks(printer, check, file, outcome);
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
