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
	struct seep_decoder *source; /* to be set with err; all else zeroed */
	struct seep_error *err;
	char *line;	 /* with a zero in place of its end */
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
SEEP_NODISCARD int seep_line_next(struct seep_line_reader *reader, bool *ret_any);

/* Fails with @code and the sentence "line N: WHAT". */
int seep_line_fail(const struct seep_line_reader *reader, enum seep_code code, const char *what);

/*
 * The number at **@at, behind blanks, in hexadecimal digits (after "0x" or not) or decimal ones;
 * *@at is moved behind it. False: there is none, or it has more than 64 bits.
 */
bool seep_line_hex(char **at, uint64_t *ret);
bool seep_line_decimal(char **at, uint64_t *ret);

#endif
