/* SPDX-License-Identifier: MIT */
/*
 * Whose is a row? A block's cell names a row by its id, and in a forked child a block that it
 * inherited has a row of the ledger of its parent, or of the parent's parent. A ledger stays while
 * a living process descends from it.
 */
#ifndef SEEP_PROFILE_ROW_OWNER_H
#define SEEP_PROFILE_ROW_OWNER_H

#include "profile/profile.h"

/* A process of a ledger and its ancestors, whose ledgers are loaded when one is asked for. */
struct seep_lineage;

/* @profile: of the ledger at @path; stays the caller's, and must stay. Never fails. */
struct seep_lineage *seep_lineage_new(const char *path, const struct seep_profile *profile);

/* Release it, and the profiles of ancestors with it. NULL is a no-op. */
void seep_lineage_free(struct seep_lineage *lineage);

/**
 * seep_lineage_context - the context that the row with this id is of
 * @ret_profile: whose it is, for its frames; set with a context only
 * @err:         with NULL: why; may be NULL
 *
 * Returns: the context, valid as long as @lineage, or NULL: SEEP_ENOTFOUND where there is no such
 * row, or its ledger is gone, else what seep_profile_load_ledger() says of the ancestor's.
 */
const struct seep_profile_context *seep_lineage_context(struct seep_lineage *lineage, uint32_t row,
							const struct seep_profile **ret_profile,
							struct seep_error *err);

#endif
