/* SPDX-License-Identifier: MIT */
/*
 * A profile as text for people and as JSON for programs. Nothing here fails: what cannot be
 * written shows in ferror() of the stream, which is for the caller to look at.
 */
#ifndef SEEP_REPORT_REPORT_H
#define SEEP_REPORT_REPORT_H

#include "analysis/counts.h"
#include "profile/profile.h"

#include <stdio.h>

/* "By what matters": live bytes, or the peak when next to nothing is alive. */
enum { SEEP_BY_CHOICE = -1 };

/* Zeroed is usable: no colour, no width limit, everything by default. */
struct seep_report_options {
	const char *path; /* the recording, for the command to type next; NULL = none */
	size_t width;	  /* columns to fit into; 0 = as wide as it needs to be */
	bool color;
	int by;		/* enum seep_measure, or SEEP_BY_CHOICE */
	uint32_t top;	/* stacks or functions at most; 0 = what suits the view */
	bool full;	/* whole stacks, whole names */
	bool by_thread; /* stacks of different threads are not summed */
	const char *
		shown; /* what the contexts were chosen by, "module libfoo*"; NULL = all are there */
	bool strings;  /* JSON: 64-bit numbers as decimal strings */
};

/* The few lines after "seep run": at most 24 lines of 80 columns, whatever the profile holds. */
void seep_report_summary(FILE *out, const struct seep_profile *profile,
			 const struct seep_report_options *options);

/**
 * seep_report_others - the other processes of the run whose FILE @profile is, and all together
 * @above:   the profile that stands above already: @profile, or that of one of the others
 * @options: path is FILE's
 *
 * Nothing when there are none.
 */
void seep_report_others(FILE *out, const struct seep_profile *profile,
			const struct seep_profile *above,
			const struct seep_report_options *options);

/* The default view: what happened, the largest stacks, what was not seen. */
void seep_report_stacks(FILE *out, const struct seep_profile *profile,
			const struct seep_report_options *options);

/* Who called whom, top down, without branches below one per cent. */
void seep_report_tree(FILE *out, const struct seep_profile *profile,
		      const struct seep_report_options *options);

/* Functions: their own figures and inclusive ones. */
void seep_report_flat(FILE *out, const struct seep_profile *profile,
		      const struct seep_report_options *options);

/*
 * One line of figures per context, then "<vaddr>: <binary> + <offset> : <name>" for each physical
 * frame, innermost first, then an empty line. All contexts unless options->top says otherwise.
 */
void seep_report_raw(FILE *out, const struct seep_profile *profile,
		     const struct seep_report_options *options);

/*
 * The whole profile as docs/json.md describes it. With options->top only the largest contexts, and
 * "unseen" says so.
 */
void seep_report_json(FILE *out, const struct seep_profile *profile,
		      const struct seep_report_options *options);

/* What SEEP_BY_CHOICE means for @profile; else options->by. */
enum seep_measure seep_report_measure(const struct seep_profile *profile,
				      const struct seep_report_options *options);

#endif
