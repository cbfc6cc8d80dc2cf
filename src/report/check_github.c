/* SPDX-License-Identifier: MIT */
/*
 * The result of a check for GitHub Actions. A workflow command is a line of standard output that
 * begins with "::", so none may come from a name; Markdown is text in which any punctuation may mean
 * something, so all of a name's is written as character references.
 */
#include "report/check.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/terminal.h"

/* GitHub shows 10 annotations of a step, and 1 MB of a summary. */
enum { ANNOTATIONS_MAX = 10, ROWS_MAX = 100 };

/* @specials: bytes that are written as %XX. */
static void put_command(FILE *out, const char *text, const char *specials)
{
	for (; *text; text++)
		if (strchr(specials, *text))
			fprintf(out, "%%%02X", (unsigned)(unsigned char)*text);
		else
			fputc(*text, out);
}

static void put_property(FILE *out, const char *name, const char *text)
{
	char *escaped = seep_escape_dup(text);

	fprintf(out, "%s=", name);
	put_command(out, escaped, "%\r\n:,");
	free(escaped);
}

static void put_message(FILE *out, const char *text)
{
	char *escaped = seep_escape_dup(text);

	put_command(out, escaped, "%\r\n");
	free(escaped);
}

struct annotations {
	FILE *out;
	unsigned count;
};

static void annotate(void *user, const struct seep_check *check,
		     const struct seep_checked_file *file,
		     const struct seep_budget_outcome *outcome,
		     const struct seep_budget_stack *stack)
{
	struct annotations *all = user;
	struct seep_source_place place;
	char *text, *stacks;

	if (all->count++ >= ANNOTATIONS_MAX)
		return;
	place = seep_check_place(check, file, stack);
	text = seep_check_remark_text(file, outcome, stack);
	fprintf(all->out, "::%s ", outcome->result == SEEP_BUDGET_BROKEN ? "error" : "warning");
	if (place.is_inside) {
		put_property(all->out, "file", place.path);
		if (place.line)
			fprintf(all->out, ",line=%u", (unsigned)place.line);
		fputc(',', all->out);
	}
	put_property(all->out, "title", outcome->budget->text);
	fputs("::", all->out);
	put_message(all->out, text);
	if (outcome->budget->measure != SEEP_BUDGET_LEAKS) {
		/* Lines of ours, escaped already. */
		stacks = seep_check_stacks(check, file, outcome);
		fputs(*stacks ? "%0A" : "", all->out);
		put_command(all->out, stacks, "%\r\n");
		free(stacks);
	}
	fputc('\n', all->out);
	free(text);
	seep_source_place_done(&place);
}

void seep_check_github(FILE *out, const struct seep_check *check)
{
	struct annotations all = { .out = out };

	seep_check_each(check, annotate, &all);
	if (all.count > ANNOTATIONS_MAX)
		fprintf(out, "and %u more without an annotation\n", all.count - ANNOTATIONS_MAX);
}

/* @text has no control characters but the newlines that are ours. */
static void put_references(FILE *out, const char *text)
{
	for (; *text; text++)
		if (isalnum((unsigned char)*text) || strchr(" \n", *text) || *text & 0x80)
			fputc(*text, out);
		else
			fprintf(out, "&#%d;", *text);
}

static void put_code(FILE *out, const char *text)
{
	char *escaped = seep_escape_dup(text);

	fputs("<code>", out);
	put_references(out, escaped);
	fputs("</code>", out);
	free(escaped);
}

static void put_row(FILE *out, const struct seep_checked_file *file,
		    const struct seep_budget_outcome *outcome)
{
	char *sentence = seep_check_sentence(outcome);
	char *escaped = seep_escape_dup(sentence);

	fprintf(out, "| %s | ", outcome->result == SEEP_BUDGET_BROKEN ? "broken" : "not known");
	put_code(out, file->path);
	fputs(" | ", out);
	put_code(out, outcome->budget->text);
	fputs(" | ", out);
	put_references(out, escaped);
	fputs(" |\n", out);
	free(escaped);
	free(sentence);
}

/* The table's rows, or the call stacks below it; how many budgets are not kept. */
static size_t put_failing(FILE *out, const struct seep_check *check, bool rows)
{
	size_t count = 0;

	for (size_t i = 0; i < check->count; i++)
		for (size_t k = 0; k < check->budgets->count; k++) {
			const struct seep_checked_file *file = &check->files[i];
			const struct seep_budget_outcome *outcome = &file->outcomes[k];
			char *stacks;

			if (seep_check_result(check, outcome) == SEEP_BUDGET_KEPT ||
			    count++ >= ROWS_MAX)
				continue;
			if (rows) {
				put_row(out, file, outcome);
				continue;
			}
			stacks = seep_check_stacks(check, file, outcome);
			if (*stacks) {
				fputc('\n', out);
				put_code(out, outcome->budget->text);
				/* Up to its end nothing in it is Markdown. */
				fputs("\n\n<pre>\n", out);
				put_references(out, stacks);
				fputs("</pre>\n", out);
			}
			free(stacks);
		}
	return count;
}

void seep_check_markdown(FILE *out, const struct seep_check *check)
{
	size_t failing;

	fprintf(out, "### seep check: %s\n\n%s in %s.\n\n",
		seep_budget_result_names[seep_check_all(check)],
		seep_things_text(check->budgets->count, "budget").text,
		seep_things_text(check->count, "recording").text);
	if (seep_check_all(check) == SEEP_BUDGET_KEPT)
		return;
	fputs("| | recording | budget | found |\n|---|---|---|---|\n", out);
	failing = put_failing(out, check, true);
	if (failing > ROWS_MAX)
		fprintf(out, "\nand %zu more.\n", failing - ROWS_MAX);
	(void)put_failing(out, check, false);
}
