/* SPDX-License-Identifier: MIT */
#include "import/line_reader.h"

#include "base/decode.h"
#include "base/xalloc.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Grows where a line is longer. */
enum { FIRST_BYTES = 64 * 1024 };

void seep_line_reader_done(struct seep_line_reader *r)
{
	free(r->buffer);
	r->buffer = NULL;
}

/* More behind the present line's beginning, which goes to the buffer's start. */
static int fill(struct seep_line_reader *r)
{
	size_t got;
	int rc;

	if (r->next > 0)
		memmove(r->buffer, r->buffer + r->next, r->end - r->next);
	r->end -= r->next;
	r->next = 0;
	if (r->end > SEEP_LINE_READER_MAX_BYTES)
		return seep_line_fail(r, SEEP_ELIMIT, "it is longer than 4 MB");
	if (r->end + FIRST_BYTES / 2 > r->capacity)
		r->buffer = seep_xgrow(r->buffer, &r->capacity, r->end + FIRST_BYTES, 1);
	rc = seep_decoder_read(r->source, r->buffer + r->end, r->capacity - 1 - r->end, &got,
			       r->err);
	r->end += got;
	r->source_ended = got == 0;
	return rc;
}

int seep_line_next(struct seep_line_reader *r, bool *ret_any)
{
	char *end = NULL;
	size_t looked_at = 0;
	int rc = 0;

	r->number++;
	while (rc == 0) {
		const size_t from = r->next + looked_at;

		if (r->end > from)
			end = memchr(r->buffer + from, '\n', r->end - from);
		if (end || r->source_ended)
			break;
		looked_at = r->end - r->next;
		rc = fill(r);
	}
	*ret_any = rc == 0 && r->next < r->end;
	if (!*ret_any)
		return rc;
	r->line = r->buffer + r->next;
	r->next = end ? (size_t)(end - r->buffer) + 1 : r->end;
	r->buffer[end ? r->next - 1 : r->end] = '\0';
	return 0;
}

int seep_line_fail(const struct seep_line_reader *r, enum seep_code code, const char *what)
{
	return seep_fail(r->err, code, "line %llu: %s", (unsigned long long)r->number, what);
}

static bool number(char **at, int base, uint64_t *ret)
{
	char *digits = *at + strspn(*at, " \t");

	/* strtoull() would take a sign. */
	if (!isxdigit((unsigned char)*digits))
		return false;
	errno = 0;
	*ret = strtoull(digits, at, base);
	return *at > digits && errno == 0;
}

bool seep_line_hex(char **at, uint64_t *ret)
{
	return number(at, 16, ret);
}

bool seep_line_decimal(char **at, uint64_t *ret)
{
	return number(at, 10, ret);
}
