/* SPDX-License-Identifier: MIT */
/* Errors and hints for the person at the terminal. */
#include "cli/complain.h"

#include <stdarg.h>

#include "base/terminal.h"
#include "base/xalloc.h"
#include "cli/command.h"

void seep_print_escaped(FILE *out, const char *fmt, ...)
{
	SEEP_FREED char *line = NULL, *escaped = NULL;
	va_list args;

	va_start(args, fmt);
	line = seep_xvasprintf(fmt, args);
	va_end(args);
	escaped = seep_escape_dup(line);
	(void)fprintf(out, "%s\n", escaped);
}

/* Everything may have come from a file or a program. */
static void print_line(const char *before, const char *command, const char *fmt, va_list args)
{
	SEEP_FREED char *sentence = seep_xvasprintf(fmt, args);

	seep_print_escaped(stderr, "%s%s%s: %s", before, command ? " " : "", command ? command : "",
			   sentence);
}

int seep_complain(const char *command, const struct seep_error *err)
{
	seep_complainf(command, "%s", err->text);
	return err->code == SEEP_EUSAGE ? SEEP_EXIT_USAGE : SEEP_EXIT_FAILURE;
}

void seep_complainf(const char *command, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	print_line("seep", command, fmt, args);
	va_end(args);
}

void seep_hint(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	print_line("  hint", NULL, fmt, args);
	va_end(args);
}
