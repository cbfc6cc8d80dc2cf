/* SPDX-License-Identifier: MIT */
/* What the members of the JSON document share: which stacks are in it, and how they are written. */
#ifndef SEEP_REPORT_JSON_PARTS_H
#define SEEP_REPORT_JSON_PARTS_H

#include "base/json_writer.h"
#include "profile/profile.h"
#include "view/view.h"

/* What of the profile is in the document, and where. */
struct seep_json_shown {
	const struct seep_profile *profile;
	uint32_t *contexts; /* those shown, largest first */
	uint32_t context_count;
	uint32_t *leaks; /* those shown, in their order */
	uint32_t leak_count;
	bool has_findings;
	uint32_t *leak_places; /* by leak of the profile: its place among these + 1; 0: none */
	uint32_t *frames;      /* of all, most used first: the smallest numbers for them */
	uint32_t *frame_places;
	uint32_t frame_count;
	uint32_t *context_places; /* in columns: by context, its place among these + 1; 0: none */
	/* How many of other profiles stand before its own in the document. */
	uint32_t frames_before;
	uint32_t modules_before;
};

void seep_json_shown_init(struct seep_json_shown *shown, const struct seep_profile *profile,
			  const struct seep_view_options *options);
/* The same with these contexts, which become the shown one's, and without leaks. */
void seep_json_shown_take(struct seep_json_shown *shown, const struct seep_profile *profile,
			  uint32_t *contexts, uint32_t count, bool findings);
/* @shown comes after @before, of another profile, in one document. */
void seep_json_shown_behind(struct seep_json_shown *shown, const struct seep_json_shown *before);
/*
 * For contexts in columns: order them by their stacks, outermost frame first, and the frames by
 * where they come up then, so that what is alike stands together; leave out what follows from the
 * rest.
 */
void seep_json_shown_sort(struct seep_json_shown *shown);
void seep_json_shown_done(struct seep_json_shown *shown);

/* Member "lead": what seep_view_add_lead() says, and the measure. */
void seep_json_lead(struct seep_json *json, const struct seep_sites *sites,
		    const struct seep_view_options *options);

/* Members "within" and "without": patterns; NULL: none. */
void seep_json_within(struct seep_json *json, const struct seep_profile_within *within);

/* @mark NULL: null. */
void seep_json_mark(struct seep_json *json, const char *key, const struct seep_profile_mark *mark);

/* The index of @frame of the profile among the document's frames. */
static inline uint32_t seep_json_frame_place(const struct seep_json_shown *shown, uint32_t frame)
{
	return shown->frames_before + shown->frame_places[frame];
}

/* Members "modules" and "frames" of @count profiles, each of which comes after the one before. */
void seep_json_frames(struct seep_json *json, const struct seep_json_shown *shown, size_t count);

/* Elements of "unseen"; @side: a member that says of which profile, or NULL. */
void seep_json_unseen(struct seep_json *json, const struct seep_profile *profile, const char *side);
void seep_json_unseen_line(struct seep_json *json, const char *code, const char *detail,
			   const char *side);

/* Member @key: its frames. @context NULL: none. */
void seep_json_frame_list(struct seep_json *json, const char *key,
			  const struct seep_json_shown *shown,
			  const struct seep_profile_context *context);

/* Members "frames" and, where there is recursion, "folded". @context NULL: no frames. */
void seep_json_stack(struct seep_json *json, const struct seep_json_shown *shown,
		     const struct seep_profile_context *context);

/* Recursion: frames of a stack, by their places in it, which stand for so many repetitions. */
struct seep_json_fold {
	uint32_t from;
	uint32_t to;
	uint32_t times; /* 65536: that or more */
};

/* The one that the entry at @at ends, whose period is not 0. */
struct seep_json_fold seep_json_fold_at(const struct seep_profile *profile,
					const struct seep_profile_context *context, uint32_t at);

/* Member "estimate": by figure how far it may be off; NULL or zeroes: it is not there. */
void seep_json_estimate(struct seep_json *json, const uint64_t *errors);

/* Member "growth" of @context. */
void seep_json_growth(struct seep_json *json, const struct seep_profile_context *context,
		      const struct seep_profile_growth *growth, const char *evidence);

/* A time or size of which 0 means that it is not known: null. */
void seep_json_known(struct seep_json *json, const char *key, uint64_t value);

/* A pid or uid; null where the process is not known. */
void seep_json_process_id(struct seep_json *json, const char *key,
			  const struct seep_profile *profile, uint32_t id);

#endif
