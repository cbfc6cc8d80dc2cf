/* SPDX-License-Identifier: MIT */
/* Names for the frames of a profile. */
#ifndef SEEP_PROFILE_SYMBOLISE_H
#define SEEP_PROFILE_SYMBOLISE_H

#include "base/error.h"

#include <stdint.h>

struct seep_profile;
struct seep_symbols;

/**
 * seep_profile_symbolise - look up every frame, expand inlined calls, set hashes and problems
 * @symbols:  one cache may serve several profiles; strings are copied out of it
 * @progress: called now and then with addresses done and all of them; may be NULL
 * @user:     handed to @progress
 *
 * profile->frames and every context's stack are replaced: an address at which calls were inlined
 * becomes several entries, innermost first, and a repetition stays with the last of them, the
 * function that is really on the stack. Nothing happens to a profile that is symbolised already.
 *
 * Returns: 0, or
 *   -SEEP_ELIMIT  the expanded stacks would have over 2^29 entries; the profile is as it was
 */
SEEP_NODISCARD int seep_profile_symbolise(struct seep_profile *profile,
					  struct seep_symbols *symbols,
					  void (*progress)(void *user, uint64_t done, uint64_t all),
					  void *user, struct seep_error *err);

#endif
