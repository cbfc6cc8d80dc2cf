/* SPDX-License-Identifier: MIT */
/* Names for the frames of a profile. */
#ifndef SEEP_PROFILE_SYMBOLISE_H
#define SEEP_PROFILE_SYMBOLISE_H

#include "base/error.h"

#include <stdbool.h>

struct seep_profile;
struct seep_progress;
struct seep_symbols;

/**
 * seep_profile_symbolise - look up frames that were not looked up yet, expand inlined calls
 * @symbols:  one cache may serve several profiles; strings are copied out of it
 * @missing:  look again where names or lines were missing, for a recording with symbols that may
 *            know more than those of then: a debug package that was installed since, another
 *            machine's files. Modules that had a problem are looked up as a whole; new answers
 *            replace the old ones only if more of the module's addresses have a name or a line now,
 *            so that nothing is lost. Without it what has names already is left as it is
 * @progress: of addresses, started; may be NULL
 *
 * Frames keep their index; of modules by_place, they get their addresses as linked. An address at
 * which calls were inlined becomes several entries of the stacks, innermost first, and a repetition
 * stays with the last of them, the function that is really on the stack. The modules' problems
 * follow; hashes that are void become 0.
 *
 * Returns: 0, or
 *   -SEEP_ELIMIT  the expanded stacks would have over 2^29 entries; the last ones have the
 *                 outermost names only
 */
SEEP_NODISCARD int seep_profile_symbolise(struct seep_profile *profile,
					  struct seep_symbols *symbols, bool missing,
					  struct seep_progress *progress, struct seep_error *err);

/*
 * Code that a JIT compiler made is in no module, and a perf map may name it. The path of the module
 * that such frames get; their offsets in it are run time addresses.
 */
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
