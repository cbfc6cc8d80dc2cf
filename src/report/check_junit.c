/* SPDX-License-Identifier: MIT */
/* JUnit's XML, which CI servers read. */
#include "report/check.h"

/* In XML's text and attributes. */
static char *escape(const char *text)
{
	return seep_check_escape(text, "<>&\"", SEEP_AS_ENTITY);
}

static void put_case(FILE *out, const struct seep_check *check, const char *program,
		     const struct seep_check_outcome *outcome)
{
	const char *tag = outcome->result == SEEP_BUDGET_BROKEN ? "failure"
			  : check->allow_unknown		? "skipped"
								: "error";
	SEEP_FREED char *name = escape(outcome->budget);
	SEEP_FREED char *text = escape(outcome->text);
	SEEP_FREED char *stacks = seep_check_stacks(outcome);
	SEEP_FREED char *body = escape(stacks);

	fprintf(out, "<testcase classname=\"seep.%s\" name=\"%s\">", program, name);
	if (outcome->result != SEEP_BUDGET_KEPT)
		fprintf(out, "<%s message=\"%s\">%s</%s>", tag, text, body, tag);
	fputs("</testcase>\n", out);
}

static void put_file(FILE *out, const struct seep_check *check, const struct seep_check_file *file)
{
	size_t results[SEEP_BUDGET_RESULT_COUNT] = { 0 };
	SEEP_FREED char *name = escape(file->path);
	SEEP_FREED char *program = escape(file->program);

	for (size_t i = 0; i < check->budgets->count; i++)
		results[file->outcomes[i].result]++;
	fprintf(out, "<testsuite name=\"%s\" tests=\"%zu\" failures=\"%zu\" %s=\"%zu\">\n", name,
		check->budgets->count, results[SEEP_BUDGET_BROKEN],
		check->allow_unknown ? "skipped" : "errors", results[SEEP_BUDGET_NOT_KNOWN]);
	for (size_t i = 0; i < check->budgets->count; i++)
		put_case(out, check, program, &file->outcomes[i]);
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
