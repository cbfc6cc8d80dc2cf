/* SPDX-License-Identifier: MIT */
/* What stands after a view: what was not seen, what is counted elsewhere, what to do next. */
#ifndef SEEP_REPORT_TEXT_FOOT_H
#define SEEP_REPORT_TEXT_FOOT_H

#include "report/report.h"

/*
 * What is not in the figures, one folded line each, and code without names. With @lines_max at most
 * so many lines, without the names; the last one says how many more there are. Prints nothing when
 * all was seen.
 */
void seep_foot_unseen(FILE *out, const struct seep_profile *profile,
		      const struct seep_report_options *options, size_t lines_max);

/* Children, and seep's own memory. */
void seep_foot_own(FILE *out, const struct seep_profile *profile,
		   const struct seep_report_options *options);

struct seep_next_command {
	const char *arguments; /* after the file's name: " --tree" */
	const char *shows;
};

/* "seep report FILE<arguments>   # what it shows", one line each; nothing when there is no file. */
void seep_foot_next(FILE *out, const struct seep_report_options *options,
		    const struct seep_next_command *commands, size_t count);

#endif
