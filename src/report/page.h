/* SPDX-License-Identifier: MIT */
/*
 * The page: one HTML file with a profile or a diff in it, which needs nothing else. What it looks
 * like and does is written in web/ and built into assets/report.html; what C puts into that is
 * described in docs/internals/page.md.
 */
#ifndef SEEP_REPORT_PAGE_H
#define SEEP_REPORT_PAGE_H

#include "report/report.h"

/*
 * The page of @sites->profile, whose contexts have hashes. What cannot be written shows in
 * ferror(). Memory in proportion to the nodes of the call tree.
 */
void seep_page_report(FILE *out, const struct seep_sites *sites,
		      const struct seep_view_options *options);

/* The page of a diff. */
void seep_page_diff(FILE *out, const struct seep_diff_view *view);

#endif
