/* SPDX-License-Identifier: MIT */
/* Scopes in JSON: docs/json.md. */
#ifndef SEEP_REPORT_JSON_SCOPES_H
#define SEEP_REPORT_JSON_SCOPES_H

#include "report/json_contexts.h"

/* The array "scopes". */
void seep_json_scopes(struct seep_json *json, const struct seep_json_shown *shown);

#endif
