/* SPDX-License-Identifier: MIT */
/* One context and its frames in JSON: the same for every document that shows stacks. */
#ifndef SEEP_REPORT_JSON_CONTEXT_H
#define SEEP_REPORT_JSON_CONTEXT_H

#include "profile/profile.h"
#include "report/json_writer.h"

/* An element of "contexts". */
void seep_json_context(struct seep_json *json, const struct seep_profile *profile,
		       const struct seep_profile_context *context);

/* The member "frames" of @context, innermost first. */
void seep_json_frames(struct seep_json *json, const struct seep_profile *profile,
		      const struct seep_profile_context *context);

#endif
