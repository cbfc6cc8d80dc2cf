/* SPDX-License-Identifier: MIT */
/*
 * What is lost: the answer in one line, then the leaks, largest first, each with its call stack,
 * why it is judged so, and what is lost with it. What goes with a leak that is shown stands there
 * and not as a leak of its own.
 */
#ifndef SEEP_VIEW_LEAKS_VIEW_H
#define SEEP_VIEW_LEAKS_VIEW_H

#include "base/xalloc.h"
#include "profile/verdict.h"
#include "view/stacks_view.h"
#include "view/view.h"

struct seep_leak_view {
	const struct seep_profile_leak *leak;
	/* Its figures: "LOST: 4.0 KB in 10 blocks, and 1.1 MB in 3,000 with them". */
	struct seep_stack_lines stack;
	struct seep_lines notes; /* what goes with it, why, its hash, addresses */
};

struct seep_leaks_view {
	struct seep_leak_view *items; /* lost ones first, by what goes with them too */
	uint32_t count;
	uint32_t all; /* of the kinds that are shown, those beyond the top too */
};

/* The @top largest of options->leak_kinds; 0: all. Never fails. */
void seep_leaks_view_init(struct seep_leaks_view *leaks, struct seep_view *view, uint32_t top);
void seep_leaks_view_done(struct seep_leaks_view *leaks);

/*
 * The answer: "2 leaks: 4.2 KB in 12 blocks lost ...", that nothing is, or why nobody knows. Release
 * with free().
 */
char *seep_leaks_answer(const struct seep_profile *profile) SEEP_RETURNS_MEMORY;

/*
 * What filling new memory would tell, where it was not filled and some call stack's blocks are lost
 * in part, or more is maybe lost than is; else NULL. Release with free().
 */
char *seep_leaks_advice(const struct seep_profile *profile);

/* Where @context is: "app::read_file (src/load.cc:44)"; NULL: at an unknown place. */
char *seep_site_text(const struct seep_sites *sites,
		     const struct seep_profile_context *context) SEEP_RETURNS_MEMORY;

/* What fared alike, together. */
struct seep_verdict_sum {
	uint64_t leaks;
	uint64_t blocks;
	uint64_t bytes;
	uint64_t blocks_error, bytes_error; /* of one leak; sums are exact */
};

/* By verdict. Those of newer seeps are left out. */
void seep_leaks_sum(const struct seep_profile *profile,
		    struct seep_verdict_sum ret_sums[SEEP_VERDICT_COUNT]);

#endif
