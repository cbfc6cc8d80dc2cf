/* SPDX-License-Identifier: MIT */
#include "import/line_reader.h"

#include "base/decode.h"
#include "base/xalloc.h"

#include <stdlib.h>
#include <string.h>

/* Grows where a line is longer. */
enum { FIRST_BYTES = 64 * 1024 };

void seep_line_reader_done(struct seep_line_reader *r)
{
	free(r->buffer);
	r->buffer = NULL;
}

/* More behind what is there; the line that begins at @from goes to the buffer's start. */
static int fill(struct seep_line_reader *r, size_t from, struct seep_error *err)
{
	size_t got;
	int rc;

	if (r->end > from)
		memmove(r->buffer, r->buffer + from, r->end - from);
	r->end -= from;
	r->next -= from;
	if (r->end > SEEP_LINE_READER_MAX_BYTES)
		return seep_fail(err, SEEP_ELIMIT, "line %llu is longer than %u MB",
				 (unsigned long long)r->number, SEEP_LINE_READER_MAX_BYTES >> 20);
	if (r->end + FIRST_BYTES / 2 > r->capacity)
		r->buffer = seep_xgrow(r->buffer, &r->capacity, r->end + FIRST_BYTES, 1);
	rc = seep_decoder_read(r->source, r->buffer + r->end, r->capacity - 1 - r->end, &got, err);
	r->end += got;
	r->source_ended = got == 0;
	return rc;
}

/* The line from @from on, whose first @known bytes hold no end of line. */
static int find_end(struct seep_line_reader *r, size_t from, size_t known, struct seep_error *err)
{
	for (;;) {
		char *end = r->end > from + known
				    ? memchr(r->buffer + from + known, '\n', r->end - from - known)
				    : NULL;
		int rc;

		if (end || r->source_ended) {
			r->next = end ? (size_t)(end - r->buffer) + 1 : r->end;
			r->line = r->buffer + from;
			r->bytes = (end ? r->next - 1 : r->end) - from;
			r->buffer[from + r->bytes] = '\0';
			return 0;
		}
		known = r->end - from;
		rc = fill(r, from, err);
		if (rc < 0)
			return rc;
		from = 0;
	}
}

int seep_line_next(struct seep_line_reader *r, bool *ret_any, struct seep_error *err)
{
	r->number++;
	if (r->next == r->end && !r->source_ended) {
		const int rc = fill(r, r->next, err);

		if (rc < 0)
			return rc;
	}
	*ret_any = r->next < r->end;
	return *ret_any ? find_end(r, r->next, 0, err) : 0;
}

int seep_line_extend(struct seep_line_reader *r, size_t bytes, struct seep_error *err)
{
	size_t from = (size_t)(r->line - r->buffer);

	if (bytes <= r->bytes)
		return 0;
	r->buffer[from + r->bytes] = '\n';
	while (r->end - from < bytes && !r->source_ended) {
		const int rc = fill(r, from, err);

		if (rc < 0)
			return rc;
		from = 0;
	}
	if (r->end - from < bytes)
		return seep_fail(err, SEEP_ETRUNC, "line %llu ends too early",
				 (unsigned long long)r->number);
	return find_end(r, from, bytes, err);
}

uint64_t seep_line_given(const struct seep_line_reader *r)
{
	return seep_decoder_given(r->source);
}

int seep_line_wrong(const struct seep_line_reader *r, const char *what, struct seep_error *err)
{
	return seep_fail(err, SEEP_ECORRUPT, "line %llu: %s", (unsigned long long)r->number, what);
}

static bool number(const char **at, unsigned base, uint64_t *ret)
{
	const char *digit = *at + strspn(*at, " \t");
	const char *first;

	if (base == 16 && digit[0] == '0' && (digit[1] == 'x' || digit[1] == 'X'))
		digit += 2;
	*ret = 0;
	for (first = digit;; digit++) {
		unsigned value = (unsigned char)*digit - '0';

		if (value > 9 && base == 16 && ((unsigned char)*digit | 0x20u) >= 'a')
			value = ((unsigned char)*digit | 0x20u) - 'a' + 10u;
		if (value >= base)
			break;
		if (__builtin_mul_overflow(*ret, base, ret) ||
		    __builtin_add_overflow(*ret, value, ret))
			return false;
	}
	*at = digit;
	return digit > first;
}

bool seep_line_hex(const char **at, uint64_t *ret)
{
	return number(at, 16, ret);
}

bool seep_line_decimal(const char **at, uint64_t *ret)
{
	return number(at, 10, ret);
}
