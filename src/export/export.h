/* SPDX-License-Identifier: MIT */
/*
 * A profile as a file for other programs. Each exporter is a pure function from a profile to
 * bytes: the same profile gives the same bytes, nothing is read but the profile, and it knows of no
 * files. docs/export.md says what each format holds of a profile, and what it cannot.
 *
 * To add one: a line in SEEP_EXPORTERS, and seep_export_NAME() in export_NAME.c. Help, completion,
 * and the tests read this list; there is no other.
 */
#ifndef SEEP_EXPORT_EXPORT_H
#define SEEP_EXPORT_EXPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "profile/profile.h"
#include "view/view.h"

/* Measures that a format would show as 0 where they are not known. */
#define SEEP_NEEDS_LIVE (1U << SEEP_BY_LIVE)
#define SEEP_NEEDS_ALL ((1U << SEEP_MEASURE_COUNT) - 1)

/* EXPORTER(name, suffix of files, binary, heeds by, says estimates, needs, who reads it), in the order of help. */
#define SEEP_EXPORTERS(EXPORTER)                                                          \
	EXPORTER(pprof, ".pb.gz", true, true, true, 0, "go tool pprof, Pyroscope, Parca") \
	EXPORTER(folded, ".folded", false, true, false, 0,                                \
		 "flamegraph.pl, speedscope and their like")                              \
	EXPORTER(speedscope, ".speedscope.json", false, true, true, 0, "speedscope")      \
	EXPORTER(heaptrack, ".heaptrack.gz", true, false, true, SEEP_NEEDS_ALL,           \
		 "heaptrack_gui and heaptrack_print")                                     \
	EXPORTER(massif, ".massif", false, false, true, SEEP_NEEDS_LIVE,                  \
		 "ms_print and massif-visualizer")                                        \
	EXPORTER(callgrind, ".callgrind", false, true, true, 0,                           \
		 "KCachegrind and callgrind_annotate")                                    \
	EXPORTER(dhat, ".dhat.json", false, false, true, SEEP_NEEDS_ALL,                  \
		 "valgrind's viewer dh_view.html")                                        \
	EXPORTER(jemalloc, ".heap", false, false, false, SEEP_NEEDS_LIVE,                 \
		 "jeprof, with the program's files at hand")                              \
	EXPORTER(csv, ".csv", false, true, true, 0,                                       \
		 "spreadsheets and scripts; a row for each stack")                        \
	EXPORTER(json, ".json", false, true, true, 0, "all of the profile, see docs/json.md")

struct seep_exporter {
	const char *name;
	const char *suffix;
	bool binary;	     /* nothing for a terminal */
	bool heeds_by;	     /* else it has all figures that it can, none before the other */
	bool says_estimates; /* the format has a place for which figures are, or that some are */
	unsigned needs;	     /* of the profile, a bit for each enum seep_measure */
	const char *summary; /* one line, no full stop */
	/*
	 * Write @profile, whose contexts have their hashes, to @out. Of @options count what is
	 * shown, and by: which figures a format has that holds one kind of them, which come first
	 * in one that holds several; the others are zeroed. Nothing fails but @out: what could not
	 * be written shows in its ferror().
	 */
	void (*write)(FILE *out, const struct seep_profile *profile,
		      const struct seep_view_options *options);
};

#define SEEP_EXPORTER_COUNTED(...) +1
enum { SEEP_EXPORTER_COUNT = SEEP_EXPORTERS(SEEP_EXPORTER_COUNTED) };

extern const struct seep_exporter seep_exporters[SEEP_EXPORTER_COUNT];

/* Their names; then NULL. */
extern const char *const seep_exporter_names[SEEP_EXPORTER_COUNT + 1];

#define SEEP_EXPORTER_DECLARED(name, ...)                                      \
	void seep_export_##name(FILE *out, const struct seep_profile *profile, \
				const struct seep_view_options *options);
SEEP_EXPORTERS(SEEP_EXPORTER_DECLARED)

#endif
