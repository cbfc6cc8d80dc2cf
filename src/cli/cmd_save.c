/* SPDX-License-Identifier: MIT */
/*
 * "seep save": make a recording of a running process, or of the ledger that a dead one left.
 * "seep snapshot": the same of what runs only, under the next name that is free.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"
#include "base/xalloc.h"
#include "cli/command.h"
#include "cli/ledger_operand.h"
#include "cli/symbol_options.h"
#include "profile/ledger_name.h"
#include "recorder/census.h"
#include "recorder/finish.h"
#include "recorder/outname.h"
#include "recorder/outside.h"
#include "report/report.h"

static struct {
	const char *output;
	bool force;
	bool quiet;
	struct seep_symbol_option_values symbols;
} asked;

static const struct seep_option options[] = {
	SEEP_OPTION("output", 'o', TEXT, "FILE", asked.output,
		    "Write the recording to FILE (default: ./%e.%p.seep, of snapshots "
		    "./%e.%p.N.seep)"),
	SEEP_OPTION("force", 'f', FLAG, NULL, asked.force, "Replace FILE if it exists"),
	SEEP_OPTION("quiet", 'q', FLAG, NULL, asked.quiet, "Print no summary"),
	SEEP_SYMBOL_OPTIONS(asked.symbols),
};

const struct seep_option_table cmd_save_options = {
	SEEP_OPTIONS(options),
	.min_operands = 1,
	.max_operands = 1,
	.details =
		"Use it for daemons that \"seep run\" left running, for programs started with\n"
		"LD_PRELOAD, and for ledgers left by a recorder that was killed. \"seep ps\" lists\n"
		"all of them. A running process is neither stopped nor changed. The ledger of a\n"
		"dead or detached process is removed when its recording is written, unless you\n"
		"gave the path of a file in another folder.\n",
};

const struct seep_option_table cmd_snapshot_options = {
	SEEP_OPTIONS(options),
	.min_operands = 1,
	.max_operands = 1,
	.details = "The process is neither stopped nor changed. Without -o the name is\n"
		   "./%e.%p.1.seep, or the next number that is free. \"seep diff\" compares two\n"
		   "snapshots.\n",
};

static int choose_output(const char *ledger_name, const char *pattern, char **ret_output,
			 struct seep_error *err)
{
	struct seep_ledger_name name = { .exe_bytes = (uint32_t)strlen(ledger_name) };
	SEEP_FREED char *exe = NULL;
	int rc;

	(void)seep_ledger_name_parse(ledger_name, &name);
	exe = seep_xstrndup(ledger_name, name.exe_bytes);
	rc = seep_outname_expand(pattern, exe, name.pid, ret_output, err);
	if (rc == 0)
		rc = seep_outname_check(*ret_output, asked.force, err);
	return rc;
}

/* @output: FILE, which can be written. */
static int save(const struct seep_ledger_operand *ledger, char *output, struct seep_error *err)
{
	SEEP_FREED char *folder = seep_path_folder(ledger->path);
	struct seep_symbols_options symbols;
	const struct seep_recorder_plan plan = {
		.ledger_dir = folder,
		.ledger_dir_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
		.force = asked.force,
		.follow = true,
		.symbols = &symbols,
	};
	struct seep_finish_job job = {
		.plan = &plan,
		.image.file_name = seep_xstrdup(seep_path_base(ledger->path)),
		.image.keep_ledger = true,
		.image.replaced = ledger->entry && ledger->entry->is_replaced,
		.image.gathered.perf_map_fd = -1,
		.output = output,
		.output_fd = AT_FDCWD,
		.snapshot = !ledger->entry || ledger->unlisted ||
			    !seep_census_is_over(ledger->entry),
		.keep_small = true,
		.keep_profile = true,
	};
	const struct seep_printer printer = seep_printer_for(stderr, 80);
	int rc = seep_symbol_options_read(&asked.symbols, &symbols, err);

	if (rc == 0) {
		if (ledger->runs)
			seep_outside_look(&job.image.gathered.outside, ledger->entry->here_pid);
		seep_finish(&job);
		*err = job.err;
		rc = -job.err.code;
	}
	if (rc == 0 && !asked.quiet)
		seep_report_summary(&printer, job.profile, output);
	/* The children that still run, if there are any, may need it. */
	if (rc == 0 && !job.snapshot) {
		seep_census_tidy(plan.ledger_dir_fd);
		if (!asked.quiet && access(ledger->path, F_OK) != 0)
			(void)fprintf(stderr, "seep: the recording replaces the ledger, which was "
					      "removed\n");
	}
	seep_profile_free(job.profile);
	seep_watch_result_done(&job.image.gathered);
	free(job.image.file_name);
	(void)close(plan.ledger_dir_fd);
	return rc;
}

static int save_as(const struct seep_ledger_operand *ledger, const char *pattern,
		   struct seep_error *err)
{
	SEEP_FREED char *output = NULL;
	int rc = choose_output(seep_path_base(ledger->path), pattern, &output, err);

	return rc == 0 ? save(ledger, output, err) : rc;
}

/* A name that somebody takes meanwhile is passed over too. */
static int save_next(const struct seep_ledger_operand *ledger, struct seep_error *err)
{
	int rc = -SEEP_EEXIST;

	asked.force = false;
	for (unsigned number = 1; rc == -SEEP_EEXIST && number; number++) {
		SEEP_FREED char *pattern = seep_xasprintf("./%%e.%%p.%u.seep", number);

		rc = save_as(ledger, pattern, err);
	}
	return rc;
}

static int save_operand(const char *operand, bool must_run, struct seep_error *err)
{
	SEEP_RELEASED(seep_ledger_operand_done) struct seep_ledger_operand ledger = { 0 };
	int rc = seep_ledger_operand_find(operand, &ledger, err);

	if (rc == 0 && must_run)
		rc = seep_ledger_operand_check(&ledger, err);
	if (rc < 0)
		return rc;
	return must_run && !asked.output ? save_next(&ledger, err)
					 : save_as(&ledger, asked.output, err);
}

int cmd_save(char **operands, struct seep_error *err)
{
	return save_operand(operands[0], false, err);
}

int cmd_snapshot(char **operands, struct seep_error *err)
{
	return save_operand(operands[0], true, err);
}
