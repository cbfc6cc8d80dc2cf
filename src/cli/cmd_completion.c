/* SPDX-License-Identifier: MIT */
/*
 * "seep completion": a script for each shell, which at each Tab asks "seep completion --answer" what
 * may follow; complete.h says what that prints.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/complete.h"

static bool is_answering;

static const struct seep_option options[] = {
	SEEP_OPTION("answer", 0, FLAG, NULL, is_answering,
		    "Print what may follow the words that are given; the scripts ask this"),
};

const struct seep_option_table cmd_completion_options = {
	SEEP_OPTIONS(options),
	.max_operands = SIZE_MAX,
	.operand_ends_options = true,
	.details =
		"An installed seep needs nothing but the shell's own completion. To use it from\n"
		"elsewhere, or now:\n"
		"\n"
		"  bash    eval \"$(seep completion)\"\n"
		"  zsh     eval \"$(seep completion zsh)\", after compinit\n"
		"  fish    seep completion fish | source\n",
};

/* assets/completion.NAME, each ended by a zero. */
extern const char seep_bash_script[], seep_zsh_script[], seep_fish_script[];

#define EMBED(shell) "seep_" shell "_script: .incbin \"" SEEP_COMPLETION_FILES shell "\"\n.byte 0\n"
__asm__(".pushsection .rodata\n" EMBED("bash") EMBED("zsh") EMBED("fish") ".popsection\n");

static const struct {
	const char *shell;
	const char *script;
} scripts[] = {
	{ "bash", seep_bash_script },
	{ "zsh", seep_zsh_script },
	{ "fish", seep_fish_script },
};

int cmd_completion(char **operands, struct seep_error *err)
{
	const char *shell = *operands ? *operands : scripts[0].shell;

	if (is_answering) {
		if (*operands)
			seep_complete(operands, stdout);
		return SEEP_EXIT_OK;
	}
	for (size_t i = 0; i < sizeof(scripts) / sizeof(*scripts); i++) {
		if (strcmp(scripts[i].shell, shell) == 0 && (!*operands || !operands[1])) {
			(void)fputs(scripts[i].script, stdout);
			return SEEP_EXIT_OK;
		}
	}
	return seep_fail(err, SEEP_EUSAGE, "'%s' is not one of bash, zsh and fish", shell);
}
