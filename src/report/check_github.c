/* SPDX-License-Identifier: MIT */
/*
 * For GitHub Actions. A workflow command is a line of standard output that begins with "::", so none
 * may come from a name.
 */
#include "report/check.h"

/* GitHub shows 10 annotations of a step, and 1 MB of a summary, in which a byte may take five. */
enum { ANNOTATIONS_MAX = 10, SUMMARY_BYTES_MAX = 200000 };

static void put(FILE *out, const char *text, const char *special)
{
	SEEP_FREED char *escaped = seep_check_escape(text, special, SEEP_AS_PERCENT);

	fputs(escaped, out);
}

struct annotations {
	FILE *out;
	unsigned count;
};

static void annotate(void *user, const struct seep_check_remark *remark)
{
	struct annotations *all = user;

	if (all->count++ >= ANNOTATIONS_MAX)
		return;
	fprintf(all->out, "::%s ",
		remark->outcome->result == SEEP_BUDGET_BROKEN ? "error" : "warning");
	if (remark->stack && remark->stack->place.path) {
		fputs("file=", all->out);
		put(all->out, remark->stack->place.path, "%:,");
		fprintf(all->out, ",line=%u,", (unsigned)remark->stack->place.line);
	}
	fputs("title=", all->out);
	put(all->out, remark->outcome->budget, "%:,");
	fputs("::", all->out);
	put(all->out, remark->text, "%\n");
	fputc('\n', all->out);
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
	SEEP_FREED char *text = NULL, *escaped = NULL;
	size_t bytes = 0;
	FILE *memory = open_memstream(&text, &bytes);

	if (!memory)
		return;
	seep_check_text(memory, check);
	(void)fclose(memory);
	if (bytes > SUMMARY_BYTES_MAX)
		text[SUMMARY_BYTES_MAX] = '\0';
	escaped = seep_check_escape(text, "<>&", SEEP_AS_ENTITY);
	/* Up to its end nothing in it is Markdown, and it has no tag. */
	fprintf(out, "### seep check\n\n<pre>\n%s%s</pre>\n", escaped,
		bytes > SUMMARY_BYTES_MAX ? "\n…\n" : "");
}
