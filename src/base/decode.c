/* SPDX-License-Identifier: MIT */
#include "base/decode.h"

#include "base/units.h"
#include "base/xalloc.h"
#include "core/bits.h"

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
	const char *format;
	ZSTD_inBuffer in; /* all of it, and how far it was decoded */
	uint64_t given;
	uint64_t max_bytes;
	/* Some of what is left; false: it is damaged. */
	bool (*decode)(struct seep_decoder *d, ZSTD_outBuffer *out);
	z_stream zlib;
	ZSTD_DStream *zstd;
	bool between; /* two members or frames, of which a file may have several: it may end */
};

static bool plain(struct seep_decoder *d, ZSTD_outBuffer *out)
{
	const size_t bytes = core_smaller(d->in.size - d->in.pos, out->size - out->pos);

	memcpy((char *)out->dst + out->pos, (const char *)d->in.src + d->in.pos, bytes);
	d->in.pos += bytes;
	out->pos += bytes;
	return true;
}

static bool gunzip(struct seep_decoder *d, ZSTD_outBuffer *out)
{
	const uInt in = (uInt)core_smaller(d->in.size - d->in.pos, UINT_MAX);
	const uInt room = (uInt)core_smaller(out->size - out->pos, UINT_MAX);
	z_stream *z = &d->zlib;
	int r = d->between ? inflateReset(z) : Z_OK;

	z->next_in = (Bytef *)(uintptr_t)d->in.src + d->in.pos;
	z->avail_in = in;
	z->next_out = (Bytef *)out->dst + out->pos;
	z->avail_out = room;
	if (r == Z_OK)
		r = inflate(z, Z_NO_FLUSH);
	d->in.pos += in - z->avail_in;
	out->pos += room - z->avail_out;
	d->between = r == Z_STREAM_END;
	return r == Z_OK || r == Z_STREAM_END;
}

static bool unzstd(struct seep_decoder *d, ZSTD_outBuffer *out)
{
	const size_t r = ZSTD_decompressStream(d->zstd, out, &d->in);

	d->between = r == 0;
	return !ZSTD_isError(r);
}

static bool begins(const struct seep_decoder *d, const char *magic)
{
	return d->in.size >= strlen(magic) && memcmp(d->in.src, magic, strlen(magic)) == 0;
}

struct seep_decoder *seep_decoder_new(const void *data, size_t bytes, uint64_t max_bytes)
{
	struct seep_decoder *d = seep_xcalloc(1, sizeof(*d));

	d->in = (ZSTD_inBuffer){ data, bytes, 0 };
	d->max_bytes = max_bytes;
	d->decode = plain;
	/* What fails here is a lack of memory; then the bytes are no format that anyone reads. */
	if (begins(d, "\x1f\x8b") && inflateInit2(&d->zlib, GZIP_WINDOW_BITS) == Z_OK) {
		d->decode = gunzip;
		d->format = "gzip";
	} else if (begins(d, "\x28\xb5\x2f\xfd") && (d->zstd = ZSTD_createDStream()) != NULL) {
		(void)ZSTD_DCtx_setParameter(d->zstd, ZSTD_d_windowLogMax, ZSTD_WINDOW_LOG_MAX);
		d->decode = unzstd;
		d->format = "zstd";
	}
	d->between = d->decode == plain;
	return d;
}

void seep_decoder_free(struct seep_decoder *d)
{
	if (!d)
		return;
	(void)inflateEnd(&d->zlib);
	(void)ZSTD_freeDStream(d->zstd);
	free(d);
}

static int damaged(const struct seep_decoder *d, struct seep_error *err)
{
	if (d->in.pos == d->in.size)
		return seep_fail(err, SEEP_ETRUNC, "the end of the %s data is missing", d->format);
	return seep_fail(err, SEEP_ECORRUPT, "the %s data is damaged after %s bytes", d->format,
			 seep_digits_text(d->given).text);
}

int seep_decoder_read(struct seep_decoder *d, void *to, size_t room, size_t *ret_got,
		      struct seep_error *err)
{
	ZSTD_outBuffer out = { to, room, 0 };
	bool good = true;

	while (good && out.pos < room && (d->in.pos < d->in.size || !d->between)) {
		const size_t done = d->in.pos + out.pos;

		good = d->decode(d, &out) && d->in.pos + out.pos > done;
	}
	*ret_got = out.pos;
	d->given += out.pos;
	if (!good)
		return damaged(d, err);
	if (d->given > d->max_bytes)
		return seep_fail(err, SEEP_ELIMIT,
				 "it holds more than %s, which is the most that is read",
				 seep_bytes_text(d->max_bytes).text);
	return 0;
}

uint64_t seep_decoder_given(const struct seep_decoder *d)
{
	return d->given;
}

int seep_decoder_read_all(struct seep_decoder *d, char **ret_data, size_t *ret_bytes,
			  struct seep_error *err)
{
	size_t capacity = 0, got = 1;
	int r = 0;

	*ret_data = NULL;
	for (*ret_bytes = 0; r == 0 && got > 0; *ret_bytes += got) {
		*ret_data = seep_xgrow(*ret_data, &capacity, *ret_bytes + ALL_FIRST_BYTES, 1);
		r = seep_decoder_read(d, *ret_data + *ret_bytes, capacity - *ret_bytes, &got, err);
	}
	return r;
}
