/* SPDX-License-Identifier: MIT */
/* Locale-free formatting of whole numbers only. */
#include "base/json_writer.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/terminal.h"
#include "base/xalloc.h"

enum {
	SCHEMA = 3,	      /* of the promise in docs/json.md */
	DEPTH_WITH_LINES = 2, /* levels up to this one have a line per value */
};

static void put(struct seep_json *json, const char *data, size_t bytes)
{
	(void)fwrite_unlocked(data, 1, bytes, json->out);
}

static void puts_raw(struct seep_json *json, const char *text)
{
	put(json, text, strlen(text));
}

static void new_line(struct seep_json *json)
{
	puts_raw(json, "\n");
	for (unsigned i = 0; i < json->depth; i++)
		puts_raw(json, " ");
}

static void put_byte_escape(struct seep_json *json, const char *prefix, unsigned byte)
{
	static const char hex_digits[] = "0123456789abcdef";

	puts_raw(json, prefix);
	put(json, &hex_digits[byte >> 4 & 15], 1);
	put(json, &hex_digits[byte & 15], 1);
}

/* One character that cannot stand for itself. */
static void put_escaped(struct seep_json *json, unsigned code, bool x_follows)
{
	if (code == '"')
		puts_raw(json, "\\\"");
	else if (code == '\\')
		puts_raw(json, x_follows ? "\\\\x5c" : "\\\\");
	else if (code == '\n')
		puts_raw(json, "\\n");
	else if (code == '\t')
		puts_raw(json, "\\t");
	else {
		/* None of those beyond 16 bits needs it. */
		put_byte_escape(json, "\\u", code >> 8);
		put_byte_escape(json, "", code);
	}
}

static void put_text(struct seep_json *json, const char *text, size_t text_bytes, bool is_escaped)
{
	const char *plain = text; /* start of what needs nothing */
	const char *end = text + text_bytes;

	puts_raw(json, "\"");
	while (text < end) {
		unsigned code = 0;
		const size_t bytes = seep_utf8_decode(text, (size_t)(end - text), &code);

		/* Some that JSON lets stand a terminal should not meet. */
		if (bytes > 0 && code != '"' && code != '\\' && !seep_utf8_is_unsafe(code)) {
			text += bytes;
			continue;
		}
		put(json, plain, (size_t)(text - plain));
		if (bytes == 0)
			put_byte_escape(json, "\\\\x", (unsigned char)*text);
		else
			put_escaped(json, code, !is_escaped && text[1] == 'x');
		text += bytes > 0 ? bytes : 1;
		plain = text;
	}
	put(json, plain, (size_t)(text - plain));
	puts_raw(json, "\"");
}

/* What comes before any value: separator, line, name. */
static void begin_value(struct seep_json *json, const char *key)
{
	if (json->depth > 0) {
		if (json->started[json->depth - 1])
			puts_raw(json, ",");
		json->started[json->depth - 1] = true;
		if (json->depth <= DEPTH_WITH_LINES)
			new_line(json);
	}
	if (key == NULL)
		return;
	put_text(json, key, strlen(key), false);
	puts_raw(json, ":");
}

static void open_level(struct seep_json *json, const char *key, const char *open, char close)
{
	assert(json->depth < SEEP_JSON_DEPTH_MAX);
	begin_value(json, key);
	puts_raw(json, open);
	json->close[json->depth] = close;
	json->started[json->depth] = false;
	json->depth++;
}

struct seep_json *seep_json_new(FILE *out, bool strings)
{
	struct seep_json *json = seep_xcalloc(1, sizeof(*json));

	json->out = out;
	json->strings = strings;
	return json;
}

void seep_json_finish(struct seep_json *json)
{
	while (json->depth > 0)
		seep_json_close(json);
	puts_raw(json, "\n");
	(void)fflush(json->out);
	free(json);
}

void seep_json_open_object(struct seep_json *json, const char *key)
{
	open_level(json, key, "{", '}');
}

void seep_json_open_array(struct seep_json *json, const char *key)
{
	open_level(json, key, "[", ']');
}

void seep_json_close(struct seep_json *json)
{
	assert(json->depth > 0);
	json->depth--;
	if (json->started[json->depth] && json->depth < DEPTH_WITH_LINES)
		new_line(json);
	put(json, &json->close[json->depth], 1);
}

bool seep_json_each(struct seep_json *json, const char *key, size_t i, size_t count)
{
	if (i == 0)
		seep_json_open_array(json, key);
	if (i == count)
		seep_json_close(json);
	return i < count;
}

bool seep_json_each_object(struct seep_json *json, const char *key, size_t i, size_t count)
{
	if (i > 0)
		seep_json_close(json);
	if (!seep_json_each(json, key, i, count))
		return false;
	seep_json_open_object(json, NULL);
	return true;
}

void seep_json_open_document(struct seep_json *json, const char *key)
{
	seep_json_open_object(json, key);
	seep_json_open_object(json, "seep");
	seep_json_text(json, "version", SEEP_VERSION);
	seep_json_int(json, "schema", SCHEMA);
	seep_json_close(json);
}

void seep_json_raw(struct seep_json *json, const char *key, const char *value)
{
	begin_value(json, key);
	puts_raw(json, value);
}

void seep_json_null(struct seep_json *json, const char *key)
{
	seep_json_raw(json, key, "null");
}

bool seep_json_open_known(struct seep_json *json, const char *key, bool known)
{
	if (known)
		seep_json_open_object(json, key);
	else
		seep_json_null(json, key);
	return known;
}

void seep_json_bool(struct seep_json *json, const char *key, bool value)
{
	seep_json_raw(json, key, value ? "true" : "false");
}

static void put_digits(struct seep_json *json, uint64_t value)
{
	char digits[20];
	size_t at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + value % 10);
		value /= 10;
	} while (value > 0);
	put(json, digits + at, sizeof(digits) - at);
}

void seep_json_int(struct seep_json *json, const char *key, int64_t value)
{
	begin_value(json, key);
	if (value < 0)
		puts_raw(json, "-");
	put_digits(json, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

void seep_json_u64(struct seep_json *json, const char *key, uint64_t value)
{
	begin_value(json, key);
	if (json->strings)
		puts_raw(json, "\"");
	put_digits(json, value);
	if (json->strings)
		puts_raw(json, "\"");
}

void seep_json_text(struct seep_json *json, const char *key, const char *text)
{
	if (text == NULL)
		seep_json_null(json, key);
	else
		seep_json_bytes(json, key, text, strlen(text));
}

void seep_json_bytes(struct seep_json *json, const char *key, const char *text, size_t bytes)
{
	begin_value(json, key);
	put_text(json, text, bytes, false);
}

void seep_json_escaped(struct seep_json *json, const char *key, const char *text)
{
	begin_value(json, key);
	put_text(json, text, strlen(text), true);
}

void seep_json_hex(struct seep_json *json, const char *key, const uint8_t *data, size_t bytes)
{
	if (bytes == 0) {
		seep_json_null(json, key);
		return;
	}
	begin_value(json, key);
	puts_raw(json, "\"");
	for (size_t i = 0; i < bytes; i++)
		put_byte_escape(json, "", data[i]);
	puts_raw(json, "\"");
}

void seep_json_hash(struct seep_json *json, const char *key, uint64_t hash)
{
	uint8_t bytes[8];

	for (unsigned i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(hash >> (56 - 8 * i));
	seep_json_hex(json, key, bytes, sizeof(bytes));
}
