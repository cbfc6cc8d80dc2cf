/* SPDX-License-Identifier: MIT */
/* Recursion in stacks of other tools, folded as our own recordings have it. */
#ifndef SEEP_IMPORT_FOLD_RECURSION_H
#define SEEP_IMPORT_FOLD_RECURSION_H

struct seep_profile;
struct seep_profile_context;

/*
 * Whenever, from the outermost frame on, the last 1 to 8 frames equal as many before them, they are
 * dropped and the innermost of those that stay gets the period and the number of repeats: what
 * src/runtime/track/nodes.c does with walks, so that hashes are the same. Inlined functions go with
 * their frame.
 */
void seep_fold_recursion(const struct seep_profile *profile, struct seep_profile_context *context);

#endif
