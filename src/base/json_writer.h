/* SPDX-License-Identifier: MIT */
/*
 * Writes JSON as a stream: nothing is kept but the open brackets. The first two levels get a line
 * per value, what is deeper stays on its line, so that one context is one line.
 *
 * Text is UTF-8 as the JSON standard wants it. Bytes that are not (paths, argv and names may hold
 * any) are written as the four characters \xNN; so that this can be undone, a backslash before an
 * "x" is written as \x5c. See docs/json.md.
 */
#ifndef SEEP_BASE_JSON_WRITER_H
#define SEEP_BASE_JSON_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { SEEP_JSON_DEPTH_MAX = 32 };

/* Use only through the functions. */
struct seep_json {
	FILE *out;
	bool strings; /* 64-bit numbers as decimal strings */
	unsigned depth;
	char close[SEEP_JSON_DEPTH_MAX];   /* the bracket that ends each level */
	bool started[SEEP_JSON_DEPTH_MAX]; /* a value was written at this level */
};

/*
 * @strings: numbers that may pass 2^53 are written as strings, for JavaScript.
 * End it by seep_json_finish(), or by free() where the rest is not to be written.
 */
struct seep_json *seep_json_new(FILE *out, bool strings) __attribute__((returns_nonnull));

/* Open the document's object, with its member "seep": this version and the promised keys'. */
void seep_json_open_document(struct seep_json *json, const char *key);

/*
 * Close what is open, hand everything to the stream, whose ferror() tells whether all was written,
 * and release @json.
 */
void seep_json_finish(struct seep_json *json);

/* In all of these @key is the member's name, or NULL in an array and at the top. */
void seep_json_open_object(struct seep_json *json, const char *key);
void seep_json_open_array(struct seep_json *json, const char *key);
/* The object where it is @known; else null, and false. */
bool seep_json_open_known(struct seep_json *json, const char *key, bool known);
/* Close what was opened last. */
void seep_json_close(struct seep_json *json);

/*
 * The condition of a loop over @count items, from 0 on and without a break, whose body writes what
 * belongs into the array @key: opens it before the first and closes it behind the last.
 *
 *	for (size_t i = 0; seep_json_each(json, "pids", i, count); i++)
 *		seep_json_int(json, NULL, pids[i]);
 */
bool seep_json_each(struct seep_json *json, const char *key, size_t i, size_t count);
/* The same of an array of objects, one for each item: the body writes its members. */
bool seep_json_each_object(struct seep_json *json, const char *key, size_t i, size_t count);

/* @value: JSON already. */
void seep_json_raw(struct seep_json *json, const char *key, const char *value);
void seep_json_null(struct seep_json *json, const char *key);
void seep_json_bool(struct seep_json *json, const char *key, bool value);
/* Always a number; for what is small by nature (a pid, a line, a signal). */
void seep_json_int(struct seep_json *json, const char *key, int64_t value);
/* A count, bytes, nanoseconds, an address: exact, or a string. */
void seep_json_u64(struct seep_json *json, const char *key, uint64_t value);
/* @text NULL: null. */
void seep_json_text(struct seep_json *json, const char *key, const char *text);
/* The same of text, not NULL, that may have bytes of zero. */
void seep_json_bytes(struct seep_json *json, const char *key, const char *text, size_t bytes);
/* The same of text, not NULL, that is escaped for terminals already: a backslash is one. */
void seep_json_escaped(struct seep_json *json, const char *key, const char *text);
/* Bytes as lower-case hexadecimal digits; null when @bytes is 0. */
void seep_json_hex(struct seep_json *json, const char *key, const uint8_t *data, size_t bytes);
/* Sixteen hexadecimal digits. */
void seep_json_hash(struct seep_json *json, const char *key, uint64_t hash);

#endif
