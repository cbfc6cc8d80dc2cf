/* SPDX-License-Identifier: MIT */
/* The lines before a view: which process this is, how it ended, where to look first. */
#ifndef SEEP_VIEW_VIEW_HEAD_H
#define SEEP_VIEW_VIEW_HEAD_H

#include "view/view.h"

/*
 * After @prefix: program, pid, when, how it ended, allocator; with @command the command line. Then
 * what is lost, the sentence that matters, live, peak and allocations, and which part is shown.
 */
void seep_view_add_head(struct seep_view *view, const char *prefix, bool command);

/* The command line as a shell reads it, released with free(); NULL: it was withheld. */
char *seep_view_command(const struct seep_profile *profile);

/* The first of these lines alone. */
void seep_view_add_process(struct seep_view *view, const char *prefix);

/* Where to look first: the function with the largest share, over all its stacks. */
void seep_view_add_start_at(struct seep_view *view);

#endif
