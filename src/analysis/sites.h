/* SPDX-License-Identifier: MIT */
/*
 * Which frames are the same to a reader, and which of them are worth reading. A profile has one
 * frame per address; people think in functions and lines. Every frame gets two small numbers: its
 * function and its line. Two frames of one function have the same function number, two of one
 * source line the same line number. Where no name is known, the module and address stand for both.
 */
#ifndef SEEP_ANALYSIS_SITES_H
#define SEEP_ANALYSIS_SITES_H

#include "profile/profile.h"

struct seep_site {
	uint32_t line;	   /* below line_count */
	uint32_t function; /* below function_count */
	bool system;	   /* of the C library or the loader */
	bool library;	   /* that too, or of a language's standard library */
	bool invoker;	/* library, but the program's own where what it calls was inlined into it */
	bool shim;	/* perhaps the same, as far as its name tells */
	bool startup;	/* comes before main or a thread's function, by its name */
	bool allocator; /* allocates what its caller asked for: operator new, a wrapper of malloc */
	bool plumbing;	/* library but no invoker, or allocator: who to blame is further out */
	bool installed; /* with the system, or compiled in from what is: Boost, templates of Qt */
	bool loops;	/* a call of the program's that comes back into it, as event loops do */
	bool own;	/* the program's: no library but an invoker, not installed */
};

struct seep_sites {
	const struct seep_profile *profile;
	struct seep_site *of_frame;  /* by frame index */
	uint32_t *frame_of_function; /* one frame of each function */
	uint32_t line_count;
	uint32_t function_count;
};

/* @profile must outlive the sites. Linear in the frames of all stacks. Never fails. */
struct seep_sites *seep_sites_new(const struct seep_profile *profile);

/* NULL is a no-op. */
void seep_sites_free(struct seep_sites *sites);
SEEP_FREE_AT(struct seep_sites, seep_sites_free)

/* Entries of a stack, from the first one up to the end. */
struct seep_stack_part {
	uint32_t first;
	uint32_t end;
};

/*
 * The part of a stack worth reading. First is the function to blame: the program's innermost one
 * that is not plumbing, unless all it does is to run a library that calls the program, or it is far
 * out; then the innermost of a library that has a name; without such a one the innermost that is
 * not plumbing, and when all are, the innermost shim, or 0. Code of the system does not take the
 * blame from the program's own code that has no name. End leaves out what comes before main or a
 * thread's function. Both are 0 for an empty stack.
 */
struct seep_stack_part seep_sites_trim(const struct seep_sites *sites,
				       const struct seep_profile_stack_entry *stack,
				       uint32_t count);

/*
 * Whether the entry at @at only passes a call on: library code between the program's functions in
 * @part of a stack. Where one of the system's is to blame, only that of languages does; and none
 * does in a stack of plumbing alone.
 */
bool seep_sites_passes(const struct seep_sites *sites, const struct seep_profile_stack_entry *stack,
		       struct seep_stack_part part, uint32_t at);

/* The function to blame for @context; NULL: it has no stack. */
const struct seep_profile_frame *seep_sites_blamed(const struct seep_sites *sites,
						   const struct seep_profile_context *context);

/* How many of the innermost entries of @stack are plumbing, or stand inside an allocator. */
uint32_t seep_sites_plumbing(const struct seep_sites *sites,
			     const struct seep_profile_stack_entry *stack, uint32_t count);

#endif
