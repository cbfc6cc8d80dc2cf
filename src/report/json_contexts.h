/* SPDX-License-Identifier: MIT */
/* Member "contexts" of the JSON document, and its form in the page. */
#ifndef SEEP_REPORT_JSON_CONTEXTS_H
#define SEEP_REPORT_JSON_CONTEXTS_H

#include "report/json_parts.h"

/* Members of a context in any document; shown->frames_before may be more than 0. */
void seep_json_context(struct seep_json *json, const struct seep_json_shown *shown,
		       const struct seep_profile_context *context);

/* Those of them that say which one it is. */
void seep_json_context_name(struct seep_json *json, const struct seep_json_shown *shown,
			    const struct seep_profile_context *context);

/* One element each, as docs/json.md says. */
void seep_json_contexts(struct seep_json *json, const struct seep_json_shown *shown);

/*
 * The same in columns, after seep_json_shown_sort(): stacks share their beginnings, which makes a
 * page with 200,000 nodes a third as large, and its tree is there. docs/internals/page.md.
 */
void seep_json_context_columns(struct seep_json *json, const struct seep_json_shown *shown);

#endif
