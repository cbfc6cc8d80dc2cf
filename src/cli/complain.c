/* SPDX-License-Identifier: MIT */
/* Errors and hints for the person at the terminal. */
#include "cli/complain.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/terminal.h"
#include "base/xalloc.h"
#include "cli/command.h"

/* Everything may have come from a file or a program. */
static void print_line(const char *before, const char *command, const char *fmt, va_list args)
{
	char *sentence = seep_xvasprintf(fmt, args);
	char *escaped = seep_escape_dup(sentence);

	(void)fprintf(stderr, "%s%s%s: %s\n", before, command ? " " : "", command ? command : "",
		      escaped);
	free(escaped);
	free(sentence);
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
