/* SPDX-License-Identifier: MIT */
/*
 * What a ledger says of forked children: as long as a child has no ledger of its own, its figures
 * are in the "forked" of its nearest ancestor's ledger. When it gets one, that says what of
 * "forked" is its own. docs/internals/ledger.md, "Fork".
 */
#ifndef SEEP_PROFILE_LEDGER_FORKED_H
#define SEEP_PROFILE_LEDGER_FORKED_H

#include "ledger/ledger.h"
#include "profile/profile.h"

/* As the words are now; what no program reaches counts as 0. */
struct seep_profile_forked seep_forked_load(const struct ledger_forked *from);

/* Take @part out of @sums, no further than to 0. What was read while both change may not fit. */
void seep_forked_less(struct seep_profile_forked *sums, const struct seep_profile_forked *part);

/* Add figure by figure. */
void seep_forked_add(struct seep_profile_forked *to, const struct seep_profile_forked *from);

/* Take @part, which is there, out of a ledger's own words, to which children may be adding. */
void seep_forked_take_out(struct ledger_forked *from, const struct seep_profile_forked *part);

/* Of the ledger at @path, just loaded: less what the ledgers beside it have for themselves. */
void seep_profile_less_grown(struct seep_profile *profile, const char *path);

#endif
