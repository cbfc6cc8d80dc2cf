/* SPDX-License-Identifier: MIT */
/* Scopes in JSON: docs/json.md. */
#ifndef SEEP_REPORT_JSON_SCOPES_H
#define SEEP_REPORT_JSON_SCOPES_H

#include "analysis/scope_sums.h"
#include "report/json_contexts.h"

/* Members of an object: entries, times, frees and allocations, own and inclusive. */
void seep_json_scope_figures(struct seep_json *json, const struct seep_profile_scope *scope,
			     const struct seep_scope_sums *sums);

/* The array "scopes". */
void seep_json_scopes(struct seep_json *json, const struct seep_json_shown *shown);

#endif
