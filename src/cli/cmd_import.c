/* SPDX-License-Identifier: MIT */
/* "seep import": make a recording of the heap profile of another tool. */
#include <sys/stat.h>

#include "base/file.h"
#include "base/path.h"
#include "base/xalloc.h"
#include "cli/command.h"
#include "cli/symbol_options.h"
#include "import/import.h"
#include "profile/context_hash.h"
#include "recorder/outname.h"
#include "recording/recording.h"
#include "report/report.h"

/* Compressed, as it lies there. */
#define FILE_BYTES_MAX ((size_t)4 << 30)

enum { DETECT = -1 };

static struct {
	int from; /* index into seep_importers, or DETECT */
	const char *output;
	bool force;
	bool quiet;
	struct seep_symbol_option_values symbols;
} asked = { .from = DETECT };

static const struct seep_option options[] = {
	SEEP_OPTION("from", 0, CHOICE, "FORMAT", asked.from,
		    "Read FILE as jemalloc, heaptrack or pprof (default: what its content is)",
		    .choices = seep_importer_names),
	SEEP_OPTION("output", 'o', TEXT, "OUT", asked.output,
		    "Write the recording to OUT (default: ./NAME.seep, after FILE)"),
	SEEP_OPTION("force", 'f', FLAG, NULL, asked.force, "Replace OUT if it exists"),
	SEEP_OPTION("quiet", 'q', FLAG, NULL, asked.quiet, "Print no summary"),
	SEEP_SYMBOL_OPTIONS(asked.symbols),
};

const struct seep_option_table cmd_import_options = {
	SEEP_OPTIONS(options),
	.min_operands = 1,
	.max_operands = 1,
	.details =
		"FILE is a heap profile, compressed by gzip or zstd or not:\n"
		"  pprof      profile.proto, of Go programs and of \"go tool pprof -proto\"\n"
		"  heaptrack  what \"heaptrack PROGRAM\" writes\n"
		"  jemalloc   what MALLOC_CONF=prof:true makes jemalloc write, and\n"
		"             HEAPPROFILE tcmalloc; names are looked up in the same programs\n"
		"             and libraries\n"
		"\n"
		"What a format does not say is unknown in the recording; \"seep report\" lists it.\n",
};

static int choose_importer(const char *path, const char *data, size_t bytes,
			   const struct seep_importer **ret, struct seep_error *err)
{
	*ret = asked.from == DETECT ? seep_importer_detect(data, bytes)
				    : seep_importers[asked.from];
	if (*ret)
		return 0;
	return seep_fail(err, SEEP_EUNSUPPORTED, "%s: %s", path,
			 seep_profile_file_kind(path)
				 ? "it is seep's own; \"seep report\" reads it as it is"
				 : "no heap profile of a format that is read");
}

/* @ret_profile: with its names, and hashes as if we had recorded it. */
static int read_profile(const char *path, struct seep_profile **ret_profile, struct seep_error *err)
{
	const struct seep_importer *importer = NULL;
	struct stat st;
	SEEP_FREED char *data = NULL;
	size_t bytes = 0;
	int r;

	/* A pipe would wait, and a device has no end. */
	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
		return seep_fail(err, SEEP_EUSAGE, "%s: not a regular file", path);
	r = seep_file_read(path, FILE_BYTES_MAX, &data, &bytes, err);
	if (r == 0)
		r = choose_importer(path, data, bytes, &importer, err);
	if (r == 0) {
		r = seep_import(importer, data, bytes, ret_profile, err);
		if (r < 0)
			seep_error_prefix(err, "%s: not read as %s", path, importer->name);
	}
	if (r == 0)
		r = seep_symbol_options_name(&asked.symbols, *ret_profile, err);
	if (r < 0)
		return r;
	seep_import_trim(*ret_profile);
	seep_profile_hash_contexts(*ret_profile);
	return 0;
}

int cmd_import(char **operands, struct seep_error *err)
{
	const struct seep_printer printer = seep_printer_for(stderr, 80);
	SEEP_RELEASED(seep_profile_free_at) struct seep_profile *profile = NULL;
	const char *path = operands[0];
	/* In the working directory, beside nothing else. */
	SEEP_FREED char *output = asked.output ? seep_xstrdup(asked.output)
					       : seep_xasprintf("./%s.seep", seep_path_base(path));
	int r = seep_outname_check(output, asked.force, err);

	if (r == 0 && seep_path_is_same_file(output, path))
		r = seep_fail(err, SEEP_EEXIST,
			      "%s is the profile that is read; the recording does not replace it",
			      output);
	if (r == 0)
		r = read_profile(path, &profile, err);
	if (r == 0)
		r = seep_recording_write(AT_FDCWD, output, profile, asked.force, err);
	if (r == 0 && !asked.quiet)
		seep_report_summary(&printer, profile, output);
	return r;
}
