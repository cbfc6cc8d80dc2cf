/* SPDX-License-Identifier: MIT */
/* One context and its frames in JSON: the same for every document that shows stacks. */
#ifndef SEEP_REPORT_JSON_CONTEXT_H
#define SEEP_REPORT_JSON_CONTEXT_H

#include "profile/profile.h"
#include "base/json_writer.h"

/* Frames as text: a million stacks are made of some ten thousand. */
struct seep_json_frames {
	const struct seep_profile *profile;
	struct seep_json_frame_text {
		char *text; /* NULL: not written yet */
		size_t bytes;
	} * texts; /* by frame index */
	size_t bytes;
};

/* @profile must outlive @frames, which serve one document. */
void seep_json_frames_init(struct seep_json_frames *frames, const struct seep_profile *profile);
void seep_json_frames_done(struct seep_json_frames *frames);

/* A context as an object of an array. */
void seep_json_context(struct seep_json *json, struct seep_json_frames *frames,
		       const struct seep_profile_context *context);

#endif
