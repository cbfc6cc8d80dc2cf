/* SPDX-License-Identifier: MIT */
/* "seep completion": a bash completion script, generated from the same tables as the help. */
#include <stdio.h>

#include "cli/command.h"

const struct seep_option_table cmd_completion_options = {
	.details = "To use it now:  eval \"$(seep completion)\"\n",
};

static void print_command_names(void)
{
	for (size_t i = 0; i < seep_command_count; i++)
		printf("%s ", seep_commands[i].name);
	printf("help --version --help");
}

/* After an option with a fixed set of values, offer these. */
static void print_choices(const struct seep_command *command)
{
	for (size_t i = 0; i < command->options->count; i++) {
		const struct seep_option *option = &command->options->options[i];

		if (option->type != SEEP_OPTION_CHOICE)
			continue;
		printf("\t%s:--%s:*) words=\"", command->name, option->name);
		for (size_t j = 0; option->choices[j]; j++)
			printf("%s%s", j ? " " : "", option->choices[j]);
		printf("\" ;;\n");
	}
}

/* For a word that begins like one: where nothing is offered bash offers files, which FILE is. */
static void print_options(const struct seep_command *command)
{
	printf("\t%s:*:-*) words=\"", command->name);
	for (size_t i = 0; i < command->options->count; i++)
		printf("--%s ", command->options->options[i].name);
	printf("--help\" ;;\n");
}

int cmd_completion(char **operands)
{
	(void)operands;
	printf("_seep()\n{\n"
	       "\tlocal current=\"${COMP_WORDS[COMP_CWORD]}\" words=\"\"\n"
	       "\tif [ \"$COMP_CWORD\" -eq 1 ]; then\n"
	       "\t\tCOMPREPLY=($(compgen -W \"");
	print_command_names();
	printf("\" -- \"$current\"))\n\t\treturn\n\tfi\n"
	       "\tcase \"${COMP_WORDS[1]}:${COMP_WORDS[COMP_CWORD-1]}:$current\" in\n");
	for (size_t i = 0; i < seep_command_count; i++) {
		print_choices(&seep_commands[i]);
		print_options(&seep_commands[i]);
	}
	printf("\thelp:*:*) words=\"");
	print_command_names();
	printf("\" ;;\n\tesac\n"
	       "\tCOMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
	       "}\ncomplete -o default -F _seep seep\n");
	return SEEP_EXIT_OK;
}
