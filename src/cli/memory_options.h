/* SPDX-License-Identifier: MIT */
/* The options of "seep run" about what is done to the memory of blocks. */
#ifndef SEEP_CLI_MEMORY_OPTIONS_H
#define SEEP_CLI_MEMORY_OPTIONS_H

#include "base/error.h"
#include "base/strbuf.h"
#include "cli/options.h"

/* Texts: "" without a value; NULL: not asked for. */
struct seep_memory_option_values {
	int level; /* index of the choice */
	const char *fill, *fill_free, *guard, *quarantine;
	bool no_fill;
	bool free_stacks;
	uint64_t check_every;
	uint64_t guarded_sample;
	bool abort_on_error;
};

/* Lines of the command's table; @values is a struct seep_memory_option_values. */
#define SEEP_MEMORY_OPTIONS(values)                                                               \
	SEEP_OPTION(                                                                              \
		"fill", 0, OPTIONAL, "BYTE", (values).fill,                                       \
		"Fill new memory with BYTE (0xfa), so that no old pointer in it hides a leak; "   \
		"the default with --error-exitcode"),                                             \
		SEEP_OPTION("no-fill", 0, FLAG, NULL, (values).no_fill,                           \
			    "Leave new memory as it is, with --error-exitcode too"),              \
		SEEP_OPTION("fill-free", 0, OPTIONAL, "BYTE", (values).fill_free,                 \
			    "Fill freed memory with BYTE (0xdd)"),                                \
		SEEP_OPTION("guard", 0, OPTIONAL, "N", (values).guard,                            \
			    "Find who writes to the N bytes (16) before or behind a block, when " \
			    "it is freed or at the end; with --quarantine"),                      \
		SEEP_OPTION("quarantine", 0, OPTIONAL, "SIZE", (values).quarantine,               \
			    "Find who writes to freed blocks, until SIZE (16M) is freed after "   \
			    "them; 0: do not, with --guard"),                                     \
		SEEP_OPTION("free-stacks", 0, FLAG, NULL, (values).free_stacks,                   \
			    "Keep where blocks in quarantine were freed; with --quarantine"),     \
		SEEP_OPTION("check-every", 0, COUNT, "N", (values).check_every,                   \
			    "Look at all guards at each Nth allocation, too; with --guard"),      \
		SEEP_OPTION("guarded-sample", 0, COUNT, "N", (values).guarded_sample,             \
			    "Trap wrong accesses to one in N blocks; 1000 is cheap enough for "   \
			    "production",                                                         \
			    .max = UINT32_MAX / 4),                                               \
		SEEP_OPTION("abort-on-error", 0, FLAG, NULL, (values).abort_on_error,             \
			    "Abort the program when it misuses a block"),                         \
		SEEP_OPTION("level", 0, CHOICE, "N", (values).level,                              \
			    "1: none of these; 5: --fill --fill-free; 10: with --guard, too",     \
			    .choices = (const char *const[]){ "1", "5", "10", NULL })

/**
 * seep_memory_options_add - append what they say to the library, as ":key=value"
 * @fills: new memory is filled, unless they say otherwise
 *
 * Returns: 0, or -SEEP_EUSAGE.
 */
SEEP_NODISCARD int seep_memory_options_add(const struct seep_memory_option_values *values,
					   bool fills, struct seep_strbuf *text,
					   struct seep_error *err);

#endif
