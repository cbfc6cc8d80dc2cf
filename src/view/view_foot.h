/* SPDX-License-Identifier: MIT */
/* The lines after a view: what was not seen, what is counted elsewhere, what to type next. */
#ifndef SEEP_VIEW_VIEW_FOOT_H
#define SEEP_VIEW_VIEW_FOOT_H

#include "view/view.h"

/*
 * What is not in the figures, a line each, and code without names. With @lines_max at most so many
 * printed lines in a terminal of 80 columns, without the names.
 */
void seep_view_add_unseen(struct seep_view *view, size_t lines_max);

/* How it was scanned for leaks, and what was left out; nothing where it was not. */
void seep_view_add_scan(struct seep_view *view);

/* Children, and seep's own memory. */
void seep_view_add_own(struct seep_view *view);

struct seep_next_command {
	const char *arguments; /* after the file's name: " --tree" */
	const char *shows;
};

/* "Next: seep report FILE<arguments>", one line each; nothing when there is no file. */
void seep_view_add_next(struct seep_view *view, const struct seep_next_command *commands,
			size_t count);

#endif
