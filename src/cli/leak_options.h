/* SPDX-License-Identifier: MIT */
/* The options about leaks of all commands that look for them or show them. */
#ifndef SEEP_CLI_LEAK_OPTIONS_H
#define SEEP_CLI_LEAK_OPTIONS_H

#include "base/error.h"
#include "cli/options.h"
#include "recorder/leak_check.h"
#include "view/view.h"

struct seep_leak_option_values {
	const char *kinds;
	const char *why; /* "" without an address; NULL: not asked for */
	struct seep_option_list suppressions;
	uint64_t dump_bytes;
	uint64_t error_exitcode; /* 0 none */
	uint64_t blocks;
	bool gen_suppressions;
};

/* Lines of a command's table; @values is a struct seep_leak_option_values. */
#define SEEP_LEAK_OPTIONS(values)                                                               \
	SEEP_OPTION("leak-kinds", 0, TEXT, "LIST", (values).kinds,                              \
		    "Count verdicts in LIST as leaks, or \"all\" (lost,lost-cycle,lost-with)"), \
		SEEP_OPTION(                                                                    \
			"why", 0, OPTIONAL, "ADDRESS", (values).why,                            \
			"Show the pointers that lead to each leak, or to the block at ADDRESS")

#define SEEP_LEAK_SCAN_OPTIONS(values)                                                         \
	SEEP_OPTION("suppressions", 0, LIST, "FILE", (values).suppressions,                    \
		    "Suppress the leaks and findings that rules in FILE match"),               \
		SEEP_OPTION("dump-bytes", 0, COUNT, "N", (values).dump_bytes,                  \
			    "Keep the first N bytes of leaked blocks, which may hold secrets " \
			    "(default: 0)",                                                    \
			    .max = SEEP_DUMP_BYTES_MAX),                                       \
		SEEP_OPTION("error-exitcode", 0, COUNT, "N", (values).error_exitcode,          \
			    "End with status N where there are leaks (default: as without)",   \
			    .min = 1, .max = 255)

#define SEEP_LEAK_VIEW_OPTIONS(values)                                                    \
	SEEP_OPTION("blocks", 0, COUNT, "N", (values).blocks,                             \
		    "List the addresses of N blocks of each leak (default: 0)",           \
		    .max = SEEP_LEAK_BLOCKS_MAX),                                         \
		SEEP_OPTION("gen-suppressions", 0, FLAG, NULL, (values).gen_suppressions, \
			    "Print rules that suppress the leaks, instead of the leaks")

enum { SEEP_DUMP_BYTES_MAX = 65536, SEEP_LEAK_BLOCKS_MAX = 1000000 };

/**
 * seep_leak_options_read - what the options ask for
 * @ret_plan: borrows from @values
 * @ret_view: what concerns leaks is set; leak_kinds: 0 unless asked for
 *
 * Returns: 0, -SEEP_EUSAGE, or what is wrong with a file of suppressions.
 */
SEEP_NODISCARD int seep_leak_options_read(const struct seep_leak_option_values *values,
					  struct seep_leak_check_plan *ret_plan,
					  struct seep_view_options *ret_view,
					  struct seep_error *err);

/*
 * Whether there can be an answer to what is lost: 0, or -SEEP_ENOTFOUND, since @profile, which
 * @operand named, was not scanned.
 */
SEEP_NODISCARD int seep_leak_options_need_scan(const struct seep_profile *profile,
					       const char *operand, struct seep_error *err);

/* For struct seep_leak_check_plan, on standard error. */
void seep_leak_report_now(const struct seep_profile *profile);

#endif
