/* SPDX-License-Identifier: MIT */
/*
 * Reading little-endian numbers and strings out of hostile bytes: past the end everything is 0,
 * and the reader remembers that it ran out, so that a caller checks once per record.
 */
#ifndef SEEP_SYMBOL_BYTE_READER_H
#define SEEP_SYMBOL_BYTE_READER_H

#include "core/leb.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct byte_reader {
	const uint8_t *at;
	const uint8_t *end;
	bool failed; /* something was asked for that is not there */
};

static inline struct byte_reader reader_of(const uint8_t *data, size_t bytes)
{
	static const uint8_t nothing[1];

	/* So that positions can be compared and added to: a null pointer may be neither. */
	if (!data)
		return (struct byte_reader){ .at = nothing, .end = nothing };
	return (struct byte_reader){ .at = data, .end = data + bytes };
}

static inline size_t reader_left(const struct byte_reader *reader)
{
	return (size_t)(reader->end - reader->at);
}

static inline bool reader_skip(struct byte_reader *reader, uint64_t bytes)
{
	if (bytes > reader_left(reader)) {
		reader->at = reader->end;
		reader->failed = true;
		return false;
	}
	reader->at += bytes;
	return true;
}

/* @bytes up to 8. */
static inline uint64_t reader_number(struct byte_reader *reader, size_t bytes)
{
	const uint8_t *from = reader->at;
	uint64_t value = 0;

	if (bytes > sizeof(value) || !reader_skip(reader, bytes))
		return 0;
	memcpy(&value, from, bytes);
	return value;
}

static inline uint8_t reader_byte(struct byte_reader *reader)
{
	return (uint8_t)reader_number(reader, 1);
}

/* The length with which units begin; @ret_offset_bytes: 4, or 8 in 64-bit DWARF. */
static inline uint64_t reader_length(struct byte_reader *reader, uint8_t *ret_offset_bytes)
{
	uint64_t bytes = reader_number(reader, 4);

	*ret_offset_bytes = bytes == UINT32_MAX ? 8 : 4;
	return bytes == UINT32_MAX ? reader_number(reader, 8) : bytes;
}

static inline uint64_t reader_leb(struct byte_reader *reader, uint8_t sign)
{
	struct core_leb leb = core_leb((uintptr_t)reader->at, (uintptr_t)reader->end, sign);

	reader->at = leb.next ? (const uint8_t *)leb.next : reader->end;
	reader->failed |= !leb.next;
	return leb.value;
}

static inline uint64_t reader_uleb(struct byte_reader *reader)
{
	return reader_leb(reader, CORE_LEB_UNSIGNED);
}

static inline int64_t reader_sleb(struct byte_reader *reader)
{
	return (int64_t)reader_leb(reader, CORE_LEB_SIGNED);
}

/* A string that ends inside the bytes; "" otherwise. */
static inline const char *reader_string(struct byte_reader *reader)
{
	const uint8_t *from = reader->at;
	const uint8_t *end = reader_left(reader) ? memchr(from, 0, reader_left(reader)) : NULL;

	if (!end) {
		reader->at = reader->end;
		reader->failed = true;
		return "";
	}
	reader->at = end + 1;
	return (const char *)from;
}

#endif
