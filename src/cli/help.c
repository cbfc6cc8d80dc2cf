/* SPDX-License-Identifier: MIT */
/* Help, generated: what is not in the tables is not in the help. */
#include "cli/help.h"

#include <string.h>

#include "base/strbuf.h"

enum { HELP_COLUMNS = 80 };

void seep_help_first_steps(FILE *out)
{
	(void)fputs("seep shows where a program's memory went: every allocation, by call stack.\n"
		    "\n"
		    "  seep run ./program arguments     record a program from start to end\n"
		    "  seep report program.1234.seep    where its memory went, by call stack\n"
		    "  seep help                        everything else\n",
		    out);
}

void seep_help_overview(FILE *out)
{
	size_t width = 0;

	(void)fputs("usage: seep COMMAND [options] …\n\n", out);
	for (size_t i = 0; i < seep_command_count; i++) {
		if (strlen(seep_commands[i].name) > width && !seep_commands[i].options->hidden)
			width = strlen(seep_commands[i].name);
	}
	for (size_t i = 0; i < seep_command_count; i++) {
		if (!seep_commands[i].options->hidden)
			(void)fprintf(out, "  %-*s  %s\n", (int)width, seep_commands[i].name,
				      seep_commands[i].summary);
	}
	(void)fputs("\n\"seep help COMMAND\" explains one; \"seep --version\" prints the "
		    "version.\n",
		    out);
}

/* "-o, --output FILE", "    --json[=FORM]" */
static void add_option_syntax(struct seep_strbuf *line, const struct seep_option *option)
{
	if (option->short_name)
		seep_strbuf_addf(line, "-%c, ", option->short_name);
	else
		seep_strbuf_adds(line, "    ");
	seep_strbuf_addf(line, "--%s", option->name);
	if (option->type == SEEP_OPTION_OPTIONAL)
		seep_strbuf_addf(line, "[=%s]", option->placeholder);
	else if (seep_option_takes_value(option))
		seep_strbuf_addf(line, " %s", option->placeholder);
}

/* @text from column @indent on, which the line has reached; further lines begin there too. */
static void print_folded(const char *text, size_t indent, FILE *out)
{
	size_t column = indent;

	while (*text) {
		size_t bytes = strcspn(text, " ");

		if (column > indent && column + 1 + bytes > HELP_COLUMNS) {
			(void)fprintf(out, "\n%*s", (int)indent, "");
			column = indent;
		}
		if (column > indent)
			column += (size_t)fprintf(out, " ");
		column += fwrite(text, 1, bytes, out);
		text += bytes;
		text += strspn(text, " ");
	}
	(void)fputc('\n', out);
}

static void print_option(const struct seep_option *option, size_t width, FILE *out)
{
	struct seep_strbuf line;

	seep_strbuf_init(&line, 4096);
	add_option_syntax(&line, option);
	(void)fprintf(out, "  %-*s  ", (int)width, line.text);
	print_folded(option->summary, width + 4, out);
	seep_strbuf_done(&line);
}

static size_t syntax_width(const struct seep_option_table *table)
{
	size_t width = sizeof("-h, --help") - 1;
	struct seep_strbuf line;

	seep_strbuf_init(&line, 4096);
	for (size_t i = 0; i < table->count; i++) {
		add_option_syntax(&line, &table->options[i]);
		if (line.length > width)
			width = line.length;
		seep_strbuf_clear(&line);
	}
	seep_strbuf_done(&line);
	return width;
}

void seep_help_command(const struct seep_command *command, FILE *out)
{
	size_t width = syntax_width(command->options);

	(void)fprintf(out, "usage: seep %s%s%s\n\n%s.\n", command->name, *command->args ? " " : "",
		      command->args, command->summary);
	if (command->options->details)
		(void)fprintf(out, "\n%s", command->options->details);
	(void)fputs("\noptions:\n", out);
	for (size_t i = 0; i < command->options->count; i++)
		print_option(&command->options->options[i], width, out);
	(void)fprintf(out, "  %-*s  %s\n", (int)width, "-h, --help", "Show this help");
}
