/* SPDX-License-Identifier: MIT */
/*
 * Numbers for people, and what people type as numbers. Sizes are powers of 1024 (1 KB = 1,024
 * bytes), counts are powers of 1000. Formatting is exact integer arithmetic, rounded half up, and
 * needs no locale. The text is returned by value, so that it can be used inside a call:
 *
 *	fprintf(out, "%s in %s blocks", seep_bytes_text(bytes).text, seep_count_text(n).text);
 */
#ifndef SEEP_BASE_UNITS_H
#define SEEP_BASE_UNITS_H

#include <stdint.h>

#include "base/error.h"

struct seep_unit_text {
	char text[32];
};

/* "0 B", "1023 B", "1.5 KB", "12.3 MB", "123 GB": three digits or fewer past the bytes. */
struct seep_unit_text seep_bytes_text(uint64_t bytes);

/* "0", "9999", "12.3 k", "1.2 M", "123 M": exact below 10,000. */
struct seep_unit_text seep_count_text(uint64_t count);

/* All digits in groups of three: "1,234,567". */
struct seep_unit_text seep_digits_text(uint64_t count);

struct seep_things_text {
	char text[96];
};

/* All digits with what is counted: "1 block", "1,234 blocks". @thing: 30 bytes at most. */
struct seep_things_text seep_things_text(uint64_t count, const char *thing);

/* A difference: what @text makes of its size, with a sign: "+1.5 KB", "-12 B", "0 B". */
struct seep_unit_text seep_change_text(int64_t value, struct seep_unit_text (*text)(uint64_t));

/* "850 ns", "12.5 µs", "3.4 ms", "1.2 s", "2 min 5 s", "3 h 4 min", "2 d 3 h". */
struct seep_unit_text seep_duration_text(uint64_t ns);

/* Of a bound, which is exact: "10 ms", "4 KB" for "10.0 ms", "4.0 KB". */
struct seep_unit_text seep_bound_text(struct seep_unit_text bound);

/* @part of @whole as "12.3%"; "<0.1%" for what would round to 0; "-" when @whole is 0. */
struct seep_unit_text seep_percent_text(uint64_t part, uint64_t whole);

/**
 * seep_parse_size - read a size such as "4096", "64K", "1.5M", "2GB"
 * @ret_bytes: set on success only
 * @err:       filled on failure only; may be NULL
 *
 * Suffixes K M G T P E, any case, with an optional B or iB; powers of 1024; up to nine decimals.
 *
 * Returns: 0, or -SEEP_EUSAGE (not a size, or beyond 64 bits: the sentence says which).
 */
SEEP_NODISCARD int seep_parse_size(const char *text, uint64_t *ret_bytes, struct seep_error *err);

/* The same for "10s", "1.5s", "500ms", "2m", "1h", "1d", "100us", "20ns"; no unit = seconds. */
SEEP_NODISCARD int seep_parse_duration(const char *text, uint64_t *ret_ns, struct seep_error *err);

/* A plain decimal number up to @max, nothing else. Returns 0 or -SEEP_EUSAGE. */
SEEP_NODISCARD int seep_parse_count(const char *text, uint64_t max, uint64_t *ret_count,
				    struct seep_error *err);

/* A whole number with an optional k, M, G or T, powers of 1000, as "10k", "1.5M". Or -SEEP_EUSAGE. */
SEEP_NODISCARD int seep_parse_amount(const char *text, uint64_t *ret_count, struct seep_error *err);

/* "5%", "0.25%" as millionths, rounded down. Returns 0 or -SEEP_EUSAGE. */
SEEP_NODISCARD int seep_parse_share(const char *text, uint64_t *ret_millionths,
				    struct seep_error *err);

#endif
