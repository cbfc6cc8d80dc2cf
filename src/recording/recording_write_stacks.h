/* SPDX-License-Identifier: MIT */
/* The part of a recording that is a tree. Used by the writer only. */
#ifndef SEEP_RECORDING_RECORDING_WRITE_STACKS_H
#define SEEP_RECORDING_RECORDING_WRITE_STACKS_H

#include "recording/recording_rows.h"

/* Segments, contexts, and what was seen of each in its epochs and in time. */
void seep_recording_write_stacks(struct seep_row_writer *rows, const struct seep_profile *profile);

#endif
