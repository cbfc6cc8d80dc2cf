/* SPDX-License-Identifier: MIT */
/* Options about what libseep.so records, of "seep run" and "seep attach". */
#ifndef SEEP_CLI_RECORD_OPTIONS_H
#define SEEP_CLI_RECORD_OPTIONS_H

#include "base/error.h"
#include "base/strbuf.h"
#include "cli/options.h"
#include "ledger/ledger.h"

enum { SEEP_RECORD_ALL, SEEP_RECORD_SCOPED, SEEP_RECORD_OFF, SEEP_RECORD_DEPTH_MAX = 65536 };
enum { SEEP_TIER_EXACT, SEEP_TIER_COUNTS, SEEP_TIER_SAMPLED };

struct seep_record_option_values {
	int mode;
	int tier;
	uint64_t sample_rate;
	uint64_t size_min;
	uint64_t size_max;
	struct seep_option_list modules;
	uint64_t ledger_max;
	uint64_t depth;
	bool by_thread;
	bool no_argv;
};

/* Lines of the command's table; @values is a struct seep_record_option_values. */
#define SEEP_RECORD_OPTIONS(values)                                                               \
	SEEP_OPTION("mode", 0, CHOICE, "all|scoped|off", (values).mode,                           \
		    "Record all allocations, those in scopes, or none (default: all)",            \
		    .choices = (const char *const[]){ "all", "scoped", "off", NULL }),            \
		SEEP_OPTION(                                                                      \
			"tier", 0, CHOICE, "exact|counts|sampled", (values).tier,                 \
			"Record all call stacks, all allocations and a sample of their "          \
			"stacks, or a sample altogether (default: exact)",                        \
			.choices = (const char *const[]){ "exact", "counts", "sampled", NULL }),  \
		SEEP_OPTION(                                                                      \
			"sample-rate", 0, SIZE, "SIZE", (values).sample_rate,                     \
			"Take one sample in about SIZE allocated, a power of 2 (default: 512K)"), \
		SEEP_OPTION("module", 0, LIST, "GLOB", (values).modules,                          \
			    "Record only what these modules allocate; !GLOB: not these"),         \
		SEEP_OPTION("size-min", 0, SIZE, "SIZE", (values).size_min,                       \
			    "Do not record smaller requests"),                                    \
		SEEP_OPTION("size-max", 0, SIZE, "SIZE", (values).size_max,                       \
			    "Do not record larger requests; 0: no limit (default: 0)"),           \
		SEEP_OPTION("ledger-max", 0, SIZE, "SIZE", (values).ledger_max,                   \
			    "Let the ledger of each process take up to SIZE, at least 256K "      \
			    "(default: as there is room)",                                        \
			    .min = LEDGER_MAX_LEAST_BYTES),                                       \
		SEEP_OPTION("depth", 0, COUNT, "N", (values).depth,                               \
			    "Keep only the N innermost frames of each stack; 0 keeps all "        \
			    "(default: 0)",                                                       \
			    .max = SEEP_RECORD_DEPTH_MAX),                                        \
		SEEP_OPTION("by-thread", 0, FLAG, NULL, (values).by_thread,                       \
			    "Keep call stacks apart by the name of their thread"),                \
		SEEP_OPTION("no-argv", 0, FLAG, NULL, (values).no_argv,                           \
			    "Keep the program's arguments out of the recording")

/* Append what they say to the library, as ":key=value". Returns: 0, or -SEEP_EUSAGE. */
SEEP_NODISCARD int seep_record_options_add(const struct seep_record_option_values *values,
					   struct seep_strbuf *text, struct seep_error *err);

#endif
