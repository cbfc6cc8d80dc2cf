/* SPDX-License-Identifier: MIT */
/* The part of a recording that is a tree. Used by the writer only. */
#ifndef SEEP_RECORDING_RECORDING_WRITE_STACKS_H
#define SEEP_RECORDING_RECORDING_WRITE_STACKS_H

#include "base/error.h"

struct seep_profile;
struct sqlite3;

/* Segments, contexts and epochs. Errors as for seep_recording_write(). */
SEEP_NODISCARD int seep_recording_write_stacks(struct sqlite3 *db,
					       const struct seep_profile *profile,
					       struct seep_error *err);

#endif
