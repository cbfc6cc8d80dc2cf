/* SPDX-License-Identifier: MIT */
/* What findings are called and what follows from their figures. Names are part of the JSON. */
#ifndef SEEP_PROFILE_FINDING_NAME_H
#define SEEP_PROFILE_FINDING_NAME_H

#include "ledger/finding.h"
#include "profile/profile.h"

/* "double-free", ...; "unknown" of a newer seep's. Static storage. */
const char *seep_finding_kind_name(uint8_t kind);

/* The function that was called: "free", "delete[]" ...; NULL: none, or a newer seep's. */
const char *seep_finding_freeing_name(uint8_t freeing);

/* The function that frees blocks of this family. */
const char *seep_finding_meant_name(uint8_t family);

/* What allocated the block: "calloc", "new[]" ..., by its family where its stack is not here. */
const char *seep_finding_origin_name(const struct seep_profile *profile,
				     const struct seep_profile_finding *finding);

/*
 * How far outside of its block the pointer is: 0 and more from its end, below 0 in front of it.
 * False: that says nothing of a finding of this kind.
 */
bool seep_finding_distance(const struct seep_profile_finding *finding, int64_t *ret_bytes);

#endif
