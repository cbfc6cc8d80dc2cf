/* SPDX-License-Identifier: MIT */
/*
 * Which contexts of a process keep growing, and which hold blocks that should be gone: judged from
 * readings of its profile, one after the other. Readings and their times are the only input, so
 * that recorded ones can be replayed. docs/internals/growth.md
 */
#ifndef SEEP_ANALYSIS_GROWTH_H
#define SEEP_ANALYSIS_GROWTH_H

#include "profile/profile.h"

#include <stdbool.h>
#include <stdint.h>

#define SEEP_GROWTH_AFTER_NS 60000000000ull

enum {
	SEEP_GROWTH_STALE_TIMES = 10, /* blocks are stale at so many times @after_ns, at least */
	SEEP_GROWTH_RECENT = 16,      /* readings kept for a picture */
};

struct seep_growth;

/* @after_ns: a context is growing when it did so for so long; at least 12 readings in that time. */
struct seep_growth *seep_growth_new(uint64_t after_ns) __attribute__((returns_nonnull));

/* NULL is a no-op. */
void seep_growth_free(struct seep_growth *growth);

/*
 * A reading of the process at @now_ns, monotonic, later than the last one. @profile: with its
 * marks; always of the same ledger, contexts are told by id. Costs little for what has not changed.
 */
void seep_growth_observe(struct seep_growth *growth, const struct seep_profile *profile,
			 uint64_t now_ns);

/*
 * What is to be said of the context with this id, by what was observed; evidence is not set. False:
 * nothing.
 */
bool seep_growth_of(const struct seep_growth *growth, uint32_t id,
		    struct seep_profile_growth *ret_growth);

/*
 * The live bytes of the last readings, oldest first; before the first reading what it had then.
 * Returns false when they never changed, or were never read.
 */
bool seep_growth_recent(const struct seep_growth *growth, uint32_t id,
			uint64_t ret_bytes[SEEP_GROWTH_RECENT]);

/* GROWING is more than STALE, whatever the figures; blocks freed late are least. */
int seep_growth_rank(const struct seep_profile_growth *growth);

/* @all, zeroed for nothing, becomes what is to be said of what is judged so together with @one. */
void seep_growth_join(struct seep_profile_growth *all, const struct seep_profile_growth *one);

/* How many contexts are GROWING, and how many bytes of growth that is, now. */
struct seep_growth_sum {
	bool known; /* it was observed for long enough */
	uint32_t contexts;
	uint64_t bytes;
	uint64_t bytes_per_hour;
};
struct seep_growth_sum seep_growth_sum(const struct seep_growth *growth);

/* All that is to be said, by id; for a profile that is loaded later. */
struct seep_growth_list {
	struct seep_growth_item {
		uint32_t id; /* of the context */
		struct seep_profile_growth growth;
	} * items;
	uint32_t count;
	uint32_t growing_count; /* those that are GROWING, or were until they gave it back */
	uint64_t after_ns;	/* 0: nobody has looked for so long */
	bool is_full;		/* there were more contexts than are followed */
};

/* Release with seep_growth_list_done(). */
struct seep_growth_list seep_growth_list(const struct seep_growth *growth);

/* Zeroed storage is a no-op. */
void seep_growth_list_done(struct seep_growth_list *list);

/* Set the growth, with evidence, of all contexts of @profile, which is of the observed ledger. */
void seep_growth_fill(const struct seep_growth_list *list, struct seep_profile *profile);

#endif
