/* SPDX-License-Identifier: MIT */
/* The options about the memory of blocks: what it is filled with, what guards it, what is found out. */
#ifndef SEEP_CLI_MEMORY_OPTIONS_H
#define SEEP_CLI_MEMORY_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "cli/options.h"

/* Texts: "" without a value; NULL: not asked for. */
struct seep_memory_option_values {
	const char *fill;
	bool no_fill;
	uint64_t level;
	const char *fill_free;
	const char *guard;
	const char *quarantine;
	bool free_stacks;
	uint64_t check_every;
	uint64_t guarded_sample;
	bool abort_on_error;
};

/* Lines of a command's table; @values is a struct seep_memory_option_values. */
#define SEEP_MEMORY_OPTIONS(values)                                                                            \
	SEEP_OPTION(                                                                                           \
		"fill", 0, OPTIONAL, "BYTE", (values).fill,                                                    \
		"Fill new memory with BYTE (0xfa), so that no old pointer in it hides a leak; "                \
		"the default with --error-exitcode"),                                                          \
		SEEP_OPTION("no-fill", 0, FLAG, NULL, (values).no_fill,                                        \
			    "Leave new memory as it is, with --error-exitcode too"),                           \
		SEEP_OPTION("fill-free", 0, OPTIONAL, "BYTE", (values).fill_free,                              \
			    "Fill freed memory with BYTE (0xdd)"),                                             \
		SEEP_OPTION(                                                                                   \
			"guard", 0, OPTIONAL, "N", (values).guard,                                             \
			"Put N bytes (16) on both sides of each block that nobody may write to, and look at "  \
			"them when it is freed and at the end; turns --quarantine on"),                        \
		SEEP_OPTION(                                                                                   \
			"quarantine", 0, OPTIONAL, "SIZE", (values).quarantine,                                \
			"Keep freed blocks until SIZE (16M) was freed after them, and look whether they were " \
			"written to; 0: do not, with --guard"),                                                \
		SEEP_OPTION(                                                                                   \
			"free-stacks", 0, FLAG, NULL, (values).free_stacks,                                    \
			"Keep where a block was freed, for as long as it is in quarantine; turns that on"),    \
		SEEP_OPTION(                                                                                   \
			"check-every", 0, COUNT, "N", (values).check_every,                                    \
			"Look at the guards of all blocks at each Nth allocation; turns --guard on"),          \
		SEEP_OPTION(                                                                                   \
			"guarded-sample", 0, COUNT, "N", (values).guarded_sample,                              \
			"Trap wrong accesses to one in N blocks, each on a page of its own; 1000 is cheap "    \
			"enough for production",                                                               \
			.max = UINT32_MAX / 4),                                                                \
		SEEP_OPTION("abort-on-error", 0, FLAG, NULL, (values).abort_on_error,                          \
			    "Abort the program when it misuses a block"),                                      \
		SEEP_OPTION(                                                                                   \
			"level", 0, COUNT, "N", (values).level,                                                \
			"1: the default; 5: --fill --fill-free; 10: these with --guard and --quarantine",      \
			.min = 1)

/**
 * seep_memory_options_add - what the options say to the library
 * @fill_wanted: new memory is to be filled unless they say otherwise
 * @text:        gets it, as in SEEP_OPTIONS, each behind a colon
 *
 * Returns: 0 or -SEEP_EUSAGE.
 */
SEEP_NODISCARD int seep_memory_options_add(const struct seep_memory_option_values *values,
					   bool fill_wanted, struct seep_strbuf *text,
					   struct seep_error *err);

#endif
