/* SPDX-License-Identifier: MIT */
/*
 * Manual pages, made from the tables that help is made from. They are plain ASCII, in the man
 * macros. Their date is $SOURCE_DATE_EPOCH, so that a package can be built twice alike, or today.
 */
#ifndef SEEP_CLI_MAN_H
#define SEEP_CLI_MAN_H

#include <stdio.h>

#include "cli/command.h"

/* seep(1): the commands, exit statuses, environment and files. */
void seep_man_overview(FILE *out);

/* seep-NAME(1). */
void seep_man_command(const struct seep_command *command, FILE *out);

#endif
