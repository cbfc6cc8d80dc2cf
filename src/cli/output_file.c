/* SPDX-License-Identifier: MIT */
#include "cli/output_file.h"

#include <string.h>

#include "recording/recording.h"
#include "report/report.h"

int seep_output_check(const char *path, const char *what, struct seep_error *err)
{
	const char *kind = seep_profile_file_kind(path);

	if (!*path)
		return seep_fail(err, SEEP_EUSAGE, "the name of the file for %s is empty", what);
	return kind ? seep_fail(err, SEEP_EEXIST, "%s is a %s; %s does not replace it", path, kind,
				what)
		    : 0;
}

int seep_output_begin(const char *path, const char *what, struct seep_atomic_file *ret_file,
		      struct seep_error *err)
{
	int ret = path ? seep_output_check(path, what, err) : 0;

	*ret_file = (struct seep_atomic_file){ .stream = stdout };
	return ret == 0 && path ? seep_output_open(path, ret_file, err) : ret;
}

int seep_output_end(struct seep_atomic_file *file, struct seep_error *err)
{
	return file->name ? seep_atomic_commit(file, err) : 0;
}

const char *seep_json_file(const char *value)
{
	return value && *value && strcmp(value, "-") != 0 && !seep_json_strings(value) ? value
										       : NULL;
}

bool seep_json_strings(const char *value)
{
	return strcmp(value, seep_json_forms[0]) == 0;
}

int seep_json_check(const char *value, struct seep_error *err)
{
	const char *path = seep_json_file(value);

	return path ? seep_output_check(path, "JSON", err) : 0;
}

int seep_json_report(const char *value, const struct seep_profile *profile,
		     const struct seep_view_options *view, struct seep_error *err)
{
	struct seep_atomic_file output;
	int rc = seep_output_begin(seep_json_file(value), "JSON", &output, err);

	if (rc < 0)
		return rc;
	seep_report_json(output.stream, profile, view, seep_json_strings(value));
	return seep_output_end(&output, err);
}
