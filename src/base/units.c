/* SPDX-License-Identifier: MIT */
#include "base/units.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"

struct unit {
	const char *name;
	uint64_t size;
};

/* Smallest first. */
static const struct unit byte_units[] = {
	{ "KB", 1ULL << 10 }, { "MB", 1ULL << 20 }, { "GB", 1ULL << 30 },
	{ "TB", 1ULL << 40 }, { "PB", 1ULL << 50 }, { "EB", 1ULL << 60 },
};

static const struct unit count_units[] = {
	{ "k", 1000ULL },	   { "M", 1000000ULL },		 { "G", 1000000000ULL },
	{ "T", 1000000000000ULL }, { "P", 1000000000000000ULL }, { "E", 1000000000000000000ULL },
};

static const struct unit time_units[] = {
	{ "µs", SEEP_NS_PER_US },
	{ "ms", SEEP_NS_PER_MS },
	{ "s", SEEP_NS_PER_S },
};

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* @value / @size in parts of which @parts are a whole, rounded half up. */
static unsigned __int128 rounded(uint64_t value, uint64_t size, unsigned parts)
{
	return ((unsigned __int128)value * parts + size / 2) / size;
}

static struct seep_unit_text SEEP_PRINTF(1, 2) written(const char *fmt, ...)
{
	struct seep_unit_text ret;
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(ret.text, sizeof(ret.text), fmt, args);
	va_end(args);
	return ret;
}

/*
 * @value in the greatest unit that it reaches after rounding: 1,048,575 bytes are "1.0 MB", not
 * "1024 KB".
 */
static struct seep_unit_text scaled(uint64_t value, const struct unit *units, size_t unit_count)
{
	size_t pick = 0;
	uint64_t tenths;

	while (pick + 1 < unit_count &&
	       rounded(value, units[pick].size, 1) >= units[pick + 1].size / units[pick].size)
		pick++;
	tenths = (uint64_t)rounded(value, units[pick].size, 10);
	if (tenths < 1000)
		return written("%" PRIu64 ".%" PRIu64 " %s", tenths / 10, tenths % 10,
			       units[pick].name);
	return written("%" PRIu64 " %s", (uint64_t)rounded(value, units[pick].size, 1),
		       units[pick].name);
}

struct seep_unit_text seep_bytes_text(uint64_t bytes)
{
	return bytes < 1024 ? written("%" PRIu64 " B", bytes)
			    : scaled(bytes, byte_units, COUNT_OF(byte_units));
}

struct seep_unit_text seep_count_text(uint64_t count)
{
	return count < 10000 ? written("%" PRIu64, count)
			     : scaled(count, count_units, COUNT_OF(count_units));
}

struct seep_unit_text seep_digits_text(uint64_t count)
{
	const struct seep_unit_text digits = written("%" PRIu64, count);
	const size_t length = strlen(digits.text);
	struct seep_unit_text ret;
	size_t at = 0;

	for (size_t i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0)
			ret.text[at++] = ',';
		ret.text[at++] = digits.text[i];
	}
	ret.text[at] = '\0';
	return ret;
}

/* Two neighbouring units without decimals: "2 min 5 s". */
static struct seep_unit_text two_units(uint64_t seconds, uint64_t big, const char *big_name,
				       uint64_t small, const char *small_name)
{
	const uint64_t rest = seconds % big / small;

	if (rest)
		return written("%" PRIu64 " %s %" PRIu64 " %s", seconds / big, big_name, rest,
			       small_name);
	return written("%" PRIu64 " %s", seconds / big, big_name);
}

struct seep_things_text seep_things_text(uint64_t count, const char *thing)
{
	struct seep_things_text ret;

	(void)snprintf(ret.text, sizeof(ret.text), "%.26s %.30s%s", seep_digits_text(count).text,
		       thing, count == 1 ? "" : "s");
	return ret;
}

struct seep_unit_text seep_change_text(int64_t value, struct seep_unit_text (*text)(uint64_t))
{
	const uint64_t size = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;

	return written("%s%.30s", value < 0 ? "-" : value > 0 ? "+" : "", text(size).text);
}

struct seep_unit_text seep_duration_text(uint64_t ns)
{
	const uint64_t seconds = (uint64_t)rounded(ns, SEEP_NS_PER_S, 1);

	if (ns < 1000)
		return written("%" PRIu64 " ns", ns);
	if (seconds < 60)
		return scaled(ns, time_units, COUNT_OF(time_units));
	if (seconds < 3600)
		return two_units(seconds, 60, "min", 1, "s");
	if (seconds < 86400)
		return two_units(seconds, 3600, "h", 60, "min");
	return two_units(seconds, 86400, "d", 3600, "h");
}

struct seep_unit_text seep_bound_text(struct seep_unit_text bound)
{
	char *zero = strstr(bound.text, ".0 ");

	if (zero)
		memmove(zero, zero + 2, strlen(zero + 2) + 1);
	return bound;
}

struct seep_unit_text seep_percent_text(uint64_t part, uint64_t whole)
{
	unsigned __int128 permille;

	if (!whole)
		return written("-");
	if (part > 0 && (unsigned __int128)part * 2000 < whole)
		return written("<0.1%%");
	permille = rounded(part, whole, 1000);
	if (permille > 9999999)
		permille = 9999999;
	return written("%u.%u%%", (unsigned)(permille / 10), (unsigned)(permille % 10));
}

/* The value is whole + nano / 10^9. */
struct decimal {
	uint64_t whole;
	uint32_t nano;
	bool too_large; /* beyond 64 bits */
};

/*
 * Read digits and up to nine decimals. Returns what follows them, or NULL when there are no digits
 * or more decimals.
 */
static const char *read_decimal(const char *at, struct decimal *ret)
{
	const char *start = at;

	*ret = (struct decimal){ 0 };
	for (; *at >= '0' && *at <= '9'; at++)
		ret->too_large |= __builtin_mul_overflow(ret->whole, 10, &ret->whole) ||
				  __builtin_add_overflow(ret->whole, (uint64_t)(*at - '0'),
							 &ret->whole);
	if (at == start)
		return NULL;
	if (*at == '.') {
		uint32_t place = 100000000;

		start = ++at;
		for (; *at >= '0' && *at <= '9'; at++, place /= 10)
			ret->nano += place * (uint32_t)(*at - '0');
		if (at == start || at - start > 9)
			return NULL;
	}
	return at;
}

/* @number units of @size. Returns false beyond 64 bits. */
static bool multiply(const struct decimal *number, uint64_t size, uint64_t *ret)
{
	unsigned __int128 total = (unsigned __int128)number->whole * size;

	total += (unsigned __int128)number->nano * size / 1000000000U;
	if (number->too_large || total >> 64)
		return false;
	*ret = (uint64_t)total;
	return true;
}

/* "", "B", "K", "KB", "KiB" in any case. 0 = not a suffix. */
static uint64_t size_suffix(const char *suffix)
{
	if (!*suffix || strcasecmp(suffix, "B") == 0)
		return 1;
	if (suffix[1] && strcasecmp(suffix + 1, "B") != 0 && strcasecmp(suffix + 1, "iB") != 0)
		return 0;
	for (size_t i = 0; i < COUNT_OF(byte_units); i++)
		if (strncasecmp(suffix, byte_units[i].name, 1) == 0)
			return byte_units[i].size;
	return 0;
}

static uint64_t duration_suffix(const char *suffix)
{
	static const struct unit suffixes[] = {
		{ "", SEEP_NS_PER_S },	       { "ns", 1 },
		{ "us", SEEP_NS_PER_US },      { "µs", SEEP_NS_PER_US },
		{ "ms", SEEP_NS_PER_MS },      { "s", SEEP_NS_PER_S },
		{ "m", 60 * SEEP_NS_PER_S },   { "min", 60 * SEEP_NS_PER_S },
		{ "h", 3600 * SEEP_NS_PER_S }, { "d", 86400 * SEEP_NS_PER_S },
	};

	for (size_t i = 0; i < COUNT_OF(suffixes); i++)
		if (strcmp(suffix, suffixes[i].name) == 0)
			return suffixes[i].size;
	return 0;
}

/* "", "k", "M", "G", "T" in any case. */
static uint64_t amount_suffix(const char *suffix)
{
	if (!*suffix)
		return 1;
	for (size_t i = 0; i < 4; i++)
		if (strcasecmp(suffix, count_units[i].name) == 0)
			return count_units[i].size;
	return 0;
}

static uint64_t share_suffix(const char *suffix)
{
	return strcmp(suffix, "%") == 0 ? 10000 : 0;
}

static const char whole_max[] = "18446744073709551615";

/* @what: what it is to be, and how to write one; @max: what fits in 64 bits. */
static int parse_scaled(const char *text, uint64_t (*suffix_size)(const char *), const char *what,
			const char *max, uint64_t *ret, struct seep_error *err)
{
	struct decimal number;
	const char *end = read_decimal(text, &number);
	const uint64_t size = end ? suffix_size(end) : 0;

	if (!size)
		return seep_fail(err, SEEP_EUSAGE, "'%s' is not a %s", text, what);
	if (!multiply(&number, size, ret))
		return seep_fail(err, SEEP_EUSAGE, "'%s' is too large; the maximum is %s", text,
				 max);
	return 0;
}

int seep_parse_size(const char *text, uint64_t *ret_bytes, struct seep_error *err)
{
	return parse_scaled(text, size_suffix, "size; write for example 4096, 64K or 1.5G",
			    whole_max, ret_bytes, err);
}

int seep_parse_duration(const char *text, uint64_t *ret_ns, struct seep_error *err)
{
	return parse_scaled(text, duration_suffix, "duration; write for example 10s, 500ms or 2m",
			    seep_duration_text(UINT64_MAX).text, ret_ns, err);
}

int seep_parse_amount(const char *text, uint64_t *ret_count, struct seep_error *err)
{
	struct decimal number;
	const char *end = read_decimal(text, &number);
	const uint64_t size = end ? amount_suffix(end) : 0;

	if ((unsigned __int128)number.nano * size % 1000000000U)
		return seep_fail(err, SEEP_EUSAGE, "'%s' is not a whole number", text);
	return parse_scaled(text, amount_suffix, "count; write for example 500, 10k or 1.5M",
			    whole_max, ret_count, err);
}

int seep_parse_share(const char *text, uint64_t *ret_millionths, struct seep_error *err)
{
	return parse_scaled(text, share_suffix, "share; write for example 5%", "1844674407370955%",
			    ret_millionths, err);
}

int seep_parse_count(const char *text, uint64_t max, uint64_t *ret_count, struct seep_error *err)
{
	struct decimal number;
	const char *end = read_decimal(text, &number);

	if (!end || *end || strchr(text, '.'))
		return seep_fail(err, SEEP_EUSAGE, "'%s' is not a number", text);
	if (number.too_large || number.whole > max)
		return seep_fail(err, SEEP_EUSAGE, "'%s' is too large; the maximum is %llu", text,
				 (unsigned long long)max);
	*ret_count = number.whole;
	return 0;
}
