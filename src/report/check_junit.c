/* SPDX-License-Identifier: MIT */
/*
 * The result of a check as JUnit's XML, which CI servers read. XML 1.0 has no way to write control
 * characters: they are shown as on a terminal.
 */
#include "report/check.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/terminal.h"

/* What seep_escape() leaves is UTF-8 without control characters; two more are not XML's. */
static void put_escaped(FILE *out, const char *text)
{
	static const char not_xml[] = "\xef\xbf";

	for (; *text; text++) {
		const char *stands = *text == '&'   ? "&amp;"
				     : *text == '<' ? "&lt;"
				     : *text == '>' ? "&gt;"
				     : *text == '"' ? "&quot;"
						    : NULL;

		if (stands)
			fputs(stands, out);
		else if (strncmp(text, not_xml, 2) == 0 && (unsigned char)text[2] >= 0xbe)
			text += 2;
		else
			fputc(*text, out);
	}
}

static void put(FILE *out, const char *text)
{
	char *escaped = seep_escape_dup(text);

	put_escaped(out, escaped);
	free(escaped);
}

static void put_case(FILE *out, const struct seep_check *check,
		     const struct seep_checked_file *file,
		     const struct seep_budget_outcome *outcome)
{
	const enum seep_budget_result result = seep_check_result(check, outcome);
	char *sentence = seep_check_sentence(outcome);
	char *stacks;

	fputs("<testcase classname=\"seep.", out);
	put(out, file->name);
	fputs("\" name=\"", out);
	put(out, outcome->budget->text);
	fputs("\">", out);
	if (outcome->result != SEEP_BUDGET_KEPT) {
		const char *tag = result == SEEP_BUDGET_BROKEN	    ? "failure"
				  : result == SEEP_BUDGET_NOT_KNOWN ? "error"
								    : "skipped";

		fprintf(out, "<%s message=\"", tag);
		put(out, sentence);
		fputs("\">", out);
		/* Lines of ours, escaped already. */
		stacks = seep_check_stacks(
			&(struct seep_check_remark){ check, file, outcome, NULL });
		put_escaped(out, stacks);
		free(stacks);
		fprintf(out, "</%s>", tag);
	}
	fputs("</testcase>\n", out);
	free(sentence);
}

static void put_file(FILE *out, const struct seep_check *check,
		     const struct seep_checked_file *file)
{
	size_t failures = 0, errors = 0, skipped = 0;

	for (size_t i = 0; i < check->budgets->count; i++) {
		const enum seep_budget_result result = seep_check_result(check, &file->outcomes[i]);

		failures += result == SEEP_BUDGET_BROKEN;
		errors += result == SEEP_BUDGET_NOT_KNOWN;
		skipped += result != file->outcomes[i].result;
	}
	fputs("<testsuite name=\"", out);
	put(out, file->path);
	fprintf(out, "\" tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"%zu\">\n",
		check->budgets->count, failures, errors, skipped);
	for (size_t i = 0; i < check->budgets->count; i++)
		put_case(out, check, file, &file->outcomes[i]);
	fputs("</testsuite>\n", out);
}

void seep_check_junit(FILE *out, const struct seep_check *check)
{
	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"seep check\">\n",
	      out);
	for (size_t i = 0; i < check->count; i++)
		put_file(out, check, &check->files[i]);
	fputs("</testsuites>\n", out);
}
