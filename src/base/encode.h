/* SPDX-License-Identifier: MIT */
/* Bytes in the forms that other formats want: gzip files, base64, cells of CSV. */
#ifndef SEEP_BASE_ENCODE_H
#define SEEP_BASE_ENCODE_H

#include <stddef.h>
#include <stdio.h>

#include "base/xalloc.h"

/*
 * @data as a gzip file, without name or time, so that the same bytes give the same file. Release
 * with free(). Never fails.
 */
char *seep_gzip(const void *data, size_t bytes, size_t *ret_bytes) SEEP_RETURNS_MEMORY;

/*
 * A stream of which all that is written to it, until fclose(), goes to @out as a gzip file. @out
 * stays open, and its ferror() tells whether it took everything. Never fails.
 */
FILE *seep_gzip_open(FILE *out) __attribute__((returns_nonnull));

/* @data in base64 (RFC 4648, padded), without line ends. */
void seep_base64_write(FILE *out, const void *data, size_t bytes);

/* @text, or "" for NULL, as a quoted cell of CSV (RFC 4180), escaped as for a terminal. */
void seep_csv_write(FILE *out, const char *text);

#endif
