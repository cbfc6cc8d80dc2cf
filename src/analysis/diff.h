/* SPDX-License-Identifier: MIT */
/*
 * What changed between two profiles, and what of one profile was allocated between two marks and is
 * still alive.
 *
 * Two profiles are joined by the hashes of their contexts, so that builds with moved code and runs
 * at other addresses match; contexts of one hash are summed. Within one profile a row is a call
 * stack as a reader sees it (analysis/group.h), and its figures come from the epochs of its
 * contexts: they are exact.
 */
#ifndef SEEP_ANALYSIS_DIFF_H
#define SEEP_ANALYSIS_DIFF_H

#include "analysis/counts.h"
#include "analysis/group.h"
#include "scan/scan.h"

enum seep_diff_verdict {
	SEEP_DIFF_SAME = 0,
	SEEP_DIFF_NEW,	  /* nothing of the measure before */
	SEEP_DIFF_GROWN,  /* more of it after */
	SEEP_DIFF_SHRUNK, /* less */
	SEEP_DIFF_GONE,	  /* nothing of it after */
	SEEP_DIFF_HELD,	  /* allocated between two marks, and alive since */
	SEEP_DIFF_VERDICTS,
};

/* "NEW", "GROWN" ... "HELD". */
extern const char *const seep_diff_verdict_names[SEEP_DIFF_VERDICTS];

/* The epochs from @from on that come before @end. */
struct seep_epochs {
	uint32_t from;
	uint32_t end;
};

struct seep_diff_block {
	uint64_t address;
	uint64_t size;
};

struct seep_diff_row {
	uint64_t key; /* hash of the contexts, or number of the group */
	/* Index + 1 of the context that has most of it, before and after; 0: none has any. */
	uint32_t context[2];
	struct seep_counts counts[2];
	enum seep_diff_verdict verdict;
	struct seep_profile_epoch *rounds; /* HELD: what is held of each, as many as there are */
	struct seep_diff_block *blocks;	   /* that were listed, by address */
	uint32_t block_count;
	int64_t most; /* private: what that context has of it, of the side that is added to */
};

struct seep_diff {
	const struct seep_profile *profiles[2]; /* the first is NULL where there are marks */
	enum seep_measure measure;
	struct seep_counts counts[2]; /* of all contexts; of HELD, of those rows */
	struct seep_diff_row *rows;   /* that changed, largest change first */
	uint32_t count;
	uint32_t same_count; /* others, that were left out */
	/*
	 * Between two profiles: what is lost, in live_blocks and live_bytes, a row per hash
	 * (analysis/leak_sums.h). NULL: one of them was not scanned.
	 */
	struct seep_diff *leaks;
	const struct seep_epochs *rounds;
	uint32_t round_count;
	/* Rows that hold something of some rounds only, which are left out. */
	uint32_t partial_count;
	struct seep_counts partial;
	/* Live blocks without a stack of their own: no epoch tells when they were allocated. */
	uint64_t undated_blocks;
	/* Of the rest, private. */
	uint32_t *row_of_context; /* HELD: index + 1 */
	struct seep_profile_epoch *round_sums;
};

/* All of them have to outlive it; their contexts have hashes. Linear but for a sort. */
struct seep_diff *seep_diff_new(const struct seep_profile *before, const struct seep_profile *after,
				enum seep_measure measure);

/*
 * What was allocated in @rounds, @count of them and at least one, and is alive: rows that hold
 * something of each. Live bytes and blocks only. @groups are those of @profile.
 */
struct seep_diff *seep_diff_held(const struct seep_profile *profile,
				 const struct seep_groups *groups, const struct seep_epochs *rounds,
				 uint32_t count);

/* Add to the rows of HELD which blocks they are, @max of each at most. @blocks: by address. */
void seep_diff_list_blocks(struct seep_diff *diff, const struct scan_block *blocks, uint64_t count,
			   uint32_t max);

/* After less before, in the measure. */
int64_t seep_diff_change(const struct seep_diff *diff, const struct seep_counts counts[2]);

/* How far that may be off; 0: not at all. */
uint64_t seep_diff_error(const struct seep_diff *diff, const struct seep_counts counts[2]);

/* Is it an estimate, and no more than that? */
bool seep_diff_is_within_error(const struct seep_diff *diff, const struct seep_counts counts[2]);

/* NULL is a no-op. */
void seep_diff_free(struct seep_diff *diff);
SEEP_FREE_AT(struct seep_diff, seep_diff_free)

#endif
