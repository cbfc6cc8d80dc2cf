/* SPDX-License-Identifier: MIT */
/* main(): finds the command and runs it. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/complain.h"
#include "cli/help.h"
#include "cli/man.h"
#include "core/nearest.h"

static int unknown_command(const char *name)
{
	struct core_nearest nearest;
	const char *meant;

	core_nearest_init(&nearest, name);
	for (size_t i = 0; i < seep_command_count; i++)
		core_nearest_offer(&nearest, seep_commands[i].name);
	meant = core_nearest_word(&nearest);
	if (*name == '-')
		seep_complainf(NULL, "%s is not an option of seep itself", name);
	else
		seep_complainf(NULL, "unknown command '%s'", name);
	if (*name == '-' || !*name)
		seep_hint("\"seep help\" lists the commands; their options come after them");
	else if (meant)
		seep_hint("did you mean \"seep %s\"?", meant);
	else
		seep_hint("\"seep help\" lists the commands; \"seep run %s\" runs a program", name);
	return SEEP_EXIT_USAGE;
}

static bool asks_for_help(const char *word)
{
	return strcmp(word, "help") == 0 || strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

/* "--man" is for the build, which installs the pages. NULL ends @words. */
static int help(char **words)
{
	const bool is_manual = *words && strcmp(*words, "--man") == 0;
	const char *name = is_manual ? words[1] : *words;
	const struct seep_command *command = NULL;

	if (name && (is_manual || !asks_for_help(name))) {
		command = seep_command_find(name);
		if (!command)
			return unknown_command(name);
	}
	if (command && is_manual)
		seep_man_command(command, stdout);
	else if (command)
		seep_help_command(command, stdout);
	else if (is_manual)
		seep_man_overview(stdout);
	else
		seep_help_overview(stdout);
	return SEEP_EXIT_OK;
}

/* @argv[0] is the command's name. Returns the exit status. */
static int run_command(const struct seep_command *command, int argc, char **argv)
{
	struct seep_error err = { 0 };
	int ret = seep_options_parse(command->options, &argc, &argv, &err);

	if (ret == SEEP_OPTIONS_HELP) {
		seep_help_command(command, stdout);
		return SEEP_EXIT_OK;
	}
	if (ret < 0) {
		seep_complain(command->name, &err);
		seep_hint("usage: seep %s %s (--help lists the options)", command->name,
			  command->args);
		return SEEP_EXIT_USAGE;
	}
	ret = command->run(argv, &err);
	if (ret < 0) {
		ret = seep_complain(command->name, &err);
		if (command->hint)
			command->hint(argv[0], &err);
	}
	return ret;
}

static int dispatch(int argc, char **argv)
{
	const struct seep_command *command;

	if (argc < 1) {
		seep_help_first_steps(stdout);
		return SEEP_EXIT_OK;
	}
	if (strcmp(argv[0], "--version") == 0) {
		printf("seep %s\n", SEEP_VERSION);
		return SEEP_EXIT_OK;
	}
	if (asks_for_help(argv[0]))
		return help(argv + 1);
	command = seep_command_find(argv[0]);
	if (!command)
		return unknown_command(argv[0]);
	return run_command(command, argc, argv);
}

int main(int argc, char **argv)
{
	int status = dispatch(argc - 1, argv + 1);

	/* A result that did not reach its file must not look like success. */
	if (fflush(stdout) != 0 || ferror(stdout)) {
		if (errno != EPIPE)
			seep_complainf(NULL, "cannot write to standard output: %s",
				       strerror(errno));
		if (status == SEEP_EXIT_OK)
			status = SEEP_EXIT_FAILURE;
	}
	return status;
}
