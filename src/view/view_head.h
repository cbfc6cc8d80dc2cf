/* SPDX-License-Identifier: MIT */
/* The lines before a view: which process this is, how it ended, where to look first. */
#ifndef SEEP_VIEW_VIEW_HEAD_H
#define SEEP_VIEW_VIEW_HEAD_H

#include "view/view.h"

/*
 * After @prefix: program, pid, when, how it ended, allocator; with @command the command line. Then
 * what leads, live, peak and allocations, and which part is shown.
 */
void seep_view_add_head(struct seep_view *view, const char *prefix, bool command, bool start);

/* The command line as a shell reads it, released with free(); NULL: it was withheld. */
char *seep_view_command(const struct seep_profile *profile);

/* The first of these lines alone. */
void seep_view_add_process(struct seep_view *view, const char *prefix);

/*
 * What everything that shows the profile begins with: heap errors, if there are any, what the leak
 * scan found, and, if @start, the function with the largest share, over all its stacks. Without a
 * scan that function leads, and that there was none comes second. Last, where there are scopes, the
 * tag that holds most.
 */
void seep_view_add_lead(struct seep_view *view, bool start);

#endif
