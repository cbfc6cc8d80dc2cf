/* SPDX-License-Identifier: MIT */
#include "base/encode.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <zlib.h>

#include "base/terminal.h"
#include "base/xalloc.h"

enum {
	/* The largest window, and in a gzip file rather than a zlib stream. */
	GZIP_WINDOW_BITS = 15 + 16,
	GZIP_MEMORY_LEVEL = 9,
	GZIP_PIECE_BYTES = 16384,
};

static voidpf zlib_take(voidpf unused, uInt count, uInt item_bytes)
{
	(void)unused;
	return seep_xcalloc(count, item_bytes);
}

static void zlib_give(voidpf unused, voidpf memory)
{
	(void)unused;
	free(memory);
}

struct gzip {
	z_stream stream;
	FILE *out;
};

static void deflate_all(struct gzip *gzip, int flush)
{
	char piece_out[GZIP_PIECE_BYTES];

	do {
		gzip->stream.next_out = (Bytef *)piece_out;
		gzip->stream.avail_out = sizeof(piece_out);
		(void)deflate(&gzip->stream, flush);
		(void)fwrite(piece_out, 1, sizeof(piece_out) - gzip->stream.avail_out, gzip->out);
	} while (gzip->stream.avail_out == 0);
}

static ssize_t gzip_write(void *cookie, const char *data, size_t bytes)
{
	struct gzip *gzip = cookie;
	uInt piece;

	gzip->stream.next_in = (void *)(uintptr_t)data;
	/* As much as zlib's counter holds at a time: stdio would take less than all for an error. */
	for (size_t left = bytes; left > 0; left -= piece) {
		piece = left < UINT_MAX ? (uInt)left : UINT_MAX;
		gzip->stream.avail_in = piece;
		deflate_all(gzip, Z_NO_FLUSH);
	}
	return (ssize_t)bytes;
}

static int gzip_close(void *cookie)
{
	struct gzip *gzip = cookie;

	gzip->stream.avail_in = 0;
	deflate_all(gzip, Z_FINISH);
	(void)deflateEnd(&gzip->stream);
	free(gzip);
	return 0;
}

FILE *seep_gzip_open(FILE *out, int level)
{
	struct gzip *gzip = seep_xcalloc(1, sizeof(*gzip));
	FILE *stream;

	gzip->out = out;
	gzip->stream.zalloc = zlib_take;
	gzip->stream.zfree = zlib_give;
	/* Only a lack of memory, which zlib_take() does not tell of, could make it fail. */
	(void)deflateInit2(&gzip->stream, level, Z_DEFLATED, GZIP_WINDOW_BITS, GZIP_MEMORY_LEVEL,
			   Z_DEFAULT_STRATEGY);
	stream = fopencookie(gzip, "w",
			     (cookie_io_functions_t){ .write = gzip_write, .close = gzip_close });
	if (stream == NULL)
		abort(); /* out of memory */
	return stream;
}

void seep_base64_write(FILE *out, const void *data, size_t bytes)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const uint8_t *from = data;

	for (size_t i = 0; i < bytes; i += 3) {
		const size_t left = bytes - i;
		const uint32_t bits = (uint32_t)from[i] << 16 |
				      (left > 1 ? (uint32_t)from[i + 1] << 8 : 0) |
				      (left > 2 ? (uint32_t)from[i + 2] : 0);
		const char text[] = {
			digits[bits >> 18],
			digits[bits >> 12 & 63],
			left > 1 ? digits[bits >> 6 & 63] : '=',
			left > 2 ? digits[bits & 63] : '=',
		};

		(void)fwrite_unlocked(text, 1, sizeof(text), out);
	}
}

void seep_csv_write(FILE *out, const char *text)
{
	SEEP_FREED char *escaped = seep_escape_dup(text ? text : "");

	(void)fprintf(out, "\"%s", seep_csv_guard(escaped));
	for (const char *at = escaped; *at; at++) {
		if (*at == '"')
			(void)fputc('"', out);
		(void)fputc(*at, out);
	}
	(void)fputc('"', out);
}
