/* SPDX-License-Identifier: MIT */
/* Help is made from the tables of commands and options alone. */
#include "cli/help.h"

#include <string.h>

#include "base/table.h"
#include "base/xalloc.h"

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
	static const struct seep_column columns[] = {
		{ NULL, SEEP_ALIGN_LEFT, SEEP_CUT_NEVER, 0 },
		{ NULL, SEEP_ALIGN_LEFT, SEEP_CUT_NEVER, 0 },
	};
	SEEP_TABLE(table, columns);

	(void)fputs("usage: seep COMMAND [options] …\n\n", out);
	for (size_t i = 0; i < seep_command_count; i++) {
		seep_table_add(table, seep_commands[i].name);
		seep_table_add(table, seep_commands[i].summary);
	}
	seep_table_print(table, &(struct seep_printer){ .out = out }, 2);
	(void)fputs("\n\"seep help COMMAND\" explains one; \"seep --version\" prints the "
		    "version.\n",
		    out);
}

char *seep_help_option_syntax(const struct seep_option *option)
{
	const bool optional = option->type == SEEP_OPTION_OPTIONAL;
	const char letter[] = { '-', option->short_name, ',', ' ', '\0' };

	return seep_xasprintf("%s--%s%s%s%s", option->short_name ? letter : "    ", option->name,
			      optional				? "[="
			      : seep_option_takes_value(option) ? " "
								: "",
			      option->placeholder ? option->placeholder : "", optional ? "]" : "");
}

static void print_option(const struct seep_option *option, size_t width, FILE *out)
{
	const struct seep_printer printer = { .out = out, .width = HELP_COLUMNS };
	SEEP_FREED char *syntax = seep_help_option_syntax(option);

	(void)fprintf(out, "  %-*s  ", (int)width, syntax);
	seep_text_fold(&printer, SEEP_STYLE_PLAIN, width + 4, width + 4, option->summary);
}

static size_t syntax_width(const struct seep_option_table *table)
{
	size_t width = sizeof("-h, --help") - 1;

	for (size_t i = 0; i < table->count; i++) {
		SEEP_FREED char *syntax = seep_help_option_syntax(&table->options[i]);

		if (strlen(syntax) > width)
			width = strlen(syntax);
	}
	return width;
}

void seep_help_command(const struct seep_command *command, FILE *out)
{
	size_t width = syntax_width(command->options);

	(void)fprintf(out, "usage: seep %s %s\n\n%s.\n\n%s\noptions:\n", command->name,
		      command->args, command->summary, command->options->details);
	for (size_t i = 0; i < command->options->count; i++)
		print_option(&command->options->options[i], width, out);
	(void)fprintf(out, "  %-*s  %s\n", (int)width, "-h, --help", "Show this help");
}
