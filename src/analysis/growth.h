/* SPDX-License-Identifier: MIT */
/*
 * Which contexts of a process keep growing, and which hold blocks that should be gone: judged from
 * readings of its profile, one after the other. Readings and their times are the only input, so
 * that recorded ones can be replayed. docs/internals/growth.md
 */
#ifndef SEEP_ANALYSIS_GROWTH_H
#define SEEP_ANALYSIS_GROWTH_H

#include "profile/ledger_growth.h"

#include <stdbool.h>
#include <stdint.h>

#define SEEP_GROWTH_AFTER_NS 60000000000ull

enum {
	SEEP_GROWTH_STALE_TIMES = 10, /* blocks are stale at so many times @after_ns, at least */
	SEEP_GROWTH_RECENT = 16,      /* readings kept for a picture */
};

struct seep_growth;

/*
 * @after_ns: a context is growing when it did so for so long; 0: SEEP_GROWTH_AFTER_NS. At least 12
 * readings in that time.
 */
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

/* What grows comes first, the fastest most, then what is stale; 0: neither. Never negative. */
int64_t seep_growth_weight(const struct seep_profile_growth *growth);

/* GROWING is more than STALE, whatever the figures; blocks freed late are least. */
int seep_growth_rank(const struct seep_profile_growth *growth);

/* @all, zeroed for nothing, becomes what is to be said of what is judged so together with @one. */
void seep_growth_join(struct seep_profile_growth *all, const struct seep_profile_growth *one);

/* All that is to be said; for a profile that is loaded later. Release with seep_growth_list_done(). */
struct seep_growth_list seep_growth_list(const struct seep_growth *growth);

/* The news of @list, which is of @growth, are none from here on. */
void seep_growth_tell(struct seep_growth *growth, const struct seep_growth_list *list);

/*
 * What the recorder of the same process says, of the contexts of @profile, which was observed last:
 * from here on that is to be said, until the next call; of a list without after_ns, what was
 * observed. Takes @list.
 */
void seep_growth_hear(struct seep_growth *growth, const struct seep_profile *profile,
		      struct seep_growth_list *list);

/* Set the growth, with evidence, of all contexts of @profile, which is of the observed ledger. */
void seep_growth_fill(const struct seep_growth_list *list, struct seep_profile *profile);

#endif
