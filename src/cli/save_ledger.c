/* SPDX-License-Identifier: MIT */
#include "cli/save_ledger.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"
#include "base/xalloc.h"
#include "recorder/census.h"
#include "recorder/finish.h"
#include "recorder/ledgerdir.h"
#include "recorder/outname.h"
#include "recorder/outside.h"
#include "report/report.h"

int seep_save_name(const char *pattern, const char *path, char **ret_output, struct seep_error *err)
{
	const char *ledger_name = seep_path_base(path);
	struct seep_ledgerdir_name name = { .exe_bytes = (uint32_t)strlen(ledger_name) };
	char *exe;
	int rc;

	(void)seep_ledgerdir_parse(ledger_name, &name);
	exe = seep_xstrndup(ledger_name, name.exe_bytes);
	rc = seep_outname_expand(pattern, exe, name.pid, ret_output, err);
	free(exe);
	return rc;
}

int seep_save(const struct seep_ledger_operand *ledger, const struct seep_save *how,
	      const char *output, struct seep_error *err)
{
	const enum seep_census_state state = ledger->entry ? ledger->entry->state
							   : SEEP_CENSUS_ELSEWHERE;
	char *folder = seep_path_folder(ledger->path);
	struct seep_symbols_options symbols;
	const struct seep_recorder_plan plan = {
		.ledger_dir = folder,
		.ledger_dir_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
		.force = how->force,
		.follow = true,
		.symbols = &symbols,
	};
	struct seep_finish_job job = {
		.plan = &plan,
		.image.file_name = seep_xstrdup(seep_path_base(ledger->path)),
		.image.keep_ledger = true,
		.image.replaced = ledger->replaced,
		.image.gathered.perf_map_fd = -1,
		.output = output,
		.snapshot = state != SEEP_CENSUS_DEAD && state != SEEP_CENSUS_DONE,
		.keep_small = true,
		.keep_profile = true,
	};
	const struct seep_printer printer = seep_printer_for(stderr, 80);
	int rc = seep_symbol_options_read(&how->symbols, &symbols, err);

	if (rc == 0) {
		if (ledger->runs)
			seep_outside_look(&job.image.gathered.outside, ledger->entry->pid);
		seep_finish(&job);
		*err = job.err;
		rc = -job.err.code;
	}
	if (rc == 0 && !how->quiet)
		seep_report_summary(&printer, job.profile, output);
	/* The children that still run, if there are any, may need it. */
	if (rc == 0 && !job.snapshot) {
		seep_census_tidy(plan.ledger_dir_fd);
		if (!how->quiet && access(ledger->path, F_OK) != 0)
			(void)fprintf(stderr, "seep: the recording replaces the ledger, which was "
					      "removed\n");
	}
	seep_profile_free(job.profile);
	seep_outside_done(&job.image.gathered.outside);
	free(job.image.file_name);
	(void)close(plan.ledger_dir_fd);
	free(folder);
	return rc;
}
