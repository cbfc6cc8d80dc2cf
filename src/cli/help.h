/* SPDX-License-Identifier: MIT */
/* Help texts, made from the commands table and the options tables. */
#ifndef SEEP_CLI_HELP_H
#define SEEP_CLI_HELP_H

#include <stdio.h>

#include "cli/command.h"

/* For "seep" without anything: what it is and three first steps. */
void seep_help_first_steps(FILE *out);

/* All commands. */
void seep_help_overview(FILE *out);

/* One command with its options. */
void seep_help_command(const struct seep_command *command, FILE *out);

/* "-o, --output FILE", "    --json[=FORM]"; release with free(). */
char *seep_help_option_syntax(const struct seep_option *option);

#endif
