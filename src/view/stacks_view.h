/* SPDX-License-Identifier: MIT */
/*
 * The largest call stacks. Each starts at the function to blame. The frames between it and the
 * allocator are summed up in one line ("via …"), and so is library code between two of its callers;
 * frames before main are left out, and so is the middle of a long stack, except for the program's
 * own code.
 */
#ifndef SEEP_VIEW_STACKS_VIEW_H
#define SEEP_VIEW_STACKS_VIEW_H

#include "analysis/group.h"
#include "view/view.h"

/* A frame, or, without an entry, a note about frames that are not shown. */
struct seep_stack_line {
	const struct seep_profile_stack_entry *entry;
	char *note;
};

/* A call stack as it is shown. */
struct seep_stack_lines {
	char *figures; /* above it, escaped: "4.2 MB (34.1%) in 1,024 blocks, avg 4.1 KB, malloc" */
	struct seep_stack_line *items;
	uint32_t count;
	uint32_t blamed; /* index of the line that it starts at; of none when there are no frames */
	struct seep_profile_stack_entry *folded; /* that items point to, where something folds */
};

struct seep_stack_view {
	const struct seep_group *group;
	struct seep_stack_lines stack;
};

struct seep_stacks_view {
	struct seep_groups *groups;
	struct seep_stack_view *items; /* largest first */
	uint32_t count;
	uint32_t all;  /* how many there are, those not shown too */
	int64_t value; /* of those shown, together */
};

/* At most @top stacks, of as many frames as are worth reading. Never fails. */
void seep_stacks_view_init(struct seep_stacks_view *stacks, const struct seep_view *view,
			   uint32_t top);
void seep_stacks_view_done(struct seep_stacks_view *stacks);

/*
 * @stack, which has to outlive them, and what @context says of frames that are not there. The
 * figures are the caller's to set, and released with the lines.
 */
void seep_stack_lines_init(struct seep_stack_lines *lines, const struct seep_view *view,
			   const struct seep_profile_context *context,
			   const struct seep_profile_stack_entry *stack, uint32_t stack_count);

/* The same of @context's own stack, in which recursion is folded unless the view is full. */
void seep_stack_lines_fold(struct seep_stack_lines *lines, struct seep_view *view,
			   const struct seep_profile_context *context);
void seep_stack_lines_done(struct seep_stack_lines *lines);

#endif
