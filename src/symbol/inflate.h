/* SPDX-License-Identifier: MIT */
/* Compressed ELF sections: zlib and zstd (gABI), xz (mini debug information). */
#ifndef SEEP_SYMBOL_INFLATE_H
#define SEEP_SYMBOL_INFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* @packing: ELFCOMPRESS_…. Exactly @out_bytes are written; anything else is a failure. */
bool seep_inflate(uint32_t packing, const void *in, size_t in_bytes, void *out, size_t out_bytes);

/**
 * seep_inflate_xz - a whole .xz stream, whose size is known only afterwards
 * @ret_out: released with free()
 *
 * Returns: false when it is damaged or stands for more than 256 MiB.
 */
bool seep_inflate_xz(const void *in, size_t in_bytes, uint8_t **ret_out, size_t *ret_out_bytes);

#endif
