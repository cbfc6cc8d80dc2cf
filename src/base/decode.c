/* SPDX-License-Identifier: MIT */
#include "base/decode.h"

#include "base/units.h"
#include "base/xalloc.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

enum {
	GZIP_WINDOW_BITS = 15 + 16,
	ZSTD_WINDOW_LOG_MAX = 27, /* as its own tools have it: 128 MB */
	ALL_FIRST_BYTES = 64 * 1024,
};

struct seep_decoder {
	const uint8_t *data; /* what is left of it */
	size_t left;
	uint64_t given;
	uint64_t max_bytes;
	/* Decodes up to @room bytes: *ret_got, 0 at the end. */
	int (*decode)(struct seep_decoder *d, void *to, size_t room, size_t *ret_got,
		      struct seep_error *err);
	z_stream zlib;
	ZSTD_DStream *zstd;
	bool between; /* two members or frames: the end may come */
};

static int plain(struct seep_decoder *d, void *to, size_t room, size_t *ret_got,
		 struct seep_error *err)
{
	(void)err;
	*ret_got = room < d->left ? room : d->left;
	if (*ret_got)
		memcpy(to, d->data, *ret_got);
	d->data += *ret_got;
	d->left -= *ret_got;
	return 0;
}

static int damaged(const struct seep_decoder *d, const char *format, struct seep_error *err)
{
	return d->left == 0
		       ? seep_fail(err, SEEP_ETRUNC, "the end of the %s data is missing", format)
		       : seep_fail(err, SEEP_ECORRUPT, "the %s data is damaged after %s bytes",
				   format, seep_digits_text(d->given).text);
}

/* A file may be several of them, one after the other. */
static int gzip(struct seep_decoder *d, void *to, size_t room, size_t *ret_got,
		struct seep_error *err)
{
	z_stream *z = &d->zlib;

	z->next_out = to;
	z->avail_out = room < UINT_MAX ? (uInt)room : UINT_MAX;
	for (room = z->avail_out; z->avail_out == room && (d->left > 0 || !d->between);) {
		const uInt in = d->left < UINT_MAX ? (uInt)d->left : UINT_MAX;
		int rc;

		if (d->between && inflateReset(z) != Z_OK)
			return damaged(d, "gzip", err);
		z->next_in = (void *)(uintptr_t)d->data;
		z->avail_in = in;
		rc = inflate(z, Z_NO_FLUSH);
		d->data += in - z->avail_in;
		d->left -= in - z->avail_in;
		d->between = rc == Z_STREAM_END;
		if (rc != Z_OK && rc != Z_STREAM_END)
			return damaged(d, "gzip", err);
	}
	*ret_got = room - z->avail_out;
	return 0;
}

static int zstd(struct seep_decoder *d, void *to, size_t room, size_t *ret_got,
		struct seep_error *err)
{
	ZSTD_outBuffer out = { to, room, 0 };

	while (out.pos == 0 && (d->left > 0 || !d->between)) {
		ZSTD_inBuffer in = { d->data, d->left, 0 };
		const size_t rc = ZSTD_decompressStream(d->zstd, &out, &in);

		d->data += in.pos;
		d->left -= in.pos;
		d->between = rc == 0;
		if (ZSTD_isError(rc) || (in.pos == 0 && out.pos == 0 && !d->between))
			return damaged(d, "zstd", err);
	}
	*ret_got = out.pos;
	return 0;
}

static bool begins(const struct seep_decoder *d, const char *magic)
{
	return d->left >= strlen(magic) && memcmp(d->data, magic, strlen(magic)) == 0;
}

struct seep_decoder *seep_decoder_new(const void *data, size_t bytes, uint64_t max_bytes)
{
	struct seep_decoder *d = seep_xcalloc(1, sizeof(*d));

	d->data = data;
	d->left = bytes;
	d->max_bytes = max_bytes;
	d->decode = plain;
	/* What fails here is a lack of memory; then the bytes are no format that anyone reads. */
	if (begins(d, "\x1f\x8b") && inflateInit2(&d->zlib, GZIP_WINDOW_BITS) == Z_OK)
		d->decode = gzip;
	else if (begins(d, "\x28\xb5\x2f\xfd") && (d->zstd = ZSTD_createDStream()) != NULL)
		d->decode = zstd;
	if (d->zstd)
		(void)ZSTD_DCtx_setParameter(d->zstd, ZSTD_d_windowLogMax, ZSTD_WINDOW_LOG_MAX);
	return d;
}

void seep_decoder_free(struct seep_decoder *d)
{
	if (!d)
		return;
	if (d->decode == gzip)
		(void)inflateEnd(&d->zlib);
	(void)ZSTD_freeDStream(d->zstd);
	free(d);
}

int seep_decoder_read(struct seep_decoder *d, void *to, size_t room, size_t *ret_got,
		      struct seep_error *err)
{
	size_t got = 1;

	*ret_got = 0;
	while (*ret_got < room && got > 0) {
		const int r = d->decode(d, (char *)to + *ret_got, room - *ret_got, &got, err);

		if (r < 0)
			return r;
		*ret_got += got;
		d->given += got;
		if (d->given > d->max_bytes)
			return seep_fail(err, SEEP_ELIMIT,
					 "it holds more than %s, which is the most that is read",
					 seep_bytes_text(d->max_bytes).text);
	}
	return 0;
}

uint64_t seep_decoder_given(const struct seep_decoder *d)
{
	return d->given;
}

int seep_decoder_read_all(struct seep_decoder *d, char **ret_data, size_t *ret_bytes,
			  struct seep_error *err)
{
	size_t capacity = 0, bytes = 0, got = 1;
	char *data = NULL;
	int r = 0;

	while (r == 0 && got > 0) {
		data = seep_xgrow(data, &capacity, bytes + ALL_FIRST_BYTES, 1);
		r = seep_decoder_read(d, data + bytes, capacity - bytes - 1, &got, err);
		bytes += got;
	}
	if (r < 0) {
		free(data);
		return r;
	}
	data[bytes] = '\0';
	*ret_data = data;
	*ret_bytes = bytes;
	return 0;
}
