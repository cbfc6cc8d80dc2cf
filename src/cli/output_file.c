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
	int ret = seep_output_check(path, what, err);

	return ret == 0 ? seep_output_open(path, 0600, ret_file, err) : ret;
}

bool seep_json_is_file(const char *value)
{
	return value && *value && strcmp(value, "-") != 0 && strcmp(value, seep_json_forms[0]) != 0;
}

int seep_json_check(const char *value, struct seep_error *err)
{
	return seep_json_is_file(value) ? seep_output_check(value, "JSON", err) : 0;
}

int seep_json_begin(const char *value, struct seep_json_output *ret_output, struct seep_error *err)
{
	*ret_output = (struct seep_json_output){
		.file.stream = stdout,
		.strings = strcmp(value, seep_json_forms[0]) == 0,
		.is_file = seep_json_is_file(value),
	};
	return ret_output->is_file ? seep_output_begin(value, "JSON", &ret_output->file, err) : 0;
}

int seep_json_end(struct seep_json_output *output, struct seep_error *err)
{
	return output->is_file ? seep_atomic_commit(&output->file, err) : 0;
}

int seep_json_report(const char *value, const struct seep_profile *profile,
		     const struct seep_view_options *view, struct seep_error *err)
{
	struct seep_json_output output;
	int rc = seep_json_begin(value, &output, err);

	if (rc < 0)
		return rc;
	seep_report_json(output.file.stream, profile, view, output.strings);
	return seep_json_end(&output, err);
}
