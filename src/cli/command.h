/* SPDX-License-Identifier: MIT */
/*
 * What a command is, and the list of all of them. Help, completion, dispatch and the tests read
 * this list; there is no other. To add a command: write cmd_<name>.c with cmd_<name>() and
 * cmd_<name>_options, name it below, add a line to the table in commands.c.
 */
#ifndef SEEP_CLI_COMMAND_H
#define SEEP_CLI_COMMAND_H

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

/*
 * The options are read; NULL ends the operands. Returns the exit status, or a negative SEEP_E* with
 * @err filled, which is then complained of.
 */
typedef int seep_command_function(char **operands, struct seep_error *err);

struct seep_command {
	const char *name;
	seep_command_function *run;
	const char *args;    /* what follows the name, for help: "[options] FILE SQL" */
	const char *summary; /* one line, imperative, no full stop */
	const struct seep_option_table *options;
	/* After a complaint: what to do about it. @operand: the first; may be NULL. */
	void (*hint)(const char *operand, const struct seep_error *err); /* NULL: nothing */
};

extern const struct seep_command seep_commands[];
extern const size_t seep_command_count;

/* NULL when there is no such command. */
const struct seep_command *seep_command_find(const char *name);

extern seep_command_function cmd_check, cmd_check_heap, cmd_completion, cmd_diff, cmd_doctor,
	cmd_attach, cmd_detach, cmd_export, cmd_import, cmd_leaks, cmd_mark, cmd_mode, cmd_open,
	cmd_ps, cmd_query, cmd_report, cmd_run, cmd_save, cmd_snapshot, cmd_top;

extern const struct seep_option_table cmd_check_options, cmd_check_heap_options,
	cmd_completion_options, cmd_diff_options, cmd_doctor_options, cmd_export_options,
	cmd_attach_options, cmd_detach_options, cmd_import_options, cmd_leaks_options,
	cmd_mark_options, cmd_mode_options, cmd_open_options, cmd_ps_options, cmd_query_options,
	cmd_report_options, cmd_run_options, cmd_save_options, cmd_snapshot_options,
	cmd_top_options;

#endif
