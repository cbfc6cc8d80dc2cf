/* SPDX-License-Identifier: MIT */
/* Writing the tables of a recording: what its parts share. Used by the writer only. */
#ifndef SEEP_RECORDING_RECORDING_WRITER_H
#define SEEP_RECORDING_RECORDING_WRITER_H

#include "base/error.h"

struct seep_profile;
struct sqlite3;

struct seep_writer {
	struct sqlite3 *db;
	const struct seep_profile *profile;
	struct seep_error *err;
};

/* Modules, frames, segments, contexts and epochs. */
SEEP_NODISCARD int seep_writer_stacks(struct seep_writer *w);

#endif
