/* SPDX-License-Identifier: MIT */
/*
 * Blocks that the C library, the C++ library and the loader keep to the end for themselves, told by
 * the functions of theirs that allocated them. What they allocate for the program (strdup, fopen,
 * getline) is the program's to free and not meant.
 */
#ifndef SEEP_ANALYSIS_RUNTIME_BLOCKS_H
#define SEEP_ANALYSIS_RUNTIME_BLOCKS_H

#include "profile/profile.h"

#include <stdbool.h>
#include <stddef.h>

/* How many rules there are. */
size_t seep_runtime_rules(void);

/* What a rule is called: a function, or words. Static storage. */
const char *seep_runtime_rule_name(size_t rule);

/* The first rule that matches blocks of @context with this @verdict; SIZE_MAX: none. */
size_t seep_runtime_rule_find(const struct seep_profile *profile,
			      const struct seep_profile_context *context, unsigned verdict);

/*
 * Whether @frame, one of the profile's, allocates the memory that libstdc++ keeps for exceptions:
 * all that its initialisation does. Without debug symbols it has no name.
 */
bool seep_runtime_is_pool(const struct seep_profile *profile,
			  const struct seep_profile_frame *frame);

#endif
