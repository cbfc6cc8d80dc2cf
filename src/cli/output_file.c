/* SPDX-License-Identifier: MIT */
#include "cli/output_file.h"

#include "base/file.h"
#include "recording/recording.h"

int seep_output_check(const char *path, const char *what, struct seep_error *err)
{
	const char *kind = seep_profile_file_kind(path);

	if (!*path)
		return seep_fail(err, SEEP_EUSAGE, "the name of the file for %s is empty", what);
	return kind ? seep_fail(err, SEEP_EEXIST, "%s is a %s; %s does not replace it", path, kind,
				what)
		    : 0;
}

int seep_output_write(const char *path, const char *what,
		      void (*write)(FILE *out, const void *value), const void *value,
		      struct seep_error *err)
{
	struct seep_atomic_file file;
	int ret = seep_output_check(path, what, err);

	if (ret == 0)
		ret = seep_output_open(path, 0600, &file, err);
	if (ret < 0)
		return ret;
	write(file.stream, value);
	return seep_atomic_commit(&file, err);
}
