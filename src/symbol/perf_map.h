/* SPDX-License-Identifier: MIT */
/*
 * Perf maps: the text files in which JIT compilers say what the code is that they made. One line
 * is "START SIZE NAME", the numbers in hexadecimal, addresses as at run time. The compiler appends
 * as it goes, so where lines overlap the last one is about what is there now.
 */
#ifndef SEEP_SYMBOL_PERF_MAP_H
#define SEEP_SYMBOL_PERF_MAP_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/* Of a file; and of a line, of which the rest is left out. */
#define SEEP_PERF_MAP_BYTES_MAX (256ull << 20)
#define SEEP_PERF_MAP_LINE_MAX (4ull << 10)

/**
 * seep_perf_map_read - what a perf map calls some addresses
 * @fd:        read from where it stands to the end, or to SEEP_PERF_MAP_BYTES_MAX
 * @addresses: ascending; for a return address the caller has subtracted 1
 * @ret_names: @count pointers, all NULL before; those that are set are the caller's to free()
 *
 * Lines that are none are passed over: the file is anybody's text. Memory is bounded by @count.
 *
 * Returns: 0, or -SEEP_ESYS when reading fails; names found until then are there.
 */
SEEP_NODISCARD int seep_perf_map_read(int fd, const uint64_t *addresses, size_t count,
				      char **ret_names, struct seep_error *err);

#endif
