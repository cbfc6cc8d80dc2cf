/* SPDX-License-Identifier: MIT */
/* Names for code that a JIT compiler made: frames of no module, by what a perf map says. */
#ifndef SEEP_PROFILE_GENERATED_NAMES_H
#define SEEP_PROFILE_GENERATED_NAMES_H

#include "base/error.h"

struct seep_profile;

/* The path of the module that such frames get; their offsets in it are run time addresses. */
#define SEEP_GENERATED_MODULE "[perf map]"

/**
 * seep_profile_name_generated - name frames of no module from a perf map
 * @profile: symbolised; its hashes are 0 again where a name was found
 * @fd:      the map, at its start
 *
 * A name is what the map said last: of code that made place for other code during the run it may be
 * the other one's.
 *
 * Returns: 0, or -SEEP_ESYS when reading fails; names found until then are there.
 */
SEEP_NODISCARD int seep_profile_name_generated(struct seep_profile *profile, int fd,
					       struct seep_error *err);

#endif
