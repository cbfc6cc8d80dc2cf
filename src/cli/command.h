/* SPDX-License-Identifier: MIT */
/*
 * What a command is, and the list of all of them. Help, completion, dispatch and the tests read
 * this list; there is no other. To add a command: write cmd_<name>.c with cmd_<name>() and
 * cmd_<name>_options, declare both below, add a line to the table in commands.c.
 */
#ifndef SEEP_CLI_COMMAND_H
#define SEEP_CLI_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "cli/options.h"

/*
 * Exit statuses of seep itself; "seep run" otherwise ends as the program ended. 1 is an answer
 * ("yes, it leaks", "a budget is broken"), never trouble, so that scripts can tell the two apart.
 */
enum seep_exit {
	SEEP_EXIT_OK = 0,
	SEEP_EXIT_FOUND = 1,   /* what was asked for by an option that says so */
	SEEP_EXIT_FAILURE = 2, /* it could not be done */
	SEEP_EXIT_USAGE = 2,   /* it was asked for wrongly */
	SEEP_EXIT_CANNOT_START = 125,
	SEEP_EXIT_NOT_EXECUTABLE = 126,
	SEEP_EXIT_NO_PROGRAM = 127,
};

struct seep_command {
	const char *name;
	/* The options are read; NULL ends the operands. Returns the exit status. */
	int (*run)(char **operands);
	const char *args;    /* what follows the name, for help: "[options] FILE SQL" */
	const char *summary; /* one line, imperative, no full stop */
	const struct seep_option_table *options;
};

extern const struct seep_command seep_commands[];
extern const size_t seep_command_count;

/* NULL when there is no such command. */
const struct seep_command *seep_command_find(const char *name);

/* The name of the nearest command, or NULL when none is near. */
const char *seep_command_nearest(const char *name);

/*
 * Read its options and run it, or deal with --help and wrong usage. @argv[0] is the command's name.
 * Returns the exit status.
 */
int seep_command_run(const struct seep_command *command, int argc, char **argv);

int cmd_check(char **operands);
extern const struct seep_option_table cmd_check_options;

int cmd_completion(char **operands);
extern const struct seep_option_table cmd_completion_options;

int cmd_diff(char **operands);
extern const struct seep_option_table cmd_diff_options;

int cmd_doctor(char **operands);
extern const struct seep_option_table cmd_doctor_options;

int cmd_export(char **operands);
extern const struct seep_option_table cmd_export_options;

int cmd_import(char **operands);
extern const struct seep_option_table cmd_import_options;

int cmd_leaks(char **operands);
extern const struct seep_option_table cmd_leaks_options;

int cmd_mark(char **operands);
extern const struct seep_option_table cmd_mark_options;

int cmd_open(char **operands);
extern const struct seep_option_table cmd_open_options;

int cmd_ps(char **operands);
extern const struct seep_option_table cmd_ps_options;

int cmd_query(char **operands);
extern const struct seep_option_table cmd_query_options;

int cmd_report(char **operands);
extern const struct seep_option_table cmd_report_options;

int cmd_run(char **operands);
extern const struct seep_option_table cmd_run_options;

int cmd_save(char **operands);
extern const struct seep_option_table cmd_save_options;

int cmd_snapshot(char **operands);
extern const struct seep_option_table cmd_snapshot_options;

int cmd_top(char **operands);
extern const struct seep_option_table cmd_top_options;

#endif
