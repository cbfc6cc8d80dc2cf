/* SPDX-License-Identifier: MIT */
#include "cli/operand_hint.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/procfs.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "cli/complain.h"
#include "cli/ledger_operand.h"
#include "import/import.h"
#include "recording/recording.h"

/* Say that "seep import" reads @path, if it does; else nothing. */
static void hint_import(const char *path)
{
	enum { START_BYTES = 64 * 1024 };
	SEEP_FREED char *start = NULL;
	struct stat st;
	long bytes;

	/* Opening a device can have effects, and reading a pipe takes what is in it. */
	if (stat(path, &st) != 0 || !S_ISREG(st.st_mode) || seep_profile_file_kind(path))
		return;
	start = seep_xmalloc(START_BYTES);
	bytes = seep_file_read_start(path, start, START_BYTES);
	if (bytes > 0 && seep_importer_detect(start, (size_t)bytes))
		seep_hint("\"seep import %s\" makes a recording of it", path);
}

void seep_ledger_hint(const char *operand, const struct seep_error *err)
{
	SEEP_RELEASED(seep_ledger_operand_done) struct seep_ledger_operand found = { 0 };
	struct seep_procfs_status status;
	uint64_t pid = 0;

	if (operand && err->code == SEEP_ECORRUPT)
		hint_import(operand);
	if (!operand || (err->code != SEEP_ENOTFOUND && err->code != SEEP_EUNSUPPORTED))
		return;
	(void)!seep_ledger_operand_find(operand, &found, NULL);
	if (found.entry)
		pid = found.entry->here_pid;
	else
		(void)!seep_parse_count(operand, UINT32_MAX, &pid, NULL);
	if (!found.entry && access(operand, F_OK) == 0)
		;
	else if (pid && seep_procfs_status((uint32_t)pid, &status) && status.uid != geteuid())
		seep_hint("it runs as user %u: run seep as that user", status.uid);
	else if (!found.entry)
		seep_hint(
			"\"seep ps\" lists the processes that are recorded, \"seep run PROGRAM\" "
			"records one; a forked child that has allocated nothing yet, or ended small, "
			"has no ledger");
	else if (found.path && !found.runs && access(found.path, F_OK) == 0)
		seep_hint("\"seep save %s\" makes a recording of what has ended", operand);
}

/* Whoever names a process. Returns false when @operand is none, nor a number. */
static bool hint_process(const char *operand)
{
	SEEP_RELEASED(seep_ledger_operand_done) struct seep_ledger_operand process = { 0 };
	struct seep_error err = { 0 };

	if (seep_ledger_operand_find(operand, &process, &err) == -SEEP_ENOTFOUND)
		seep_ledger_hint(operand, &err);
	else if (process.runs)
		seep_hint("\"seep save %s\" makes a recording of that process; \"seep top %s\" and "
			  "\"seep leaks %s\" look at it as it runs",
			  operand, operand, operand);
	else if (process.entry)
		seep_hint("\"seep save %s\" makes a recording of that process", operand);
	else
		return false;
	return true;
}

void seep_open_hint(const char *path, const struct seep_error *err)
{
	if (err->code == SEEP_ECORRUPT)
		hint_import(path);
	else if (err->code == SEEP_ENOTFOUND && access(path, F_OK) != 0 && !hint_process(path))
		seep_hint("\"seep run PROGRAM\" makes a recording");
}
