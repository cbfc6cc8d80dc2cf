/* SPDX-License-Identifier: MIT */
/*
 * The bytes of one file of the symbol cache. Numbers are little-endian, as the machines are that seep
 * runs on:
 *
 *	header
 *	addresses	u64 each, ascending
 *	firsts		u32 each, and one more: the first frame of each address
 *	frames		five u32 each: function, linkage name, file (offset in the texts + 1; 0 = none),
 *			line, flags
 *	texts		each ended by a zero
 */
#ifndef SEEP_SYMBOL_ANSWER_FILE_H
#define SEEP_SYMBOL_ANSWER_FILE_H

#include "symbol/elf_image.h"
#include "symbol/symbol.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	SEEP_ANSWER_FILE_VERSION = 1,
	SEEP_ANSWER_FRAMES_MAX = 256, /* at one address */
};

/* Of one file. */
#define SEEP_ANSWER_FILE_BYTES_MAX (64u << 20)

/* Whose answers they are. */
struct seep_answer_key {
	uint64_t program; /* see seep_answer_program() */
	uint8_t build_id[SEEP_BUILD_ID_MAX_BYTES];
	uint32_t build_id_bytes;
};

struct seep_answer_frame {
	uint32_t function;
	uint32_t linkage;
	uint32_t file;
	uint32_t line;
	uint32_t flags;
};

/* A file in memory that has been checked. Points into it. */
struct seep_answer_file {
	const uint64_t *addresses;
	const uint32_t *firsts;
	const struct seep_answer_frame *frames;
	const char *texts;
	uint32_t address_count;
};

/* An answer that is to be written. */
struct seep_answer {
	uint64_t address;
	const struct seep_symbol_frame *frames;
	uint32_t count;
};

/* Of this very program, by its build-id: another one may answer otherwise. */
uint64_t seep_answer_program(void);

/**
 * seep_answer_file_read - check @bytes at @data, aligned to 8
 *
 * Returns: false when it is anything but a whole file of this version for @key; afterwards every
 * number in it can be used without a look.
 */
bool seep_answer_file_read(const void *data, size_t bytes, const struct seep_answer_key *key,
			   struct seep_answer_file *ret_file);

/* The frames of address number @index, at most @frames_max; 0 when there are more. */
size_t seep_answer_file_frames(const struct seep_answer_file *file, uint32_t index,
			       struct seep_symbol_frame *frames, size_t frames_max);

/**
 * seep_answer_file_make - the bytes of a file
 * @answers:   ascending, none twice
 * @ret_bytes: how many
 *
 * Returns: the bytes, released with free(), or NULL when they would be too many.
 */
void *seep_answer_file_make(const struct seep_answer_key *key, const struct seep_answer *answers,
			    uint32_t count, size_t *ret_bytes);

#endif
