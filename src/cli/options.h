/* SPDX-License-Identifier: MIT */
/*
 * Options of a command, once, in a table: the parser, the help text and the completion all read it.
 * Each option writes one variable, most often a field of the command's own struct:
 *
 *	static struct {
 *		bool tree;
 *		uint64_t top_count;
 *		const char *html;
 *	} asked;
 *
 *	static const struct seep_option options[] = {
 *		SEEP_OPTION("tree", 't', FLAG, NULL, asked.tree, "Show callers as a tree"),
 *		SEEP_OPTION("top", 'n', COUNT, "N", asked.top_count,
 *			    "Show the N largest stacks (20)", .max = 10000),
 *		SEEP_OPTION("html", 0, TEXT, "OUT", asked.html, "Write a page instead"),
 *	};
 *	const struct seep_option_table cmd_report_options = {
 *		SEEP_OPTIONS(options),
 *		.min_operands = 1,
 *		.max_operands = 1,
 *	};
 */
#ifndef SEEP_CLI_OPTIONS_H
#define SEEP_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum seep_option_type {
	SEEP_OPTION_FLAG,     /* bool: becomes true */
	SEEP_OPTION_TEXT,     /* const char *: points into argv */
	SEEP_OPTION_OPTIONAL, /* const char *: "" for "--name", the value for "--name=value" */
	SEEP_OPTION_SIZE,     /* uint64_t: bytes */
	SEEP_OPTION_DURATION, /* uint64_t: nanoseconds */
	SEEP_OPTION_COUNT,    /* uint64_t: a plain number up to max (0 = no bound) */
	SEEP_OPTION_CHOICE,   /* int: index into choices */
	SEEP_OPTION_LIST,     /* struct seep_option_list: may be given several times */
};

struct seep_option {
	const char *name; /* long name without dashes */
	char short_name;  /* 0 = none */
	enum seep_option_type type;
	const char *placeholder;    /* "FILE", "N"; NULL for flags */
	void *value;		    /* what it writes; holds the default before */
	const char *summary;	    /* one line; the default in parentheses */
	const char *const *choices; /* NULL-terminated; of CHOICE, and of OPTIONAL if not NULL */
	uint64_t min;		    /* SIZE, DURATION and COUNT: what is less is refused */
	uint64_t max;		    /* COUNT only */
};

/* One line of a table; further fields may follow: ".max = 100". */
#define SEEP_OPTION(long_name, letter, kind, value_name, field, text, ...)                       \
	{                                                                                        \
		.name = (long_name), .short_name = (letter), .type = SEEP_OPTION_##kind,         \
		.placeholder = (value_name), .value = &(field), .summary = (text), ##__VA_ARGS__ \
	}

/* The lines of a command's table. */
#define SEEP_OPTIONS(lines) .options = (lines), .count = sizeof(lines) / sizeof((lines)[0])

/* The choices of "--json[=strings]". */
extern const char *const seep_json_forms[];

enum { SEEP_OPTION_LIST_MAX = 64 };

struct seep_option_list {
	const char *items[SEEP_OPTION_LIST_MAX]; /* point into argv */
	size_t count;
};

struct seep_option_table {
	const struct seep_option *options;
	size_t count;
	size_t min_operands;
	size_t max_operands; /* SIZE_MAX = any number */
	/* The first operand ends the options: what follows belongs to a program ("seep run"). */
	bool operand_ends_options;
	const char *details; /* paragraphs for the command's help, newline at the end */
};

/* Returned by seep_options_parse() when --help or -h was given. */
enum { SEEP_OPTIONS_HELP = 1 };

/**
 * seep_options_parse - read @argv into what the options write
 * @argc, @argv: with the command's name first; on success only the operands remain, from (*argv)[0]
 * @err:         filled on failure only
 *
 * "--name=value", "--name value", "-n value", "-nvalue", bundled flags "-tq", "--" ends options.
 * Operands may stand between options unless the table says that the first one ends them; @argv is
 * reordered for that. Long names are not abbreviated: scripts would break when an option is added.
 *
 * Returns: 0, SEEP_OPTIONS_HELP, or -SEEP_EUSAGE (the sentence names the nearest option).
 */
SEEP_NODISCARD int seep_options_parse(const struct seep_option_table *table, int *argc,
				      char ***argv, struct seep_error *err);

/* By @letter, or where that is 0 by the first @bytes of @name. NULL: there is none. */
const struct seep_option *seep_option_find(const struct seep_option_table *table, char letter,
					   const char *name, size_t bytes);

/* Whether the option is followed by a value: "--top N". False for flags and OPTIONAL. */
bool seep_option_takes_value(const struct seep_option *option);

#endif
