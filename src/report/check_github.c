/* SPDX-License-Identifier: MIT */
/*
 * The result of a check for GitHub Actions. A workflow command is a line of standard output that
 * begins with "::", so none may come from a name.
 */
#include "report/check.h"

#include <stdlib.h>
#include <string.h>

#include "base/terminal.h"

/* GitHub shows 10 annotations of a step, and 1 MB of a summary, in which a byte may take five. */
enum { ANNOTATIONS_MAX = 10, SUMMARY_BYTES_MAX = 200000 };

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

static void annotate(void *user, const struct seep_check_remark *remark)
{
	struct annotations *all = user;
	struct seep_source_place place;
	char *line, *stacks;

	if (all->count++ >= ANNOTATIONS_MAX)
		return;
	place = seep_check_place(remark);
	line = seep_check_line(remark);
	fprintf(all->out, "::%s ",
		remark->outcome->result == SEEP_BUDGET_BROKEN ? "error" : "warning");
	if (place.is_inside) {
		put_property(all->out, "file", place.path);
		if (place.line)
			fprintf(all->out, ",line=%u", (unsigned)place.line);
		fputc(',', all->out);
	}
	put_property(all->out, "title", remark->outcome->budget->text);
	fputs("::", all->out);
	put_message(all->out, line);
	if (remark->outcome->budget->measure != SEEP_BUDGET_LEAKS) {
		/* Lines of ours, escaped already. */
		stacks = seep_check_stacks(remark);
		fputs(*stacks ? "%0A" : "", all->out);
		put_command(all->out, stacks, "%\r\n");
		free(stacks);
	}
	fputc('\n', all->out);
	free(line);
	seep_source_place_done(&place);
}

void seep_check_github(FILE *out, const struct seep_check *check)
{
	struct annotations all = { .out = out };

	seep_check_each(check, annotate, &all);
	if (all.count > ANNOTATIONS_MAX)
		fprintf(out, "and %u more without an annotation\n", all.count - ANNOTATIONS_MAX);
}

void seep_check_markdown(FILE *out, const struct seep_check *check)
{
	struct seep_printer printer = { 0 };
	char *text = NULL;
	size_t bytes = 0;

	printer.out = open_memstream(&text, &bytes);
	if (!printer.out)
		return;
	seep_check_text(&printer, check);
	(void)fclose(printer.out);
	/* Up to its end nothing in it is Markdown, and it has no tag. */
	fprintf(out, "### seep check: %s\n\n<pre>\n",
		seep_budget_result_names[seep_check_all(check)]);
	for (size_t i = 0; i < bytes && i < SUMMARY_BYTES_MAX; i++)
		if (strchr("<>&", text[i]))
			fprintf(out, "&#%d;", text[i]);
		else
			fputc(text[i], out);
	fprintf(out, "%s</pre>\n", bytes > SUMMARY_BYTES_MAX ? "\n…\n" : "");
	free(text);
}
