/* SPDX-License-Identifier: MIT */
/* Which names the recordings of a run's children have: each once, however often a program ran. */
#ifndef SEEP_RECORDER_CHILD_NAMES_H
#define SEEP_RECORDER_CHILD_NAMES_H

#include "recorder/image.h"

#include <stdbool.h>

/* Zeroed storage is empty. Release with seep_child_names_done(). */
struct seep_child_names {
	void *taken; /* a tree of tsearch(3) */
};

/*
 * A name beside @output for the recording of @image that no other one has: a process that calls
 * exec again and again runs the same program more than once. Files of earlier runs are replaced
 * only with @force. Release with free().
 */
char *seep_child_names_take(struct seep_child_names *names, const char *output, bool force,
			    const struct seep_image *image);

/* It is not needed after all. */
void seep_child_names_give_back(struct seep_child_names *names, const char *name);

void seep_child_names_done(struct seep_child_names *names);

#endif
