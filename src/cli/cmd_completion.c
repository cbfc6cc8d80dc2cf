/* SPDX-License-Identifier: MIT */
/*
 * "seep completion": a script for each shell, which at each Tab asks "seep completion --answer" what
 * may follow. That comes from the tables that help is made from: so one place knows it for all
 * shells, and nothing that was typed, and no name of a process, is ever read as shell code.
 *
 * Words are read as options.c does, but for an unfinished line: what is wrong there is passed over.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "base/terminal.h"
#include "cli/command.h"
#include "recorder/census.h"

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

/* What is known before the word that is being typed. */
struct typed {
	const struct seep_command *command;
	const struct seep_option *option; /* whose value it is; NULL = none's */
	const char *head;		  /* it begins with this, "--by=", or "" */
	int head_bytes;
	size_t operands;
	bool no_options;
	size_t program; /* where another program's command line begins; 0: nowhere */
	const char *word;
	size_t index; /* of the word */
};

static void offer(const struct typed *at, const char *word, size_t bytes)
{
	(void)printf("%.*s%.*s\t\n", at->head_bytes, at->head, (int)bytes, word);
}

static void offer_options(const struct typed *at)
{
	const struct seep_option_table *table = at->command->options;

	for (size_t i = 0; i < table->count; i++) {
		const struct seep_option *option = &table->options[i];

		(void)printf("--%s\t%s\n", option->name, option->summary);
		if (option->short_name)
			(void)printf("-%c\t%s\n", option->short_name, option->summary);
	}
	(void)fputs("--help\tShow this help\n-h\tShow this help\n", stdout);
}

/* Whether a shell takes it as one word that is no option, whatever the shell. */
static bool is_plain(const char *name)
{
	if (!isalnum((unsigned char)*name) && *name != '_')
		return false;
	while (isalnum((unsigned char)*name) || (*name && strchr("._+-", *name)))
		name++;
	return !*name;
}

static void offer_processes(void)
{
	SEEP_RELEASED(seep_census_done) struct seep_census census = { 0 };

	if (seep_census_take(&census, NULL) < 0)
		return;
	for (size_t i = 0; i < census.count; i++) {
		const struct seep_census_entry *entry = &census.entries[i];
		const char *name = seep_path_base(entry->exe);
		SEEP_FREED char *shown = seep_escape_dup(name);

		if (!seep_census_runs(entry))
			continue;
		(void)printf("%u\t%s\n", entry->pid, shown);
		if (is_plain(name))
			(void)printf("%s\tPID %u\n", name, entry->pid);
	}
}

static bool is(const char *word, size_t bytes, const char *name)
{
	return strlen(name) == bytes && memcmp(word, name, bytes) == 0;
}

/* One of the words of "PID|NAME|FILE". Those in small letters stand for themselves. */
static void offer_alternative(const struct typed *at, const char *word, size_t bytes)
{
	static const char *const files[] = { "FILE", "LEDGER", "A", "B", "JSON", "OUT" };

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		if (is(word, bytes, files[i]))
			(void)puts(":files");
	if (is(word, bytes, "DIR"))
		(void)puts(":folders");
	if (is(word, bytes, "PID") || is(word, bytes, "A") || is(word, bytes, "B"))
		offer_processes();
	else if (is(word, bytes, "PROGRAM"))
		(void)printf(":command %zu\n", at->program ? at->program : at->index);
	else if (bytes && islower((unsigned char)*word))
		offer(at, word, bytes);
}

/* @syntax: of @bytes, as in help: "PID|NAME|FILE", "[B]". */
static void offer_syntax(const struct typed *at, const char *syntax, size_t bytes)
{
	const char *end = syntax + bytes;

	while (syntax < end) {
		size_t length = strcspn(syntax, "[]| ");

		offer_alternative(at, syntax, length);
		syntax += length + 1;
	}
}

static void offer_value(const struct typed *at)
{
	const struct seep_option *option = at->option;

	for (size_t i = 0; option->choices && option->choices[i]; i++)
		offer(at, option->choices[i], strlen(option->choices[i]));
	if (!option->choices)
		offer_syntax(at, option->placeholder, strlen(option->placeholder));
}

/* The word of the command's usage for this operand; "…" repeats the one before. */
static void offer_operand(const struct typed *at)
{
	const char *word = at->command->args, *last = NULL;
	size_t left = at->operands, last_bytes = 0;

	for (size_t bytes; *word; word += bytes + (word[bytes] == ' ')) {
		bytes = strcspn(word, " ");
		if (is(word, bytes, "[options]") || is(word, bytes, "[--]"))
			continue;
		if (is(word, bytes, "…"))
			break;
		last = word;
		last_bytes = bytes;
		if (left-- == 0)
			break;
	}
	if (last && (left == SIZE_MAX || *word))
		offer_syntax(at, last, last_bytes);
}

/* The last of bundled letters, if its value is the next word. */
static const struct seep_option *find_letter(const struct seep_option_table *table,
					     const char *letters)
{
	for (; *letters; letters++) {
		const struct seep_option *option = seep_option_find(table, *letters, NULL, 0);

		if (option && seep_option_takes_value(option))
			return letters[1] ? NULL : option;
	}
	return NULL;
}

/* An option at @words[i], which is not the last. Returns the index of the last word of it. */
static size_t read_option(struct typed *at, char **words, size_t i)
{
	const struct seep_option_table *table = at->command->options;
	const struct seep_option *option;

	if (words[i][1] != '-') {
		option = find_letter(table, words[i] + 1);
	} else if (strchr(words[i], '=')) {
		return i;
	} else {
		option = seep_option_find(table, 0, words[i] + 2, strlen(words[i] + 2));
		if (option && strcmp(words[i + 1], "=") == 0 && i + 1 < at->index)
			i++;
		else if (option && !seep_option_takes_value(option))
			return i;
	}
	if (option && i + 1 == at->index)
		at->option = option;
	return option ? i + 1 : i;
}

/* The word itself: "--by=" and what is typed of the value. */
static void read_word(struct typed *at)
{
	const char *equals = strchr(at->word, '=');

	if (at->option || at->no_options || strncmp(at->word, "--", 2) != 0 || !equals)
		return;
	at->option = seep_option_find(at->command->options, 0, at->word + 2,
				      (size_t)(equals - at->word) - 2);
	at->head = at->word;
	at->head_bytes = (int)(equals - at->word) + 1;
}

static void read_words(struct typed *at, char **words)
{
	for (size_t i = 2; i < at->index; i++) {
		if (at->no_options || words[i][0] != '-' || !words[i][1]) {
			at->operands++;
			if (at->command->options->operand_ends_options && !at->program) {
				at->program = i;
				at->no_options = true;
			}
		} else if (strcmp(words[i], "--") == 0) {
			at->no_options = true;
		} else {
			i = read_option(at, words, i);
		}
	}
	read_word(at);
}

static void complete_command(struct typed *at, char **words)
{
	read_words(at, words);
	if (at->option && at->option->placeholder)
		offer_value(at);
	else if (!at->no_options && !at->head_bytes && *at->word == '-')
		offer_options(at);
	else if (!at->head_bytes)
		offer_operand(at);
}

/*
 * Print what may stand in place of the last of @words, which NULL ends; the first is seep itself,
 * the last, perhaps empty, is being typed.
 *
 * One a line, a tab before its summary. Those that do not begin with what is typed are printed too:
 * each shell has its own idea of what matches. ":files", ":folders" and ":command N" stand for what
 * the shell knows itself; the command line of another program begins at word N. "=" may be a word
 * of its own, as it is for bash, between an option and its value.
 */
static void complete(char **words)
{
	struct typed at = { .head = "" };

	while (words[at.index] && words[at.index + 1])
		at.index++;
	at.word = words[at.index];
	if (at.index == 1 && *at.word == '-') {
		(void)fputs("--help\tList the commands\n--version\tPrint the version\n", stdout);
	} else if (at.index == 1 || (at.index == 2 && strcmp(words[1], "help") == 0)) {
		for (size_t i = 0; i < seep_command_count; i++)
			(void)printf("%s\t%s\n", seep_commands[i].name, seep_commands[i].summary);
		if (at.index == 1)
			(void)fputs("help\tExplain a command\n", stdout);
	} else if (at.index > 1) {
		at.command = seep_command_find(words[1]);
		if (at.command)
			complete_command(&at, words);
	}
}

int cmd_completion(char **operands, struct seep_error *err)
{
	const char *shell = *operands ? *operands : scripts[0].shell;

	if (is_answering) {
		if (*operands)
			complete(operands);
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
