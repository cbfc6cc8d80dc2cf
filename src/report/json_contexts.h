/* SPDX-License-Identifier: MIT */
/* Member "contexts" of the JSON document, and its form in the page. */
#ifndef SEEP_REPORT_JSON_CONTEXTS_H
#define SEEP_REPORT_JSON_CONTEXTS_H

#include "report/json_parts.h"

/* One element each, as docs/json.md says. */
void seep_json_contexts(struct seep_json *json, const struct seep_json_shown *shown);

/*
 * The same in columns, after seep_json_shown_sort(): stacks share their beginnings, which makes a
 * page with 200,000 nodes a third as large, and its tree is there. docs/internals/page.md.
 */
void seep_json_context_columns(struct seep_json *json, const struct seep_json_shown *shown);

#endif
