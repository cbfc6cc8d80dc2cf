/* SPDX-License-Identifier: MIT */
/* The table of commands, in the order in which help shows them. */
#include "cli/command.h"

#include <string.h>

#include "cli/ledger_operand.h"

/* clang-format off */
const struct seep_command seep_commands[] = {
	/*
	 * name          run             args                        summary
	 * options, hint
	 */
	{ "run",        cmd_run,        "[options] [--] PROGRAM …", "Run a program and record its heap", &cmd_run_options, NULL },
	{ "report",     cmd_report,     "[options] FILE|PID|NAME",  "Show where the memory went", &cmd_report_options, seep_open_hint },
	{ "open",       cmd_open,       "[options] FILE",           "Show a recording in a browser", &cmd_open_options, seep_open_hint },
	{ "leaks",      cmd_leaks,      "[options] PID|NAME|FILE",  "Show what a process has lost, now or at its end", &cmd_leaks_options, seep_ledger_hint },
	{ "check-heap", cmd_check_heap, "[options] PID|NAME",       "Show what is damaged in a process started with guards", &cmd_check_heap_options, seep_ledger_hint },
	{ "diff",       cmd_diff,       "[options] A [B]",          "Show what changed between two recordings, or since a mark", &cmd_diff_options, NULL },
	{ "mark",       cmd_mark,       "[options] PID|NAME|LEDGER MARK", "Name this moment, to see later what was allocated since", &cmd_mark_options, seep_ledger_hint },
	{ "attach",     cmd_attach,     "[options] PID|NAME",       "Record a process that runs already", &cmd_attach_options, NULL },
	{ "detach",     cmd_detach,     "[options] PID|NAME",       "Stop recording a process that was attached to", &cmd_detach_options, seep_ledger_hint },
	{ "mode",       cmd_mode,       "[options] PID|NAME|LEDGER MODE", "Set what a running process records, and how", &cmd_mode_options, seep_ledger_hint },
	{ "snapshot",   cmd_snapshot,   "[options] PID|NAME|LEDGER", "Make a recording of a process that goes on running", &cmd_snapshot_options, seep_ledger_hint },
	{ "top",        cmd_top,        "[options] [PID|NAME|LEDGER]", "Watch what a running process allocates, and what grows", &cmd_top_options, seep_ledger_hint },
	{ "ps",         cmd_ps,         "[options] [PID|NAME|LEDGER]", "List recorded processes and the ledgers left behind", &cmd_ps_options, seep_ledger_hint },
	{ "save",       cmd_save,       "[options] PID|NAME|LEDGER",     "Make a recording of a process, or of the ledger a dead one left", &cmd_save_options, seep_ledger_hint },
	{ "check",      cmd_check,      "[options] FILE …",         "Check recordings against budgets, for CI", &cmd_check_options, NULL },
	{ "export",     cmd_export,     "[options] FILE|PID|NAME",  "Write a profile as a file for another program", &cmd_export_options, seep_open_hint },
	{ "import",     cmd_import,     "[options] FILE",           "Make a recording of another tool's heap profile", &cmd_import_options, NULL },
	{ "query",      cmd_query,      "[options] FILE SQL",       "Query a recording in SQL",     &cmd_query_options, seep_open_hint },
	{ "doctor",     cmd_doctor,     "[options] [PROGRAM|PID]",  "Say why recording would fail here, or show little", &cmd_doctor_options, NULL },
	{ "completion", cmd_completion, "[options] [bash|zsh|fish]", "Print the completion script of a shell", &cmd_completion_options, NULL },
};
/* clang-format on */

const size_t seep_command_count = sizeof(seep_commands) / sizeof(seep_commands[0]);

const struct seep_command *seep_command_find(const char *name)
{
	for (size_t i = 0; i < seep_command_count; i++)
		if (strcmp(seep_commands[i].name, name) == 0)
			return &seep_commands[i];
	return NULL;
}
