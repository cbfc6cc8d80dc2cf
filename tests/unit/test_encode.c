/* SPDX-License-Identifier: MIT */
#include "base/encode.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/xalloc.h"
#include "unit.h"

/* Written in pieces of @piece_bytes. Release with free(). */
static char *pack(const uint8_t *data, size_t bytes, size_t piece_bytes, int level,
		  size_t *ret_bytes)
{
	char *packed = NULL;
	FILE *out = open_memstream(&packed, ret_bytes), *stream = seep_gzip_open(out, level);

	for (size_t at = 0; at < bytes; at += piece_bytes) {
		const size_t left = bytes - at, piece = left < piece_bytes ? left : piece_bytes;

		assert_int_equal(fwrite(data + at, 1, piece, stream), piece);
	}
	assert_int_equal(fclose(stream), 0);
	assert_int_equal(ferror(out), 0);
	assert_int_equal(fclose(out), 0);
	return packed;
}

static void check_gzip(const uint8_t *data, size_t bytes, size_t piece_bytes, int level)
{
	size_t packed_bytes;
	char *packed = pack(data, bytes, piece_bytes, level, &packed_bytes);
	uint8_t *back = seep_xmalloc(bytes + 1);
	z_stream stream = { .next_in = (Bytef *)packed,
			    .avail_in = (uInt)packed_bytes,
			    .next_out = back,
			    .avail_out = (uInt)bytes + 1 };

	assert_int_equal(inflateInit2(&stream, 15 + 16), Z_OK);
	assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
	assert_int_equal(stream.avail_in, 0);
	assert_int_equal(stream.total_out, bytes);
	assert_memory_equal(back, data, bytes);
	(void)inflateEnd(&stream);
	free(back);
	free(packed);
}

TEST(gzip_gives_the_bytes_back)
{
	const size_t bytes = 3 << 20;
	uint8_t *data = seep_xmalloc(bytes);
	uint32_t word = 1;

	for (size_t i = 0; i < bytes; i++) {
		word = word * 1664525 + 1013904223;
		data[i] = (uint8_t)(word >> 24);
	}
	check_gzip(data, 0, bytes, SEEP_GZIP_BEST);
	check_gzip(data, 1, bytes, SEEP_GZIP_BEST);
	check_gzip(data, bytes, bytes, SEEP_GZIP_BEST);
	check_gzip(data, bytes, 17, SEEP_GZIP_FAST);
	memset(data, 'a', bytes);
	check_gzip(data, bytes, bytes, SEEP_GZIP_BEST);
	check_gzip(data, bytes, 17, SEEP_GZIP_FAST);
	free(data);
}

TEST(gzip_of_the_same_bytes_is_the_same_file)
{
	size_t bytes[2];
	char *files[2];

	for (int i = 0; i < 2; i++)
		files[i] = pack((const uint8_t *)"seep", 4, 4, SEEP_GZIP_BEST, &bytes[i]);
	assert_int_equal(bytes[0], bytes[1]);
	assert_memory_equal(files[0], files[1], bytes[0]);
	free(files[0]);
	free(files[1]);
}

TEST(what_a_compressed_stream_cannot_write_shows_below_it)
{
	FILE *out = fopen("/dev/full", "w"), *stream;

	assert_non_null(out);
	setbuf(out, NULL);
	stream = seep_gzip_open(out, SEEP_GZIP_BEST);
	assert_true(fputs("seep", stream) >= 0);
	(void)fclose(stream);
	assert_true(ferror(out));
	(void)fclose(out);
}

static void check_base64(const void *data, size_t bytes, const char *expected)
{
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	seep_base64_write(out, data, bytes);
	assert_int_equal(fclose(out), 0);
	assert_string_equal(text, expected);
	free(text);
}

TEST(base64_is_padded)
{
	check_base64("", 0, "");
	check_base64("f", 1, "Zg==");
	check_base64("fo", 2, "Zm8=");
	check_base64("foo", 3, "Zm9v");
	check_base64("\xff\xfe\xfb", 3, "//77");
}

/* Longer than what is encoded at a time. */
TEST(base64_of_much_has_no_seams)
{
	const size_t bytes = 100003;
	char *zeros = seep_xcalloc(bytes, 1), *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	seep_base64_write(out, zeros, bytes);
	assert_int_equal(fclose(out), 0);
	assert_int_equal(length, (bytes + 2) / 3 * 4);
	assert_int_equal(strspn(text, "A"), length - 2);
	assert_string_equal(text + length - 2, "==");
	free(zeros);
	free(text);
}
