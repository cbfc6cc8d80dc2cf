/* SPDX-License-Identifier: MIT */
#include "cli/json_report.h"

#include <string.h>

#include "cli/options.h"
#include "cli/output_file.h"
#include "report/report.h"

bool seep_json_is_file(const char *value)
{
	return value && *value && strcmp(value, "-") != 0 && strcmp(value, seep_json_forms[0]) != 0;
}

int seep_json_check(const char *value, struct seep_error *err)
{
	return seep_json_is_file(value) ? seep_output_check(value, "JSON", err) : 0;
}

struct document {
	void (*write)(FILE *out, const void *what, bool strings);
	const void *what;
};

static void write_document(FILE *out, const void *value)
{
	const struct document *document = value;

	document->write(out, document->what, false);
}

int seep_json_write(const char *value, void (*write)(FILE *out, const void *what, bool strings),
		    const void *what, struct seep_error *err)
{
	const struct document document = { write, what };

	if (seep_json_is_file(value))
		return seep_output_write(value, "JSON", write_document, &document, err);
	write(stdout, what, strcmp(value, seep_json_forms[0]) == 0);
	return 0;
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
