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

struct seep_row {
	const struct seep_sites *sites;
	const struct seep_profile_context *context; /* NULL: nothing is known of it */
	char *name; /* the caller's, replaced where it is not enough */
	char *place;
};

/* The type that its library code is for, if that is the program's: ", of Conn", or "". free() it. */
char *seep_row_type(const struct seep_row *row);

/* Linear in the rows; compares at most some callers of each. */
void seep_rows_tell_apart(struct seep_row *rows, size_t count);

/* Release @rows, their names and places. */
void seep_rows_free(struct seep_row *rows, size_t count);

#endif
