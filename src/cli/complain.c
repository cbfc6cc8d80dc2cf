/* SPDX-License-Identifier: MIT */
/* Errors and hints for the person at the terminal. */
#include "cli/complain.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/terminal.h"
#include "base/xalloc.h"
#include "cli/command.h"

static void print_line(const char *command, const char *sentence)
{
	char *escaped = seep_escape_dup(sentence);

	if (command)
		(void)fprintf(stderr, "seep %s: %s\n", command, escaped);
	else
		(void)fprintf(stderr, "seep: %s\n", escaped);
	free(escaped);
}

int seep_complain(const char *command, const struct seep_error *err)
{
	print_line(command, err->text);
	return err->code == SEEP_EUSAGE ? SEEP_EXIT_USAGE : SEEP_EXIT_FAILURE;
}

void seep_complainf(const char *command, const char *fmt, ...)
{
	va_list args;
	char *sentence;

	va_start(args, fmt);
	sentence = seep_xvasprintf(fmt, args);
	va_end(args);
	print_line(command, sentence);
	free(sentence);
}

void seep_hint(const char *fmt, ...)
{
	va_list args;
	char *sentence;
	char *escaped;

	va_start(args, fmt);
	sentence = seep_xvasprintf(fmt, args);
	va_end(args);
	escaped = seep_escape_dup(sentence);
	(void)fprintf(stderr, "  hint: %s\n", escaped);
	free(escaped);
	free(sentence);
}
