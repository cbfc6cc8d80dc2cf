/* SPDX-License-Identifier: MIT */
/* What an exporter writes of a profile made by hand, compared with what it should be. */
#ifndef SEEP_TESTS_EXPORT_CASE_H
#define SEEP_TESTS_EXPORT_CASE_H

#include "base/xalloc.h"
#include "export/export.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define CASE_UNUSED __attribute__((unused))

/* A new version of seep is no reason to write the expected files anew. */
static inline void hide_version(char *text)
{
	static const char version[] = "seep " SEEP_VERSION;
	char *found = strstr(text, version);

	assert_non_null(found);
	memcpy(found, "seep V", 6);
	memmove(found + 6, found + strlen(version), strlen(found + strlen(version)) + 1);
}

/* Release with free(). */
static inline char *exported(const struct seep_exporter *format, const struct seep_profile *profile,
			     int by, size_t *ret_bytes)
{
	const struct seep_view_options options = { .by = by };
	static char *text;
	FILE *out = open_memstream(&text, ret_bytes);

	assert_non_null(out);
	format->write(out, profile, &options);
	assert_int_equal(fclose(out), 0);
	return text;
}

static inline const struct seep_exporter *format_named(const char *name)
{
	for (size_t i = 0; i < SEEP_EXPORTER_COUNT; i++)
		if (strcmp(seep_exporters[i].name, name) == 0)
			return &seep_exporters[i];
	fail_msg("no format %s", name);
	return &seep_exporters[0];
}

/* The one gzip file in @packed, with a zero byte behind it. Release with free(). */
static CASE_UNUSED char *unpacked(char *packed, size_t bytes)
{
	z_stream stream = { .next_in = (Bytef *)packed, .avail_in = (uInt)bytes };
	size_t capacity = 0;
	char *text = NULL;
	int rc;

	assert_int_equal(inflateInit2(&stream, 15 + 16), Z_OK);
	do {
		text = seep_xgrow(text, &capacity, stream.total_out + (1 << 20), 1);
		stream.next_out = (Bytef *)text + stream.total_out;
		stream.avail_out = (uInt)(capacity - stream.total_out - 1);
		rc = inflate(&stream, Z_NO_FLUSH);
	} while (rc == Z_OK);
	assert_int_equal(rc, Z_STREAM_END);
	assert_int_equal(stream.avail_in, 0);
	text[stream.total_out] = '\0';
	(void)inflateEnd(&stream);
	free(packed);
	return text;
}

#endif
