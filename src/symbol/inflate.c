/* SPDX-License-Identifier: MIT */
#include "symbol/inflate.h"

#include "base/xalloc.h"

#include <elf.h>
#include <lzma.h>
#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

#define XZ_OUT_MAX_BYTES ((size_t)256 << 20)
#define XZ_WORK_MAX_BYTES ((uint64_t)128 << 20)

bool seep_inflate(uint32_t packing, const void *in, size_t in_bytes, void *out, size_t out_bytes)
{
	uLongf inflated = out_bytes;

	switch (packing) {
	case ELFCOMPRESS_ZLIB:
		return uncompress(out, &inflated, in, in_bytes) == Z_OK && inflated == out_bytes;
	case ELFCOMPRESS_ZSTD:
		/* Its errors are sizes that none has. */
		return ZSTD_decompress(out, out_bytes, in, in_bytes) == out_bytes;
	default:
		return false;
	}
}

bool seep_inflate_xz(const void *in, size_t in_bytes, uint8_t **ret_out, size_t *ret_out_bytes)
{
	uint64_t work_bytes = XZ_WORK_MAX_BYTES;
	size_t room = in_bytes < XZ_OUT_MAX_BYTES / 8 ? in_bytes * 8 + 4096 : XZ_OUT_MAX_BYTES;
	uint8_t *out = NULL;

	for (;;) {
		size_t used_in = 0;
		size_t used_out = 0;
		lzma_ret status;

		out = seep_xrealloc(out, room, 1);
		status = lzma_stream_buffer_decode(&work_bytes, 0, NULL, in, &used_in, in_bytes,
						   out, &used_out, room);
		if (status == LZMA_OK) {
			*ret_out = out;
			*ret_out_bytes = used_out;
			return true;
		}
		if (status != LZMA_BUF_ERROR || used_in >= in_bytes || room >= XZ_OUT_MAX_BYTES)
			break;
		room = room < XZ_OUT_MAX_BYTES / 2 ? room * 2 : XZ_OUT_MAX_BYTES;
	}
	free(out);
	return false;
}
