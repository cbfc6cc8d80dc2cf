/* SPDX-License-Identifier: MIT */
/* "seep export": a recording or a ledger as a file for another program. */
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/complain.h"
#include "cli/keep_options.h"
#include "cli/ledger_operand.h"
#include "cli/output_file.h"
#include "cli/symbol_options.h"
#include "export/export.h"
#include "export/export_names.h"

enum { NO_FORMAT = -1 };

static struct {
	int to;
	int by;
	const char *output;
	struct seep_keep_option_values keep;
	struct seep_symbol_option_values symbols;
} asked = { .to = NO_FORMAT, .by = SEEP_BY_CHOICE };

static const struct seep_option options[] = {
	SEEP_OPTION("to", 't', CHOICE, "FORMAT", asked.to, "The format to write",
		    .choices = seep_exporter_names),
	SEEP_OPTION("output", 'o', TEXT, "OUT", asked.output,
		    "Write to the file OUT instead of (or with - to) standard output"),
	SEEP_OPTION("by", 'b', CHOICE, "KEY", asked.by,
		    "Which figures, or which of them first: live, peak, allocs or temporary "
		    "(default: live; peak if all was freed)",
		    .choices = seep_measure_names),
	SEEP_KEEP_OPTIONS(asked.keep, "Write"),
	SEEP_SYMBOL_OPTIONS(asked.symbols),
};

#define FORMAT_LINE(name, suffix, binary, heeds_by, says, needs, summary) \
	"  " #name ": " summary "\n"

const struct seep_option_table cmd_export_options = {
	SEEP_OPTIONS(options),
	.min_operands = 1,
	.max_operands = 1,
	.details =
		"FILE is a recording (.seep), or the ledger of a running or dead process\n"
		"(\"seep ps\" lists them); the PID or NAME of a process will do. FORMAT is one of\n"
		"\n" SEEP_EXPORTERS(
			FORMAT_LINE) "\n"
				     "-o replaces a file, but no recording or ledger; into a link, pipe or device it\n"
				     "writes as the shell's > does.\n",
};

static int check(const struct seep_exporter *format, struct seep_error *err)
{
	if (asked.by >= SEEP_MEASURE_COUNT)
		return seep_fail(err, SEEP_EUSAGE, "--by %s cannot be exported",
				 seep_measure_names[asked.by]);
	if (asked.by != SEEP_BY_CHOICE && !format->heeds_by)
		return seep_fail(err, SEEP_EUSAGE, "--by cannot be used with --to %s",
				 format->name);
	if (!asked.output && format->binary && isatty(STDOUT_FILENO))
		return seep_fail(err, SEEP_EUSAGE,
				 "%s is not for a terminal; -o OUT%s writes it to a file",
				 format->name, format->suffix);
	if (seep_keep_options_check(&asked.keep, err) < 0)
		return -SEEP_EUSAGE;
	return asked.output ? seep_output_check(asked.output, format->name, err) : 0;
}

/* Of formats that cannot say what is not known, and of the figures asked for. */
static int check_known(const struct seep_exporter *format, const struct seep_profile *profile,
		       struct seep_error *err)
{
	const bool is_of_one = asked.by != SEEP_BY_CHOICE || strcmp(format->name, "folded") == 0;
	unsigned needs = format->needs;

	if (is_of_one)
		needs |= 1U << seep_view_measure(profile, asked.by);
	for (int i = 0; i < SEEP_MEASURE_COUNT; i++)
		if (needs >> i & 1 && !seep_measure_is_known(profile, (enum seep_measure)i))
			return seep_fail(err, SEEP_EUNSUPPORTED,
					 "the profile does not know %s, which %s would show as 0",
					 seep_measure_words(profile, (enum seep_measure)i),
					 format->name);
	return 0;
}

static int write_profile(const struct seep_exporter *format, struct seep_profile *profile,
			 struct seep_error *err)
{
	struct seep_view_options how = { .by = asked.by };
	struct seep_atomic_file file;
	SEEP_FREED char *shown = NULL, *estimates = NULL;
	int ret = seep_keep_options_apply(&asked.keep, profile, &shown, err);

	how.shown = shown;
	if (ret == 0)
		ret = seep_output_begin(asked.output, format->name, &file, err);
	if (ret < 0)
		return ret;
	format->write(file.stream, profile, &how);
	if (!format->says_estimates)
		estimates = seep_export_estimates(profile);
	if (estimates)
		seep_complainf("export", "%s: %s has no place to say so", estimates, format->name);
	return seep_output_end(&file, err);
}

int cmd_export(char **operands, struct seep_error *err)
{
	const struct seep_exporter *format;
	SEEP_RELEASED(seep_profile_free_at) struct seep_profile *profile = NULL;
	SEEP_FREED char *path = NULL;
	int ret;

	if (asked.to == NO_FORMAT) {
		seep_complainf("export", "--to FORMAT is missing");
		seep_hint("\"seep export --help\" lists the formats");
		return SEEP_EXIT_USAGE;
	}
	if (asked.output && strcmp(asked.output, "-") == 0)
		asked.output = NULL;
	format = &seep_exporters[asked.to];
	ret = check(format, err);
	if (ret == 0)
		ret = seep_ledger_operand_path(operands[0], &path, err);
	if (ret == 0)
		ret = seep_symbol_options_open(&asked.symbols, path, &profile, err);
	if (ret == 0)
		ret = check_known(format, profile, err);
	if (ret == 0)
		ret = write_profile(format, profile, err);
	return ret;
}
