/* SPDX-License-Identifier: MIT */
/*
 * Rows that show of a call stack little more than the function to blame. Where several read alike
 * they get what tells them apart: the library code that they go through, which names the type
 * ("step, via std::make_shared<Conn>"), a caller, the thread, or the place in the code.
 */
#ifndef SEEP_VIEW_ALIKE_H
#define SEEP_VIEW_ALIKE_H

#include "analysis/sites.h"

#include <stddef.h>

/* It reads as name and callers. All texts are its own. */
struct seep_row {
	const struct seep_sites *sites;
	const struct seep_profile_context *context; /* NULL: nothing is known of it */
	char *name;    /* of the function to blame, and what tells apart */
	char *callers; /* " ← visit ×17 ← main"; NULL: not shown */
	char *place;
	bool told; /* the function's name was not enough */
	bool many; /* it stands for contexts of several places in the code */
};

/* The type that its library code is for, if that is the program's: ", of Conn", or "". free() it. */
char *seep_row_type(const struct seep_sites *sites, const struct seep_profile_context *context);

/* The row of @stack, @context's own or folded. */
struct seep_row seep_row_of(const struct seep_sites *sites,
			    const struct seep_profile_context *context,
			    const struct seep_profile_stack_entry *stack, uint32_t count);

/* Linear in the rows; compares at most some callers of each. @threads: those tell apart, too. */
void seep_rows_tell_apart(struct seep_row *rows, size_t count, bool threads);

/* Release @rows and their texts. */
void seep_rows_free(struct seep_row *rows, size_t count);

#endif
