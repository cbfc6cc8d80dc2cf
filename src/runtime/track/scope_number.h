/* SPDX-License-Identifier: MIT */
/*
 * Numbers of scopes. A scope is a tag under those that were open when it was opened. If the same tag was
 * open already, it moves to the end of that path: there are no more scopes than orders of the tags that
 * are met. A number stays its scope's for good, also in forked children.
 */
#ifndef SEEP_RUNTIME_SCOPE_NUMBER_H
#define SEEP_RUNTIME_SCOPE_NUMBER_H

#include "runtime/rt.h"

enum {
	RT_SCOPE_NONE = 0,
	RT_SCOPES_MAX = 1 << 14, /* that are told apart */
	RT_SCOPE_INNER = 1 << 16,
};

/*
 * The number of the scope of @tag, a label, opened in @parent, which may be RT_SCOPE_NONE; and, beside it,
 * RT_SCOPE_INNER if the tag was open already. Where there are too many, that of "all others" in none.
 * Any thread, any signal.
 */
uint64_t rt_scope_number(uint32_t parent, uint32_t tag);

/* The tag of a number that was given out. */
uint16_t rt_scope_tag(uint32_t scope);

/* The tags of @scope in @buffer, outermost first, with '/' in between; what has no room is left out. */
const char *rt_scope_say(uint32_t scope, char *buffer, size_t max);

/* All that were given out are below. */
uint32_t rt_scope_numbers(void);

/* The ledger is a new one. */
void rt_scope_numbers_forked(void);

#endif
