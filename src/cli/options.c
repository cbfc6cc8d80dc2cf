/* SPDX-License-Identifier: MIT */
/* The option parser: reads the arguments into the variables that a table of options names. */
#include "cli/options.h"

#include <string.h>

#include "core/nearest.h"
#include "base/strbuf.h"
#include "base/terminal.h"
#include "base/units.h"
#include "base/xalloc.h"

enum { CHOICES_BYTES_MAX = 1024, VALUE_SHOWN_BYTES = 100 };

const char *const seep_json_forms[] = { "strings", NULL };

/* Where the parser stands in the argument vector. */
struct cursor {
	const struct seep_option_table *table;
	char **argv;
	int argc;
	int next; /* the argument to look at next */
	struct seep_error *err;
};

bool seep_option_takes_value(const struct seep_option *option)
{
	return option->type != SEEP_OPTION_FLAG && option->type != SEEP_OPTION_OPTIONAL;
}

static int unknown_option(const struct cursor *at, const char *typed, size_t bytes)
{
	SEEP_FREED char *word = seep_xstrndup(typed, bytes);
	struct core_nearest nearest;
	const char *name;

	core_nearest_init(&nearest, word);
	core_nearest_offer(&nearest, "help");
	for (size_t i = 0; i < at->table->count; i++)
		core_nearest_offer(&nearest, at->table->options[i].name);
	name = core_nearest_word(&nearest);
	return seep_fail(at->err, SEEP_EUSAGE, "unknown option --%.*s%s%s%s", VALUE_SHOWN_BYTES,
			 word, name ? "; did you mean --" : "", name ? name : "", name ? "?" : "");
}

const struct seep_option *seep_option_find(const struct seep_option_table *table, char letter,
					   const char *name, size_t bytes)
{
	for (size_t i = 0; i < table->count; i++) {
		const struct seep_option *option = &table->options[i];

		if (letter ? option->short_name == letter
			   : strlen(option->name) == bytes &&
				     memcmp(option->name, name, bytes) == 0)
			return option;
	}
	return NULL;
}

/* The index of @value among the option's choices. */
static int find_choice(const struct cursor *at, const struct seep_option *option, const char *value,
		       int *ret_index)
{
	struct core_nearest nearest;
	SEEP_STRBUF(names, CHOICES_BYTES_MAX);
	const char *meant;

	core_nearest_init(&nearest, value);
	for (int i = 0; option->choices[i]; i++) {
		if (strcmp(option->choices[i], value) == 0) {
			*ret_index = i;
			return 0;
		}
		core_nearest_offer(&nearest, option->choices[i]);
		seep_strbuf_addf(&names, "%s%s", i ? ", " : "", option->choices[i]);
	}
	meant = core_nearest_word(&nearest);
	return seep_fail(at->err, SEEP_EUSAGE, "--%s: '%.*s' must be %s%s%s%s%s", option->name,
			 VALUE_SHOWN_BYTES, value, option->choices[1] ? "one of " : "", names.text,
			 meant ? "; did you mean " : "", meant ? meant : "", meant ? "?" : "");
}

static int store_item(const struct cursor *at, const struct seep_option *option, const char *value,
		      struct seep_option_list *list)
{
	if (list->count == SEEP_OPTION_LIST_MAX)
		return seep_fail(at->err, SEEP_EUSAGE, "--%s was given more than %d times",
				 option->name, SEEP_OPTION_LIST_MAX);
	list->items[list->count++] = value;
	return 0;
}

static int store_number(const struct cursor *at, const struct seep_option *option,
			const char *value, uint64_t *field)
{
	struct seep_unit_text least;
	int ret;

	if (option->type == SEEP_OPTION_SIZE) {
		ret = seep_parse_size(value, field, at->err);
		least = seep_bytes_text(option->min);
	} else if (option->type == SEEP_OPTION_DURATION) {
		ret = seep_parse_duration(value, field, at->err);
		least = seep_duration_text(option->min);
	} else {
		ret = seep_parse_count(value, option->max ? option->max : UINT64_MAX, field,
				       at->err);
		least = seep_digits_text(option->min);
	}
	if (ret == 0 && *field < option->min)
		ret = seep_fail(at->err, SEEP_EUSAGE, "'%.*s' is too small; the minimum is %s",
				VALUE_SHOWN_BYTES, value, seep_bound_text(least).text);
	if (ret < 0)
		seep_error_prefix(at->err, "--%s", option->name);
	return ret;
}

/* @value: NULL for an option without one. */
static int store(const struct cursor *at, const struct seep_option *option, const char *value)
{
	void *field = option->value;
	int index;

	switch (option->type) {
	case SEEP_OPTION_FLAG:
		*(bool *)field = true;
		break;
	case SEEP_OPTION_TEXT:
		*(const char **)field = value;
		break;
	case SEEP_OPTION_OPTIONAL:
		*(const char **)field = value ? value : "";
		return value && option->choices ? find_choice(at, option, value, &index) : 0;
	case SEEP_OPTION_CHOICE:
		return find_choice(at, option, value, field);
	case SEEP_OPTION_LIST:
		return store_item(at, option, value, field);
	case SEEP_OPTION_SIZE:
	case SEEP_OPTION_DURATION:
	case SEEP_OPTION_COUNT:
		return store_number(at, option, value, field);
	}
	return 0;
}

static int missing_value(const struct cursor *at, const struct seep_option *option)
{
	return seep_fail(at->err, SEEP_EUSAGE, "--%s needs a value: --%s %s", option->name,
			 option->name, option->placeholder);
}

/* @text: what follows "--". */
static int read_long(struct cursor *at, const char *text)
{
	const char *equals = strchr(text, '=');
	size_t bytes = equals ? (size_t)(equals - text) : strlen(text);
	const struct seep_option *option = seep_option_find(at->table, 0, text, bytes);
	const char *value = equals ? equals + 1 : NULL;

	if (!option && !equals && strcmp(text, "help") == 0)
		return SEEP_OPTIONS_HELP;
	if (!option)
		return unknown_option(at, text, bytes);
	if (seep_option_takes_value(option) && !value) {
		if (at->next == at->argc)
			return missing_value(at, option);
		value = at->argv[at->next++];
	} else if (value && !seep_option_takes_value(option) &&
		   option->type != SEEP_OPTION_OPTIONAL) {
		return seep_fail(at->err, SEEP_EUSAGE, "--%s takes no value", option->name);
	}
	return store(at, option, value);
}

/* The whole character, which may be longer than the byte that was looked up. */
static int unknown_letter(const struct cursor *at, const char *letter)
{
	unsigned code;
	size_t bytes = seep_utf8_decode(letter, strlen(letter), &code);

	return seep_fail(at->err, SEEP_EUSAGE, "unknown option -%.*s", bytes ? (int)bytes : 1,
			 letter);
}

/* @letters: what follows "-": flags, the last of which may take a value. */
static int read_short(struct cursor *at, const char *letters)
{
	for (; *letters; letters++) {
		const struct seep_option *option = seep_option_find(at->table, *letters, NULL, 0);
		const char *value = NULL;
		int ret;

		if (!option && *letters == 'h')
			return SEEP_OPTIONS_HELP;
		if (!option)
			return unknown_letter(at, letters);
		if (seep_option_takes_value(option)) {
			value = letters[1] ? letters + 1 : NULL;
			if (!value && at->next == at->argc)
				return missing_value(at, option);
			if (!value)
				value = at->argv[at->next++];
		}
		ret = store(at, option, value);
		if (ret != 0 || value)
			return ret;
	}
	return 0;
}

static int check_operands(const struct cursor *at, int count)
{
	size_t operands = (size_t)count;

	if (operands == 0 && at->table->min_operands)
		return seep_fail(at->err, SEEP_EUSAGE, "an argument is missing");
	if (operands < at->table->min_operands)
		return seep_fail(at->err, SEEP_EUSAGE, "an argument is missing after '%s'",
				 at->argv[at->argc - 1]);
	if (operands > at->table->max_operands)
		return seep_fail(at->err, SEEP_EUSAGE, "'%s' is one argument too many",
				 at->argv[at->argc - count + (int)at->table->max_operands]);
	/* An unset variable, most often. A program's own arguments are its own affair. */
	for (int i = 0; i < count && !at->table->operand_ends_options; i++)
		if (!*at->argv[at->argc - count + i])
			return seep_fail(at->err, SEEP_EUSAGE, "argument %d is empty", i + 1);
	return 0;
}

/*
 * Operands are collected at the front of argv (over options already read) and moved to the end of
 * the part that was read, so nothing is allocated.
 */
int seep_options_parse(const struct seep_option_table *table, int *argc, char ***argv,
		       struct seep_error *err)
{
	struct cursor at = { table, *argv, *argc, 1, err };
	int operands = 0; /* found so far, kept in argv[0 .. operands) */
	int ret;

	while (at.next < at.argc) {
		char *word = at.argv[at.next];

		if (word[0] != '-' || word[1] == '\0') {
			if (table->operand_ends_options)
				break;
			at.argv[operands++] = word;
			at.next++;
			continue;
		}
		at.next++;
		if (strcmp(word, "--") == 0)
			break;
		ret = word[1] == '-' ? read_long(&at, word + 2) : read_short(&at, word + 1);
		if (ret != 0)
			return ret;
	}
	memmove(at.argv + at.next - operands, at.argv, (size_t)operands * sizeof(*at.argv));
	*argv = at.argv + at.next - operands;
	*argc = at.argc - at.next + operands;
	return check_operands(&at, *argc);
}
