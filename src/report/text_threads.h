/* SPDX-License-Identifier: MIT */
/* The table of threads in front of the stacks, of a profile that was recorded by thread. */
#ifndef SEEP_REPORT_TEXT_THREADS_H
#define SEEP_REPORT_TEXT_THREADS_H

#include "analysis/group.h"
#include "report/report.h"

/* The largest few by @measure, all with options->full, and an empty line. */
void seep_report_threads(FILE *out, const struct seep_groups *groups,
			 const struct seep_profile *profile,
			 const struct seep_report_options *options, enum seep_measure measure);

#endif
