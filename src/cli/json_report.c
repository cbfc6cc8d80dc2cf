/* SPDX-License-Identifier: MIT */
#include "cli/json_report.h"

#include <string.h>

#include "base/file.h"
#include "cli/options.h"
#include "recording/recording.h"
#include "report/report.h"

bool seep_json_is_file(const char *value)
{
	return value && *value && strcmp(value, "-") != 0 && strcmp(value, seep_json_forms[0]) != 0;
}

int seep_json_check(const char *value, struct seep_error *err)
{
	const char *kind = seep_json_is_file(value) ? seep_profile_file_kind(value) : NULL;

	return kind ? seep_fail(err, SEEP_EEXIST, "%s is a %s; JSON does not replace it", value,
				kind)
		    : 0;
}

int seep_json_write(const char *value, void (*write)(FILE *out, const void *what, bool strings),
		    const void *what, struct seep_error *err)
{
	struct seep_atomic_file file;
	int ret;

	if (!seep_json_is_file(value)) {
		write(stdout, what, strcmp(value, seep_json_forms[0]) == 0);
		return 0;
	}
	ret = seep_json_check(value, err);
	if (ret == 0)
		ret = seep_output_open(value, 0600, &file, err);
	if (ret < 0)
		return ret;
	write(file.stream, what, false);
	return seep_atomic_commit(&file, err);
}

struct report {
	const struct seep_profile *profile;
	const struct seep_view_options *view;
};

static void write_report(FILE *out, const void *what, bool strings)
{
	const struct report *report = what;

	seep_report_json(out, report->profile, report->view, strings);
}

int seep_json_report(const char *value, const struct seep_profile *profile,
		     const struct seep_view_options *view, struct seep_error *err)
{
	const struct report report = { profile, view };

	return seep_json_write(value, write_report, &report, err);
}
