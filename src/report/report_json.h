/* SPDX-License-Identifier: MIT */
/* The document of a profile, alone or in a page. */
#ifndef SEEP_REPORT_REPORT_JSON_H
#define SEEP_REPORT_REPORT_JSON_H

#include "report/json_parts.h"

/*
 * @key: NULL where nothing is around the document. Contexts are in columns after
 * seep_json_shown_sort().
 */
void seep_json_profile(struct seep_json *json, const char *key, const struct seep_json_shown *shown,
		       const struct seep_sites *sites, const struct seep_view_options *options);

/* The members of one of "findings". */
void seep_json_finding(struct seep_json *json, const struct seep_json_shown *shown,
		       const struct seep_profile_finding *finding);

#endif
