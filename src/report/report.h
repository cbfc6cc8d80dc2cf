/* SPDX-License-Identifier: MIT */
/*
 * A profile as text for people, as JSON for programs and as a page for browsers. Nothing here fails:
 * what cannot be written shows in ferror() of the stream, which is for the caller to look at.
 */
#ifndef SEEP_REPORT_REPORT_H
#define SEEP_REPORT_REPORT_H

#include "analysis/diff.h"
#include "analysis/live.h"
#include "view/view.h"

/* The few lines after "seep run": at most 24 of 80 columns, whatever it holds. @path: or NULL. */
void seep_report_summary(const struct seep_printer *printer, const struct seep_profile *profile,
			 const char *path);

/**
 * seep_report_others - the other processes of the run whose FILE @profile is, and all together
 * @above: the profile that stands above already: @profile, or that of one of the others
 * @path:  FILE's, or NULL
 *
 * Nothing when there are none.
 */
void seep_report_others(const struct seep_printer *printer, const struct seep_profile *profile,
			const struct seep_profile *above, const char *path);

/* One line about the other process with the largest peak, if that is larger than @profile's. */
void seep_report_larger(const struct seep_printer *printer, const struct seep_profile *profile,
			const char *path);

/* The default view: what happened, the largest stacks, what was not seen. */
void seep_report_stacks(const struct seep_printer *printer, const struct seep_sites *sites,
			const struct seep_view_options *options);

/*
 * What is lost, how that was found out, and what was suppressed; where nobody knows, why, and the
 * largest stacks.
 */
void seep_report_leaks(const struct seep_printer *printer, const struct seep_sites *sites,
		       const struct seep_view_options *options);

/* What grows, and holds stale blocks; or why nobody knows. */
void seep_report_growth(const struct seep_printer *printer, const struct seep_sites *sites,
			const struct seep_view_options *options);

/* Rules that suppress what seep_report_leaks() lists. */
void seep_report_leak_rules(FILE *out, const struct seep_sites *sites,
			    const struct seep_view_options *options);

/* Who called whom, top down, without branches below one per cent. */
void seep_report_tree(const struct seep_printer *printer, const struct seep_sites *sites,
		      const struct seep_view_options *options);

/* Functions: their own figures and inclusive ones. */
void seep_report_flat(const struct seep_printer *printer, const struct seep_sites *sites,
		      const struct seep_view_options *options);

/* By tag of scopes, all that was done under it, and an empty line; nothing: there are no scopes. */
void seep_report_tags(const struct seep_printer *printer, const struct seep_view *view);

/* Scopes, each below the one around it, most held first. */
void seep_report_scopes(const struct seep_printer *printer, const struct seep_sites *sites,
			const struct seep_view_options *options);

/*
 * One line of figures per context, then "<vaddr>: <binary> + <offset> : <name>" for each physical
 * frame, innermost first, then an empty line. All contexts unless options->top says otherwise.
 */
void seep_report_raw(FILE *out, const struct seep_profile *profile,
		     const struct seep_view_options *options);

/*
 * The whole profile as docs/json.md describes it; @strings: 64-bit numbers as decimal strings. With
 * options->top only the largest contexts, and "unseen" says so.
 */
void seep_report_json(FILE *out, const struct seep_profile *profile,
		      const struct seep_view_options *options, bool strings);

/* What a look at all guards saw. */
struct seep_heap_counts {
	uint64_t live_blocks; /* that were looked at */
	uint64_t waiting_blocks;
	uint64_t look_ns; /* how long that took */
};

/* @profile's findings alone, as docs/json.md says under "seep check-heap --json". */
void seep_report_heap_json(FILE *out, const struct seep_profile *profile,
			   const struct seep_heap_counts *counts, bool strings);

/* What is shown of a diff, and what it is called. */
struct seep_diff_view {
	const struct seep_diff *diff;
	const char *names[2];		       /* of the profiles, as they were asked for */
	const struct seep_profile_mark *from;  /* NULL: no marks */
	const struct seep_profile_mark *until; /* NULL: now, or no marks */
	uint32_t top;			       /* rows at most; 0: 10, all in JSON */
	bool full;			       /* whole stacks, whole names */
	bool listed;			       /* with blocks */
};

/* What changed: the largest changes, a call stack each. */
void seep_report_diff(const struct seep_printer *printer, const struct seep_diff_view *view);

/* The same as docs/json.md describes it; @strings: as in seep_report_json(). */
void seep_report_diff_json(FILE *out, const struct seep_diff_view *view, bool strings);

/*
 * The page: one HTML file with @profile, that of @sites, or a diff in it, which needs nothing else.
 * Contexts that read alike are one afterwards. Memory in proportion to the nodes of the call tree.
 */
void seep_page_report(FILE *out, struct seep_profile *profile, const struct seep_sites *sites,
		      const struct seep_view_options *options);
void seep_page_diff(FILE *out, const struct seep_diff_view *view);

/* What "seep top" prints: sums, processes where there are several, tags, then @lines with evidence. */
void seep_report_live(const struct seep_printer *printer, const struct seep_live *live,
		      const struct seep_live_line *lines, uint32_t count, enum seep_live_sort sort);

/* As docs/json.md says under "seep top --once --json". */
void seep_report_live_json(FILE *out, const struct seep_live *live,
			   const struct seep_live_line *lines, uint32_t count, bool strings);

/* Names of the columns, then a row for each line of each reading, as docs/top.md says. */
void seep_report_live_csv_head(FILE *out);
void seep_report_live_csv(FILE *out, const struct seep_live_line *lines, uint32_t count);

#endif
