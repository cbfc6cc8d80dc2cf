/* SPDX-License-Identifier: MIT */
/* The document of a diff, alone or in a page. */
#ifndef SEEP_REPORT_JSON_DIFF_H
#define SEEP_REPORT_JSON_DIFF_H

#include "report/json_parts.h"
#include "report/report.h"

/*
 * The stacks of the rows, each from one side. Between marks both sides are of the one profile, and
 * the first has none. Release both with seep_json_shown_done().
 */
void seep_json_diff_shown_init(struct seep_json_shown shown[2], const struct seep_diff_view *view);

/* How many rows of @diff, the view's or that of its leaks, are in the document. */
uint32_t seep_json_diff_rows(const struct seep_diff_view *view, const struct seep_diff *diff);

/* @key: NULL where nothing is around the document. */
void seep_json_diff(struct seep_json *json, const char *key, const struct seep_diff_view *view,
		    const struct seep_json_shown shown[2]);

#endif
