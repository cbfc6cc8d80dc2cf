/* SPDX-License-Identifier: MIT */
/*
 * One line on stderr for work that takes longer than a second, and nothing at all for less, or when
 * stderr is not a terminal.
 *
 *	struct seep_progress progress;
 *
 *	seep_progress_start(&progress, "reading symbols");
 *	for (...)
 *		seep_progress_step(&progress, i);
 *	seep_progress_done(&progress);
 *
 * Threads: a struct belongs to one thread.
 */
#ifndef SEEP_BASE_PROGRESS_H
#define SEEP_BASE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct seep_progress {
	const char *what; /* borrowed */
	uint64_t total;	  /* 0 = not known; may be set while it runs */
	uint64_t next_ns; /* draw not before; on the monotonic clock */
	bool enabled;
	bool drawn; /* something is on the line */
};

/* @what: "reading symbols"; borrowed. */
void seep_progress_start(struct seep_progress *progress, const char *what);

/* @done: of total. Cheap enough to call for every item: it looks at the clock every so often. */
void seep_progress_step(struct seep_progress *progress, uint64_t done);

/* Clear the line, if one was drawn. */
void seep_progress_done(struct seep_progress *progress);

/* Whether progress that starts from now on draws no line (-q). Any thread. */
void seep_progress_silence(bool silent);

#endif
