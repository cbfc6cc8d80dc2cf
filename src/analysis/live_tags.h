/* SPDX-License-Identifier: MIT */
/* What is done under the tags that a running process gives to its work. */
#ifndef SEEP_ANALYSIS_LIVE_TAGS_H
#define SEEP_ANALYSIS_LIVE_TAGS_H

#include "analysis/live.h"

/* All that was done under a tag in one process. */
struct seep_live_tag {
	const struct seep_live_process *process;
	const struct seep_scope_tag *sum;
	int64_t held_per_s; /* in the last interval, as the next */
	int64_t entries_per_s;
};

/*
 * Of all current processes the @top first tags: by change and growth the fastest that grow, by allocs the
 * most often entered, else those that hold most. Pointers hold until the next reading. Returns how many.
 */
uint32_t seep_live_tags(const struct seep_live *live, enum seep_live_sort sort, uint32_t top,
			struct seep_live_tag *ret_tags);

/* Of a reading at @now_ns: sum the scopes anew, and hide the contexts that were not asked for. */
void seep_live_read_scopes(const struct seep_live *live, struct seep_live_process *process,
			   uint64_t now_ns);

#endif
