/* SPDX-License-Identifier: MIT */
/* The lines of a text that is decoded piece by piece: none is kept but the present one. */
#ifndef SEEP_IMPORT_LINE_READER_H
#define SEEP_IMPORT_LINE_READER_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct seep_decoder;

/* The longest line. */
#define SEEP_LINE_READER_MAX_BYTES (4u << 20)

struct seep_line_reader {
	struct seep_decoder *source; /* to be set; all else zeroed */
	const char *line;	     /* with a zero in place of its end */
	size_t bytes;
	uint64_t number; /* of the line, from 1 */
	/* The rest is the reader's own. */
	char *buffer;
	size_t next, end, capacity;
	bool source_ended;
};

void seep_line_reader_done(struct seep_line_reader *reader);

/**
 * seep_line_next - read one line
 * @ret_any: false at the end
 *
 * Returns: 0, or the errors of seep_decoder_read(), or -SEEP_ELIMIT: the line is too long.
 */
SEEP_NODISCARD int seep_line_next(struct seep_line_reader *reader, bool *ret_any,
				  struct seep_error *err);

/*
 * The present line is of @bytes at least: an end of line before that is part of it. It may move.
 * -SEEP_ETRUNC where there is less.
 */
SEEP_NODISCARD int seep_line_extend(struct seep_line_reader *reader, size_t bytes,
				    struct seep_error *err);

/* How many bytes the source has given so far, those of later lines too. */
uint64_t seep_line_given(const struct seep_line_reader *reader);

/* -SEEP_ECORRUPT with the sentence "line N: WHAT". */
int seep_line_wrong(const struct seep_line_reader *reader, const char *what,
		    struct seep_error *err);

/*
 * The number at **@at, behind blanks, in hexadecimal digits (after "0x" or not) or decimal ones;
 * *@at is moved behind it. False: there is none, or it has more than 64 bits.
 */
bool seep_line_hex(const char **at, uint64_t *ret);
bool seep_line_decimal(const char **at, uint64_t *ret);

#endif
