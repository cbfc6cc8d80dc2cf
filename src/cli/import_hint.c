/* SPDX-License-Identifier: MIT */
#include "cli/import_hint.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/xalloc.h"
#include "cli/complain.h"
#include "cli/ledger_operand.h"
#include "import/import.h"
#include "recording/recording.h"

void seep_import_hint(const char *path)
{
	enum { START_BYTES = 64 * 1024 };
	struct stat st;
	char *start;
	long bytes;

	/* Opening a device can have effects, and reading a pipe takes what is in it. */
	if (stat(path, &st) != 0 || !S_ISREG(st.st_mode) || seep_profile_file_kind(path))
		return;
	start = seep_xmalloc(START_BYTES);
	bytes = seep_file_read_start(path, start, START_BYTES);
	if (bytes > 0 && seep_importer_detect(start, (size_t)bytes))
		seep_hint("\"seep import %s\" makes a recording of it", path);
	free(start);
}

/* Whoever names a process. Returns false when @operand is none, nor a number. */
static bool hint_process(const char *operand)
{
	struct seep_ledger_operand process = { 0 };
	struct seep_census census;
	bool is_process = true;
	int rc = seep_census_take(&census, NULL);

	if (rc == 0)
		rc = seep_ledger_operand_find(&census, operand, &process, NULL);
	if (rc == -SEEP_ENOTFOUND)
		seep_ledger_operand_hint(operand);
	else if (process.runs)
		seep_hint("\"seep save %s\" makes a recording of that process; \"seep top %s\" and "
			  "\"seep leaks %s\" look at it as it runs",
			  operand, operand, operand);
	else if (process.entry)
		seep_hint("\"seep save %s\" makes a recording of that process", operand);
	else
		is_process = false;
	free(process.path);
	seep_census_done(&census);
	return is_process;
}

void seep_open_hint(const char *path, const struct seep_error *err)
{
	if (err->code == SEEP_ECORRUPT)
		seep_import_hint(path);
	else if (err->code == SEEP_ENOTFOUND && access(path, F_OK) != 0 && !hint_process(path))
		seep_hint("\"seep run PROGRAM\" makes a recording");
}
