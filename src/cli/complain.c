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
static void print_line(const char *before, const char *command, const char *sentence)
{
	char *escaped = seep_escape_dup(sentence);

	(void)fprintf(stderr, "%s%s%s: %s\n", before, command ? " " : "", command ? command : "",
		      escaped);
	free(escaped);
}

int seep_complain(const char *command, const struct seep_error *err)
{
	print_line("seep", command, err->text);
	return err->code == SEEP_EUSAGE ? SEEP_EXIT_USAGE : SEEP_EXIT_FAILURE;
}

void seep_complainf(const char *command, const char *fmt, ...)
{
	va_list args;
	char *sentence;

	va_start(args, fmt);
	sentence = seep_xvasprintf(fmt, args);
	va_end(args);
	print_line("seep", command, sentence);
	free(sentence);
}

void seep_hint(const char *fmt, ...)
{
	va_list args;
	char *sentence;

	va_start(args, fmt);
	sentence = seep_xvasprintf(fmt, args);
	va_end(args);
	print_line("  hint", NULL, sentence);
	free(sentence);
}
