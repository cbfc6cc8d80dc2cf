/* SPDX-License-Identifier: MIT */
/*
 * What is shown of a profile, without its layout: sentences, chosen stacks, rows of the tree. All
 * are pure functions of the profile and the options; how wide a terminal is does not matter here.
 * src/report prints them, and so may anything else.
 */
#ifndef SEEP_VIEW_VIEW_H
#define SEEP_VIEW_VIEW_H

#include "analysis/counts.h"
#include "analysis/fold.h"
#include "base/text.h"
#include "base/xalloc.h"

/* "By what matters": live bytes, or the peak when next to nothing is alive. */
enum { SEEP_BY_CHOICE = -1 };

/* Zeroed is usable, but for by. */
struct seep_view_options {
	const char *path;     /* the recording, for the command to type next; NULL = none */
	int by;		      /* enum seep_measure, or SEEP_BY_CHOICE */
	uint32_t top;	      /* stacks or functions at most; 0 = what suits the view */
	bool full;	      /* whole stacks, whole names */
	bool by_thread;	      /* stacks of different threads are not summed */
	uint32_t leak_kinds;  /* bits of enum seep_verdict; 0: leaks, in JSON all but REACHABLE */
	uint32_t leak_blocks; /* addresses to list of each leak */
	uint64_t why_address; /* show only the leak that lists this block; 0: all */
	bool why;	      /* what leads to them */
	/* What the contexts were chosen by, "module libfoo*"; NULL = all are there. */
	const char *shown;
	/* The packages that installed @paths, NULL for none, to free(); may be NULL itself. */
	void (*packages_of)(const char *const *paths, size_t count, char **ret_names);
};

/* What all views share: what they are made from, and the lines before and after them. */
struct seep_view {
	const struct seep_profile *profile;
	const struct seep_sites *sites;
	const struct seep_view_options *options;
	struct seep_folder folder; /* by line, for one stack after the other */
	enum seep_measure measure;
	int64_t shown;		/* of all contexts, in the measure */
	int64_t total;		/* of those that were left out too */
	struct seep_lines head; /* whose profile this is, how it went, where to look first */
	struct seep_lines foot; /* what was not seen, what is counted elsewhere, what to do next */
};

/* All three must outlive the view, which has no lines yet. */
void seep_view_init(struct seep_view *view, const struct seep_profile *profile,
		    const struct seep_sites *sites, const struct seep_view_options *options);
void seep_view_done(struct seep_view *view);

/* What SEEP_BY_CHOICE means for @profile; else @by. */
enum seep_measure seep_view_measure(const struct seep_profile *profile, int by);

/* What @measure counts: "bytes live at exit", "allocations", ... */
const char *seep_measure_words(const struct seep_profile *profile, enum seep_measure measure);

/* Why there is nothing to show: "There are no allocations", or they are not known. */
char *seep_view_nothing(const struct seep_view *view) SEEP_RETURNS_MEMORY;

/* @value as a share of the view's total: "33.3%". */
struct seep_unit_text seep_view_share(const struct seep_view *view, int64_t value);

#endif
