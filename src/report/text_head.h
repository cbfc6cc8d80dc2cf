/* SPDX-License-Identifier: MIT */
/* What stands before a view: whose profile this is, how it went, where to look first. */
#ifndef SEEP_REPORT_TEXT_HEAD_H
#define SEEP_REPORT_TEXT_HEAD_H

#include "analysis/sites.h"
#include "report/report.h"

/* What @measure counts, in words: "bytes live at exit", "allocations", ... */
const char *seep_head_measure_words(const struct seep_profile *profile, enum seep_measure measure);

/* After @prefix: program, pid, when, how it ended, allocator; with @command the command line. */
void seep_head_process(FILE *out, const struct seep_profile *profile,
		       const struct seep_report_options *options, const char *prefix, bool command);

/* The sentence that matters: live, peak, allocations. */
void seep_head_lead(FILE *out, const struct seep_profile *profile,
		    const struct seep_report_options *options);

/* Which part of all is shown, where options->shown says that not all is. */
void seep_head_shown(FILE *out, const struct seep_profile *profile,
		     const struct seep_report_options *options, enum seep_measure measure);

/* And where to look first: the function with the largest share of @measure, over all its stacks. */
void seep_head_start_at(FILE *out, const struct seep_sites *sites,
			const struct seep_report_options *options, enum seep_measure measure);

#endif
