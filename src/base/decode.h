/* SPDX-License-Identifier: MIT */
/*
 * What a gzip or zstd file holds, piece by piece; bytes that are neither are given as they are. The
 * bytes may be hostile: a file of some megabytes can stand for many gigabytes, so there is a
 * ceiling for all that is given, and nothing of it is kept here.
 */
#ifndef SEEP_BASE_DECODE_H
#define SEEP_BASE_DECODE_H

#include "base/error.h"
#include "base/release.h"

#include <stddef.h>
#include <stdint.h>

struct seep_decoder;

/*
 * Never fails, and never NULL; release with seep_decoder_free(). @data must outlive it.
 * @max_bytes: that it gives at most.
 */
struct seep_decoder *seep_decoder_new(const void *data, size_t bytes, uint64_t max_bytes)
	__attribute__((returns_nonnull));

/* NULL is a no-op. */
void seep_decoder_free(struct seep_decoder *decoder);
SEEP_FREE_AT(struct seep_decoder, seep_decoder_free)

/**
 * seep_decoder_read - the next bytes
 * @ret_got: how many, also where it fails; without a failure, fewer than @room only at the end
 *
 * Returns: 0, or
 *   -SEEP_ECORRUPT  what is compressed is damaged
 *   -SEEP_ETRUNC    its end is missing
 *   -SEEP_ELIMIT    it holds more than the ceiling
 */
SEEP_NODISCARD int seep_decoder_read(struct seep_decoder *decoder, void *to, size_t room,
				     size_t *ret_got, struct seep_error *err);

/* How many bytes were given so far. */
uint64_t seep_decoder_given(const struct seep_decoder *decoder);

/* Read all that is left into one block, which is for free() even where this fails. */
SEEP_NODISCARD int seep_decoder_read_all(struct seep_decoder *decoder, char **ret_data,
					 size_t *ret_bytes, struct seep_error *err);

#endif
