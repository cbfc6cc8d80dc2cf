/* SPDX-License-Identifier: MIT */
/* "seep export": a recording or a ledger as a file for another program. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/terminal.h"
#include "cli/command.h"
#include "cli/complain.h"
#include "cli/import_hint.h"
#include "cli/keep_options.h"
#include "cli/output_file.h"
#include "cli/symbol_options.h"
#include "export/export.h"

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

#define FORMAT_LINE(name, suffix, binary, heeds_by, needs, summary) "  " #name ": " summary "\n"

const struct seep_option_table cmd_export_options = {
	.options = options,
	.count = SEEP_OPTION_COUNT_OF(options),
	.min_operands = 1,
	.max_operands = 1,
	.details =
		"FILE is a recording (.seep), or the ledger of a running or dead process\n"
		"(\"seep ps\" lists them). FORMAT is one of\n"
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
	if (!asked.output && format->binary && seep_terminal_is(STDOUT_FILENO))
		return seep_fail(err, SEEP_EUSAGE,
				 "%s is not for a terminal; -o OUT%s writes it to a file",
				 format->name, format->suffix);
	if (seep_keep_options_check(&asked.keep, err) < 0)
		return -SEEP_EUSAGE;
	return asked.output ? seep_output_check(asked.output, format->name, err) : 0;
}

struct job {
	const struct seep_exporter *format;
	const struct seep_profile *profile;
	struct seep_export_options options;
};

static void write_job(FILE *out, const void *value)
{
	const struct job *job = value;

	job->format->write(out, job->profile, &job->options);
}

/* Of formats that cannot say what is not known, and of the figures asked for. */
static int check_known(const struct seep_exporter *format, const struct seep_profile *profile,
		       struct seep_error *err)
{
	const struct seep_view_options view = { .by = asked.by };
	const bool is_of_one = asked.by != SEEP_BY_CHOICE || strcmp(format->name, "folded") == 0;
	unsigned needs = format->needs;

	if (is_of_one)
		needs |= 1U << seep_view_measure(profile, &view);
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
	struct seep_sites *sites = seep_keep_options_any(&asked.keep) ? seep_sites_new(profile)
								      : NULL;
	struct job job = { .format = format, .profile = profile, .options.by = asked.by };
	char *shown = NULL;
	int ret;

	ret = seep_keep_options_apply(&asked.keep, profile, sites, &shown, err);
	seep_sites_free(sites);
	job.options.shown = shown;
	if (ret == 0 && asked.output)
		ret = seep_output_write(asked.output, format->name, write_job, &job, err);
	else if (ret == 0)
		write_job(stdout, &job);
	free(shown);
	return ret;
}

static int export_file(const char *path, struct seep_error *err)
{
	const struct seep_exporter *format;
	struct seep_profile *profile = NULL;
	int ret;

	if (asked.to == NO_FORMAT)
		return seep_fail(err, SEEP_EUSAGE, "--to FORMAT is missing");
	if (asked.output && strcmp(asked.output, "-") == 0)
		asked.output = NULL;
	format = &seep_exporters[asked.to];
	ret = check(format, err);
	if (ret == 0)
		ret = seep_symbol_options_open(&asked.symbols, path, &profile, err);
	if (ret == 0)
		ret = check_known(format, profile, err);
	if (ret == 0)
		ret = write_profile(format, profile, err);
	seep_profile_free(profile);
	return ret;
}

int cmd_export(char **operands)
{
	struct seep_error err = { 0 };
	int status;

	if (export_file(operands[0], &err) == 0)
		return SEEP_EXIT_OK;
	status = seep_complain("export", &err);
	if (asked.to == NO_FORMAT)
		seep_hint("\"seep export --help\" lists the formats");
	else
		seep_open_hint(operands[0], &err);
	return status;
}
