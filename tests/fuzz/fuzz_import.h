/* SPDX-License-Identifier: MIT */
/* What the fuzzers of importers share: one input, whole or compressed, and changes of lines. */
#ifndef SEEP_TESTS_FUZZ_IMPORT_H
#define SEEP_TESTS_FUZZ_IMPORT_H

#include "fuzz_common.h"

#include "base/encode.h"
#include "import/import.h"
#include "profile/context_hash.h"
#include "profile/profile.h"
#include "profile/profile_check.h"
#include "report/report.h"

#include <string.h>
#include <zstd.h>

enum { FUZZ_DECODED_MAX_BYTES = 4 << 20, FUZZ_NUMBER_BYTES = 24 };

/* Indexes in it lead to something, and a report can be made of it. */
static FUZZ_UNUSED void fuzz_use(struct seep_profile *profile)
{
	static FILE *nowhere;
	const struct seep_view_options view = { .by = SEEP_BY_CHOICE };

	seep_import_trim(profile);
	seep_profile_hash_contexts(profile);
	if (seep_profile_check(profile, NULL) < 0)
		abort();
	for (uint32_t i = 0; i < profile->frame_count; i++)
		if (profile->frames[i].module > profile->module_count)
			abort();
	for (uint32_t i = 0; i < profile->module_count; i++)
		if (!profile->modules[i].path)
			abort();
	for (uint32_t i = 0; i < profile->context_count; i++)
		for (uint32_t k = 0; k < profile->contexts[i].stack_count; k++)
			if (profile->contexts[i].stack[k].frame >= profile->frame_count)
				abort();
	if (!nowhere)
		nowhere = fopen("/dev/null", "w");
	seep_report_json(nowhere, profile, &view, false);
}

static FUZZ_UNUSED void fuzz_decoded(const struct seep_importer *importer, const void *data,
				     size_t size)
{
	struct seep_importer bounded = *importer;
	struct seep_profile *profile = NULL;
	struct seep_error err = { 0 };

	bounded.max_bytes = FUZZ_DECODED_MAX_BYTES;
	(void)seep_importer_detect(data, size);
	if (seep_import(&bounded, data, size, &profile, &err) == 0)
		fuzz_use(profile);
	else if (!*err.text || strchr(err.text, '\n'))
		abort();
	seep_profile_free(profile);
}

/* Some inputs are compressed first, and some of these damaged after that. */
static FUZZ_UNUSED int fuzz_import(const struct seep_importer *importer, const uint8_t *data,
				   size_t size)
{
	struct fuzz_random random = { fuzz_hash(data, size) };
	const uint64_t form = fuzz_below(&random, 16);
	size_t bytes = 0;
	char *packed = NULL;

	fuzz_begin();
	if (form > 3) {
		fuzz_decoded(importer, data, size);
	} else {
		if (form < 2) {
			FILE *out = open_memstream(&packed, &bytes);
			FILE *gzip = seep_gzip_open(out, SEEP_GZIP_BEST);

			(void)fwrite(data, 1, size, gzip);
			(void)fclose(gzip);
			(void)fclose(out);
		} else {
			bytes = ZSTD_compressBound(size);
			packed = malloc(bytes);
			bytes = ZSTD_compress(packed, bytes, data, size, 1);
		}
		if (form % 2)
			packed[fuzz_below(&random, bytes)] ^= (char)(1 << fuzz_below(&random, 8));
		if (fuzz_below(&random, 4) == 0)
			bytes -= fuzz_below(&random, bytes);
		fuzz_decoded(importer, packed, bytes);
		free(packed);
	}
	fuzz_end();
	return 0;
}

/* ---- changes of lines ------------------------------------------------------------------------ */

struct fuzz_line {
	size_t from, bytes; /* with its end */
};

static FUZZ_UNUSED struct fuzz_line fuzz_any_line(struct fuzz_random *random, const uint8_t *data,
						  size_t size)
{
	struct fuzz_line line = { .from = fuzz_below(random, size) };
	const uint8_t *end;

	while (line.from > 0 && data[line.from - 1] != '\n')
		line.from--;
	end = size ? memchr(data + line.from, '\n', size - line.from) : NULL;
	line.bytes = end ? (size_t)(end - data) + 1 - line.from : size - line.from;
	return line;
}

/* Put @bytes of @from in place of @gone at @at. Returns the new size; the old where it is too long. */
static FUZZ_UNUSED size_t fuzz_splice(uint8_t *data, size_t size, size_t max, size_t at,
				      size_t gone, const void *from, size_t bytes)
{
	if (size - gone + bytes > max)
		return size;
	memmove(data + at + bytes, data + at + gone, size - at - gone);
	memcpy(data + at, from, bytes);
	return size - gone + bytes;
}

/* Another number in place of one of the line's words. */
static FUZZ_UNUSED size_t fuzz_change_number(uint8_t *data, size_t size, size_t max,
					     struct fuzz_random *random, bool hex)
{
	const struct fuzz_line line = fuzz_any_line(random, data, size);
	size_t at = line.from + fuzz_below(random, line.bytes), end;
	char number[FUZZ_NUMBER_BYTES] = { 0 };
	uint64_t value;

	while (at > line.from && strchr(" :[]@-", data[at - 1]) == NULL)
		at--;
	for (end = at; end < line.from + line.bytes && strchr(" :[]@-\n", data[end]) == NULL;)
		end++;
	memcpy(number, data + at, end - at < sizeof(number) - 1 ? end - at : sizeof(number) - 1);
	value = strtoull(number, NULL, hex ? 16 : 10);
	(void)snprintf(number, sizeof(number), hex ? "%llx" : "%llu",
		       (unsigned long long)fuzz_word(random, value, 40));
	return fuzz_splice(data, size, max, at, end - at, number, strlen(number));
}

static FUZZ_UNUSED size_t fuzz_mutate_lines(uint8_t *data, size_t size, size_t max, unsigned seed,
					    bool hex)
{
	struct fuzz_random random = { seed };
	uint8_t copy[4096];

	for (uint64_t left = 1 + fuzz_below(&random, 3); left > 0 && size > 0; left--) {
		const struct fuzz_line a = fuzz_any_line(&random, data, size);
		const struct fuzz_line b = fuzz_any_line(&random, data, size);
		const size_t bytes = a.bytes < sizeof(copy) ? a.bytes : sizeof(copy);

		memcpy(copy, data + a.from, bytes);
		switch (fuzz_below(&random, 6)) {
		case 0:
			size = LLVMFuzzerMutate(data, size, max);
			break;
		case 1:
			size = fuzz_splice(data, size, max, b.from, 0, copy, bytes);
			break;
		case 2:
			size = fuzz_splice(data, size, max, b.from, b.bytes, copy, bytes);
			break;
		case 3:
			size = fuzz_splice(data, size, max, a.from, a.bytes, "", 0);
			break;
		default:
			size = fuzz_change_number(data, size, max, &random, hex);
		}
	}
	return size;
}

#endif
