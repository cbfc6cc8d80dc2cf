/* SPDX-License-Identifier: MIT */
/*
 * Wrappers of malloc, told by what they do. A function is one when it stands at the inner end of
 * all stacks that it is part of, right above the allocator, and either
 *
 *  - it and its like are called by three functions or more, for about as many different sizes, and
 *    half of their module's stacks pass through them: xmalloc, zmalloc, a program's my_alloc; or
 *  - it alone is part of a tenth of its module's stacks, for sixteen callers or more and for a
 *    quarter as many sizes: an allocator of the program's own, built on top of those.
 *
 * A name that says so counts for more: right above the allocator co_alloc() is a wrapper whoever
 * calls it, and _sdsnewlen(), whose underscore says that it works for others, is one for two callers
 * and sizes. What makes one kind of thing is none, however many call it: its blocks have one size.
 */
#ifndef SEEP_ANALYSIS_WRAPPERS_H
#define SEEP_ANALYSIS_WRAPPERS_H

#include "analysis/sites.h"

/* Set allocator and plumbing of the frames of wrappers. */
void seep_wrappers_mark(struct seep_sites *sites);

#endif
