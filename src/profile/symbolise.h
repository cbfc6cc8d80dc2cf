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

/**
 * seep_profile_symbolise_missing - look again where names or lines were missing
 *
 * For a profile that is symbolised (a recording's), with symbols that may know more than those of
 * then: a debug package that was installed since, another machine's files. The modules that had a
 * problem are looked up again as a whole; a module's new answers replace the old ones only if more
 * of its addresses have a name or a line now, so that nothing is lost. Problems and hashes follow.
 * A profile that is not symbolised yet is, as by seep_profile_symbolise(), whose errors it has.
 */
SEEP_NODISCARD int seep_profile_symbolise_missing(struct seep_profile *profile,
						  struct seep_symbols *symbols,
						  void (*progress)(void *user, uint64_t done,
								   uint64_t all),
						  void *user, struct seep_error *err);

#endif
