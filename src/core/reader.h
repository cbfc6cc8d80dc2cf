/* SPDX-License-Identifier: MIT */
/*
 * Reading little-endian numbers and strings out of hostile bytes, DWARF and unwind data: past the
 * end everything is 0, and the reader remembers that it ran out, so that a caller checks once per
 * record. Lengths are compared with what is left, so that none can overflow a pointer.
 */
#ifndef SEEP_CORE_READER_H
#define SEEP_CORE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct core_reader {
	const uint8_t *at;
	const uint8_t *end;
	bool failed; /* something was asked for that is not there; for good */
};

static inline struct core_reader core_reader_of(const uint8_t *data, size_t bytes)
{
	static const uint8_t nothing[1];

	/* So that positions can be compared and added to: a null pointer may be neither. */
	if (!data)
		return (struct core_reader){ .at = nothing, .end = nothing };
	return (struct core_reader){ .at = data, .end = data + bytes };
}

static inline size_t core_reader_left(const struct core_reader *reader)
{
	return (size_t)(reader->end - reader->at);
}

/* Are there so many bytes? If not, there are none from here on. */
static inline bool core_reader_has(struct core_reader *reader, uint64_t bytes)
{
	if (__builtin_expect(bytes <= core_reader_left(reader), 1))
		return true;
	reader->at = reader->end;
	reader->failed = true;
	return false;
}

static inline bool core_read_skip(struct core_reader *reader, uint64_t bytes)
{
	if (!core_reader_has(reader, bytes))
		return false;
	reader->at += bytes;
	return true;
}

/* A load that may be unaligned, of up to 8 bytes. */
static inline uint64_t core_load(const uint8_t *at, size_t bytes)
{
	uint64_t value = 0;

	__builtin_memcpy(&value, at, bytes);
	return value;
}

/* @bytes up to 8. */
static inline uint64_t core_read_number(struct core_reader *reader, size_t bytes)
{
	if (bytes > sizeof(uint64_t) || !core_read_skip(reader, bytes))
		return 0;
	return core_load(reader->at - bytes, bytes);
}

static inline uint8_t core_read_byte(struct core_reader *reader)
{
	return (uint8_t)core_read_number(reader, 1);
}

/* The length with which units begin; @ret_offset_bytes: 4, or 8 in 64-bit DWARF. */
static inline uint64_t core_read_length(struct core_reader *reader, uint8_t *ret_offset_bytes)
{
	uint64_t bytes = core_read_number(reader, 4);

	*ret_offset_bytes = bytes == UINT32_MAX ? 8 : 4;
	return bytes == UINT32_MAX ? core_read_number(reader, 8) : bytes;
}

/* LEB128: numbers of seven bits a byte. */
enum { CORE_LEB_UNSIGNED = 0, CORE_LEB_SIGNED = 0x40 };

/* Passed in registers: a reader whose address escapes slows a loop over numbers by half. */
struct core_leb {
	uint64_t value; /* bits above 64 are dropped */
	const uint8_t
		*next; /* the byte after it; NULL: more than ten bytes, or cut off by the end */
};

/* The number at @at, of bytes before @end; @sign: is its last byte's second bit a sign? */
struct core_leb core_leb(const uint8_t *at, const uint8_t *end, uint8_t sign);

static inline uint64_t core_read_leb(struct core_reader *reader, uint8_t sign)
{
	struct core_leb leb = core_leb(reader->at, reader->end, sign);

	reader->at = leb.next ? leb.next : reader->end;
	reader->failed |= !leb.next;
	return leb.value;
}

static inline uint64_t core_read_uleb(struct core_reader *reader)
{
	if (reader->at < reader->end && *reader->at < 0x80)
		return *reader->at++;
	return core_read_leb(reader, CORE_LEB_UNSIGNED);
}

static inline int64_t core_read_sleb(struct core_reader *reader)
{
	return (int64_t)core_read_leb(reader, CORE_LEB_SIGNED);
}

/* A string that ends inside the bytes; "" otherwise. */
static inline const char *core_read_string(struct core_reader *reader)
{
	const uint8_t *from = reader->at;
	const uint8_t *end = memchr(from, 0, core_reader_left(reader));

	return core_read_skip(reader, end ? (uint64_t)(end - from) + 1 : UINT64_MAX)
		       ? (const char *)from
		       : "";
}

#endif
