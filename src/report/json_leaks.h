/* SPDX-License-Identifier: MIT */
/* The members "leaks" and "scan" of the JSON document. */
#ifndef SEEP_REPORT_JSON_LEAKS_H
#define SEEP_REPORT_JSON_LEAKS_H

#include "report/json_parts.h"

void seep_json_leaks(struct seep_json *json, const struct seep_json_shown *shown);

#endif
