/* SPDX-License-Identifier: MIT */
/* Bytes in the forms that other formats want: gzip files, base64, cells of CSV. */
#ifndef SEEP_BASE_ENCODE_H
#define SEEP_BASE_ENCODE_H

#include <stddef.h>
#include <stdio.h>
#include <string.h>

/*
 * Levels of zlib. The fast one's files are a fifth larger and made at eight times the speed; a page
 * of 100,000 stacks is an eighth larger and made at four times the speed.
 */
enum { SEEP_GZIP_FAST = 3, SEEP_GZIP_PAGE = 4, SEEP_GZIP_BEST = 9 };

/*
 * A stream of which all that is written to it, until fclose(), goes to @out as a gzip file, without
 * name or time. @out stays open, and its ferror() tells whether it took everything. Never fails.
 */
FILE *seep_gzip_open(FILE *out, int level) __attribute__((returns_nonnull));

/* @data in base64 (RFC 4648, padded), without line ends. */
void seep_base64_write(FILE *out, const void *data, size_t bytes);

/* What stands before the @text of a cell that a spreadsheet would take for a formula: "'", or "". */
static inline const char *seep_csv_guard(const char *text)
{
	return *text && strchr("=+-@\t\r", *text) ? "'" : "";
}

/* @text, or "" for NULL, as a quoted and guarded cell of CSV (RFC 4180), escaped as for a terminal. */
void seep_csv_write(FILE *out, const char *text);

#endif
