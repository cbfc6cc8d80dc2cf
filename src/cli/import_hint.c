/* SPDX-License-Identifier: MIT */
#include "cli/import_hint.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/xalloc.h"
#include "cli/complain.h"
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

void seep_open_hint(const char *path, const struct seep_error *err)
{
	if (err->code == SEEP_ENOTFOUND)
		seep_hint("\"seep run PROGRAM\" makes a recording");
	else if (err->code == SEEP_ECORRUPT)
		seep_import_hint(path);
}
