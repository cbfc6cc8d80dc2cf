/* SPDX-License-Identifier: MIT */
/*
 * "seep completion": a script for each shell, which at each Tab asks "seep completion --answer" what
 * may follow; complete.h says what that prints.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/complain.h"
#include "cli/complete.h"

static bool is_answering;

static const struct seep_option options[] = {
	SEEP_OPTION("answer", 0, FLAG, NULL, is_answering,
		    "Print what may follow the words that are given; the scripts ask this"),
};

const struct seep_option_table cmd_completion_options = {
	.options = options,
	.count = SEEP_OPTION_COUNT_OF(options),
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

/* clang-format off */
static const char bash_script[] =
	"# bash completion for seep\n"
	"_seep()\n"
	"{\n"
	"\tlocal line at=$COMP_CWORD files=\n"
	"\t[[ ${COMP_WORDS[at]} == '=' ]] && at=$((at + 1))\n"
	"\tCOMPREPLY=()\n"
	"\twhile IFS= read -r line; do\n"
	"\t\tcase $line in\n"
	"\t\t:files) files=yes ;;\n"
	"\t\t:folders) compopt -o dirnames ;;\n"
	"\t\t:command*)\n"
	"\t\t\tif declare -F _command_offset >/dev/null; then\n"
	"\t\t\t\t_command_offset \"${line#* }\"\n"
	"\t\t\t\treturn\n"
	"\t\t\tfi\n"
	"\t\t\tfiles=yes\n"
	"\t\t\t[[ $2 && $2 != */* && ${line#* } == \"$COMP_CWORD\" ]] &&\n"
	"\t\t\t\tmapfile -t COMPREPLY < <(compgen -c -- \"$2\")\n"
	"\t\t\t;;\n"
	"\t\t\"$2\"*) COMPREPLY+=(\"${line%%$'\\t'*}\") ;;\n"
	"\t\tesac\n"
	"\tdone < <(\"${1/#\\~/$HOME}\" completion --answer -- \"${COMP_WORDS[@]:0:at}\" \"$2\" 2>/dev/null)\n"
	"\t[[ $files ]] || return\n"
	"\tcompopt -o default -o filenames\n"
	"\t[[ ${COMPREPLY[*]} ]] &&\n"
	"\t\tmapfile -t -O \"${#COMPREPLY[@]}\" COMPREPLY < <(compgen -f -- \"$2\")\n"
	"}\n"
	"complete -F _seep seep\n";

static const char zsh_script[] =
	"#compdef seep\n"
	"# zsh completion for seep\n"
	"_seep()\n"
	"{\n"
	"\tlocal line word answers result=1\n"
	"\tlocal -a found\n"
	"\tanswers=\"$(${(Q)words[1]/#\\~/$HOME} completion --answer -- \"${(@Q)words[1,CURRENT-1]}\" \"${(Q)PREFIX}\" 2>/dev/null)\"\n"
	"\tfor line in \"${(@f)answers}\"; do\n"
	"\t\tcase $line in\n"
	"\t\t('') ;;\n"
	"\t\t(:files|:folders)\n"
	"\t\t\t[[ $PREFIX == --*=* ]] && compset -P 1 '*='\n"
	"\t\t\t_files ${${(M)line:#:folders}:+-/} && result=0\n"
	"\t\t\t;;\n"
	"\t\t(:command*)\n"
	"\t\t\tshift ${line#* } words\n"
	"\t\t\t(( CURRENT -= ${line#* } ))\n"
	"\t\t\t_normal && result=0\n"
	"\t\t\t;;\n"
	"\t\t(*)\n"
	"\t\t\tword=${line%%$'\\t'*}\n"
	"\t\t\tfound+=(\"${word//:/\\\\:}:${line#*$'\\t'}\")\n"
	"\t\t\t;;\n"
	"\t\tesac\n"
	"\tdone\n"
	"\t(( $#found )) && _describe seep found && result=0\n"
	"\treturn result\n"
	"}\n"
	"if [[ $funcstack[1] == _seep ]]; then\n"
	"\t_seep \"$@\"\n"
	"else\n"
	"\tcompdef _seep seep\n"
	"fi\n";

static const char fish_script[] =
	"# fish completion for seep\n"
	"function __seep_complete\n"
	"\tset -l typed (commandline -opc)\n"
	"\tset -l word (commandline -ct)\n"
	"\tset -l head (string match -r -- '^--[^=]*=' $word)\n"
	"\tset -l value (string replace -r -- '^--[^=]*=' '' $word)\n"
	"\tfor line in (command $typed[1] completion --answer -- $typed $word 2>/dev/null)\n"
	"\t\tswitch $line\n"
	"\t\t\tcase :files\n"
	"\t\t\t\tstring replace -r -- '^' \"$head\" (__fish_complete_path $value)\n"
	"\t\t\tcase :folders\n"
	"\t\t\t\tstring replace -r -- '^' \"$head\" (__fish_complete_directories $value)\n"
	"\t\t\tcase ':command *'\n"
	"\t\t\t\tset -l first (math (string replace -- ':command ' '' $line) + 1)\n"
	"\t\t\t\tcomplete -C (string join -- ' ' (string escape -- $typed[$first..-1]) $word)\n"
	"\t\t\tcase '*'\n"
	"\t\t\t\techo $line\n"
	"\t\tend\n"
	"\tend\n"
	"end\n"
	"complete -c seep -f -a '(__seep_complete)'\n";
/* clang-format on */

static const struct {
	const char *shell;
	const char *script;
} scripts[] = {
	{ "bash", bash_script },
	{ "zsh", zsh_script },
	{ "fish", fish_script },
};

int cmd_completion(char **operands)
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
	seep_complainf("completion", "'%s' is not one of bash, zsh and fish", shell);
	return SEEP_EXIT_USAGE;
}
