/* SPDX-License-Identifier: MIT */
/* The bytes of a pprof profile, which may be hostile, and its message in memory. */
#ifndef SEEP_IMPORT_PPROF_MESSAGE_H
#define SEEP_IMPORT_PPROF_MESSAGE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct Pprof__Profile;
struct seep_arena;

/**
 * seep_pprof_unpack - the message that @data is
 * @arena: what it lives in
 *
 * protobuf-c takes as much memory as the bytes say; here up to 64 MB and 16 times their number.
 *
 * Returns: 0, or -SEEP_ECORRUPT, or -SEEP_ELIMIT: it would take more memory.
 */
SEEP_NODISCARD int seep_pprof_unpack(const char *data, size_t bytes, struct seep_arena *arena,
				     const struct Pprof__Profile **ret, struct seep_error *err);

/* Are there fields that the message has, of the right form, as far as @head goes? */
bool seep_pprof_is_one(const uint8_t *head, size_t bytes);

#endif
