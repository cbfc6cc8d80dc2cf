/* SPDX-License-Identifier: MIT */
/*
 * Which frames are the same to a reader. A profile has one frame per address; people think in
 * functions and lines. Every frame gets two small numbers: its function and its line. Two frames
 * of one function have the same function number, two of one source line the same line number.
 * Where no name is known, the module and address stand for both.
 */
#ifndef SEEP_ANALYSIS_SITES_H
#define SEEP_ANALYSIS_SITES_H

#include "profile/profile.h"

struct seep_site {
	uint32_t line;	   /* below line_count */
	uint32_t function; /* below function_count */
	bool plumbing;	   /* passes on what its caller asked for: see function_name.h; and all
			    * code of the C and C++ libraries themselves */
	bool startup;	   /* before main or the thread's function */
};

struct seep_sites {
	const struct seep_profile *profile;
	struct seep_site *of_frame;  /* by frame index */
	uint32_t *frame_of_function; /* one frame of each function */
	uint32_t line_count;
	uint32_t function_count;
};

/* @profile must outlive the sites. Never fails. */
struct seep_sites *seep_sites_new(const struct seep_profile *profile);

/* NULL is a no-op. */
void seep_sites_free(struct seep_sites *sites);

/*
 * The part of a stack worth reading: [*ret_first, *ret_end) of its entries. First is the innermost
 * frame that is not plumbing (0 when all are), end leaves out what comes before main. Both are 0
 * for an empty stack.
 */
void seep_sites_trim(const struct seep_sites *sites, const struct seep_profile_stack_entry *stack,
		     uint32_t count, uint32_t *ret_first, uint32_t *ret_end);

#endif
