/* SPDX-License-Identifier: MIT */
/* Importers of text, detection, and what all importers share. */
#include "import/import.h"

#include "base/encode.h"
#include "profile/context_hash.h"
#include "profile/profile.h"
#include "unit.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define HEAP_V2(figures)                                                                       \
	"heap_v2/524288\n  t*: 9: 9 [9: 9]\n@ 0x1010 0x2020 0x9999\n  t*: " figures            \
	"\n  t0: 1: 1 [1: 1]\n\nMAPPED_LIBRARIES:\n"                                           \
	"1000-1fff rw-p 0 00:00 1 /bin/a\n1000-2000 r-xp 00000400 00:00 1  /bin/a (deleted)\n" \
	"2000-3000 r-xp 00000000 00:00 2 /lib/b c.so\n"

#define TRACK_HEAD                                                                      \
	"v 10400 3\nX ./a b\nI 1000 10\ns 6 /bin/a\ns 1b operator new(unsigned long)\n" \
	"s 4 walk\ns 3 a.c\ns 4 help\n"                                                 \
	"i 10 1 3 4 5\ni 11 1 5 4 7 3 4 8\ni 12 1 2\nt 1 0\nt 2 1\nt 3 2\na 10 3\na 64 1\n"

static struct seep_profile *profile;
static struct seep_error err;

static int teardown(void **state)
{
	(void)state;
	seep_profile_free(profile);
	profile = NULL;
	return 0;
}

static int import(const struct seep_importer *importer, const char *text)
{
	memset(&err, 0, sizeof(err));
	seep_profile_free(profile);
	profile = NULL;
	return seep_import(importer, text, strlen(text), &profile, &err);
}

static void good(const struct seep_importer *importer, const char *text)
{
	if (import(importer, text) != 0)
		fail_msg("%s", err.text);
	/* No recursion is folded: it would be in the hash. */
	for (uint32_t i = 0; i < profile->context_count; i++)
		for (uint32_t k = 0; k < profile->contexts[i].stack_count; k++) {
			assert_int_equal(profile->contexts[i].stack[k].period, 0);
			assert_int_equal(profile->contexts[i].stack[k].repeats, 0);
		}
}

struct bad {
	const char *text;
	int code;
	const char *sentence;
};

static void check_bad(const struct seep_importer *importer, const struct bad *bad, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const int r = import(importer, bad[i].text);

		if (r != -bad[i].code || !strstr(err.text, bad[i].sentence))
			fail_msg("%d, %s, in place of %s", r, err.text, bad[i].sentence);
		assert_null(profile);
	}
}

#define CHECK_BAD(importer, bad) check_bad(importer, bad, sizeof(bad) / sizeof((bad)[0]))

/* ---- jemalloc ------------------------------------------------------------------------------ */

TEST_WITH(NULL, samples_are_scaled_as_jeprof_does_it, teardown)
{
	const struct seep_profile_context *context;

	/* 3 blocks of 100,000 bytes: 1 / (1 - exp(-100000 / 524288)) is 5.7588. */
	good(&seep_import_jemalloc, HEAP_V2("3: 300000 [30: 60000000]"));
	assert_int_equal(profile->context_count, 1);
	context = &profile->contexts[0];
	assert_int_equal(context->live_blocks, 17);
	assert_int_equal(context->live_bytes, 1727629);
	assert_int_equal(context->allocs, 31);
	assert_int_equal(context->alloc_bytes, 61352478);
	assert_int_equal(profile->totals.live_bytes, context->live_bytes);
	assert_true(seep_profile_says(profile, "sampled"));
	assert_false(seep_profile_knows(profile, "peak_bytes"));
}

TEST_WITH(NULL, addresses_are_places_in_the_files_that_were_mapped, teardown)
{
	const struct seep_profile_frame *frames;

	good(&seep_import_jemalloc, HEAP_V2("3: 300000 [10: 20000000]"));
	frames = profile->frames;
	assert_int_equal(profile->module_count, 2);
	assert_string_equal(profile->modules[0].path, "/bin/a");
	assert_string_equal(profile->modules[1].path, "/lib/b c.so");
	assert_string_equal(profile->process.exe, "/bin/a");
	assert_true(frames[0].module == 1 && frames[0].address == 0x410);
	assert_true(frames[1].module == 2 && frames[1].address == 0x20);
	assert_true(frames[2].module == 0 && frames[2].address == 0x9999);
	assert_true(profile->modules[0].by_place);
}

TEST_WITH(NULL, more_live_than_allocated_is_mended_and_told, teardown)
{
	good(&seep_import_jemalloc, HEAP_V2("10: 10000000 [1: 9000000]"));
	assert_int_equal(profile->contexts[0].frees, 0);
	assert_int_equal(profile->contexts[0].alloc_bytes, profile->contexts[0].live_bytes);
	assert_true(seep_profile_says(profile, "mended"));
	good(&seep_import_jemalloc, HEAP_V2("10: 10000000 [0: 0]"));
	assert_false(seep_profile_knows(profile, "allocs"));
	assert_true(seep_profile_knows(profile, "live_bytes"));
	assert_false(seep_profile_says(profile, "mended"));
}

TEST_WITH(NULL, text_of_tcmalloc_is_exact_unless_it_says_a_period, teardown)
{
	static const char maps[] = "\nMAPPED_LIBRARIES:\n";
	char text[256];

	(void)snprintf(text, sizeof(text),
		       "heap profile: 1: 8 [2: 9] @ heapprofile\n"
		       "  1:  8 [ 2: 9] @ 0x10 0x20\n%s",
		       maps);
	good(&seep_import_jemalloc, text);
	assert_int_equal(profile->totals.alloc_bytes, 9);
	assert_false(seep_profile_says(profile, "sampled"));
	(void)snprintf(text, sizeof(text),
		       "heap profile: 1: 8 [2: 9] @ heap_v2/1000\n"
		       "1: 100 [1: 100] @ 0x10 0x20\n%s",
		       maps);
	good(&seep_import_jemalloc, text);
	assert_int_equal(profile->totals.live_blocks, 11);
	assert_int_equal(profile->totals.live_bytes, 1051);
}

TEST_WITH(NULL, damaged_text_of_jemalloc_is_refused_with_its_line, teardown)
{
	static const struct bad bad[] = {
		{ "", SEEP_ETRUNC, "its end is missing" },
		{ "heap_v2/\n", SEEP_ECORRUPT, "line 1: no number" },
		{ "heap_v2/1\n@ 0x1\n", SEEP_ETRUNC, "MAPPED_LIBRARIES" },
		{ "heap_v2/1\n@ 0x1 zz\n", SEEP_ECORRUPT, "line 2: a call stack" },
		{ "heap_v2/1\n@ 0x11112222333344445\n", SEEP_ECORRUPT, "line 2: a call stack" },
		{ "heap_v2/1\n@ 1\n t*: 1: 2 [3]\n", SEEP_ECORRUPT, "line 3: neither" },
		{ "heap_v2/1\n@ 1\n t*: -1: 2 [3: 4]\n", SEEP_ECORRUPT, "line 3: neither" },
		{ "heap_v2/1\nhello\n", SEEP_ECORRUPT, "line 2: neither" },
		{ HEAP_V2("1: 0 [1: 0]"), SEEP_ECORRUPT, "line 4: its samples" },
		{ HEAP_V2("18446744073709551615: 1 [0: 0]"), SEEP_ECORRUPT, "line 4: its samples" },
		{ HEAP_V2("18446744073709551616: 1 [0: 0]"), SEEP_ECORRUPT, "line 4: neither" },
		{ "heap profile: x\n", SEEP_ECORRUPT, "line 1: no figures" },
		{ "heap profile: 1: 1 [1: 1] @ heap/5\n", SEEP_EUNSUPPORTED, "neither" },
		{ "heap profile: 1: 1 [1: 1] @ heapprofile\n1: 1 [1: 1]\n", SEEP_ECORRUPT,
		  "line 2: figures without" },
		{ "heap_v2/0\n@ 1\n t*: 9223372036854775808: 18446744073709551615 [0: 0]\n"
		  "@ 2\n t*: 9223372036854775808: 2 [0: 0]\nMAPPED_LIBRARIES:\n",
		  SEEP_ELIMIT, "over 2^64" },
	};

	CHECK_BAD(&seep_import_jemalloc, bad);
}

/* ---- heaptrack ----------------------------------------------------------------------------- */

TEST_WITH(NULL, the_peak_is_a_cut_through_all_contexts, teardown)
{
	const struct seep_profile_context *c;

	good(&seep_import_heaptrack,
	     TRACK_HEAD "+ 0\n+ 1\nc a\nR 5\n+ 1\n- 0\n- 1\nc 14\n+ 0\n- 0\nR 2\nc 1e\n");
	c = profile->contexts;
	assert_int_equal(profile->context_count, 2);
	assert_int_equal(profile->totals.peak_bytes, 16 + 200);
	assert_int_equal(profile->totals.peak_at_ns, 10000000);
	assert_true(c[0].peak_blocks == 1 && c[0].peak_bytes == 16);
	assert_true(c[1].peak_blocks == 2 && c[1].peak_bytes == 200);
	assert_true(c[0].allocs == 2 && c[0].frees == 2 && c[1].live_bytes == 100);
	assert_int_equal(c[0].temporary, 1);
	assert_true(c[0].first_ns == 0 && profile->process.end_ns == 30000000);
	assert_int_equal(profile->process.peak_rss_bytes, 5 * 4096);
	assert_int_equal(profile->totals.histogram[5], 2);
	assert_int_equal(profile->totals.histogram[7], 2);
	assert_int_equal(profile->sample_count, 4);
	assert_int_equal(profile->timeline[1].live_bytes, 100);
	assert_true(seep_profile_knows(profile, "peak_bytes"));
	assert_true(seep_profile_knows(profile, "temporary"));
	assert_false(seep_profile_knows(profile, "temporary_bytes"));
	assert_false(seep_profile_knows(profile, "threads"));
}

/* As our own export does, and heaptrack's readers take it. */
TEST_WITH(NULL, a_free_of_no_bytes_parts_an_allocation_from_its_free, teardown)
{
	good(&seep_import_heaptrack,
	     TRACK_HEAD "a 0 3\n+ 2\n+ 0\n- 2\n- 0\n+ 0\n- 2\n- 0\n+ 0\n- 0\nc 1e\n");
	assert_true(profile->totals.allocs == 4 && profile->totals.frees == 4);
	assert_int_equal(profile->totals.temporary, 1);
	assert_true(profile->totals.live_blocks == 0 && profile->totals.live_bytes == 0);
}

TEST_WITH(NULL, stacks_begin_at_the_caller_of_the_allocation_function, teardown)
{
	const struct seep_profile_context *c;

	good(&seep_import_heaptrack, TRACK_HEAD "+ 0\n+ 1\n");
	seep_import_trim(profile);
	c = profile->contexts;
	assert_int_equal(c[0].kind, LEDGER_KIND_NEW);
	assert_int_equal(c[0].stack_count, 3);
	assert_string_equal(profile->frames[c[0].stack[0].frame].function, "help");
	assert_true(profile->frames[c[0].stack[0].frame].inlined);
	assert_false(profile->frames[c[0].stack[1].frame].inlined);
	assert_int_equal(profile->frames[c[0].stack[1].frame].line, 8);
	assert_int_equal(c[1].kind, LEDGER_KIND_MALLOC);
	assert_string_equal(profile->process.exe, "./a");
	assert_true(profile->frames[c[1].stack[0].frame].module == 1);
}

TEST_WITH(NULL, strings_are_as_long_as_they_say, teardown)
{
	good(&seep_import_heaptrack, "v 10400 3\ns 3 a b\ni 1 1\nt 1 0\na 1 1\n+ 0");
	assert_string_equal(profile->modules[0].path, "a b");
	good(&seep_import_heaptrack, "v 10300 2\ns 3 a b\ni 1 1\nt 1 0\na 1 1\n+ 0");
	assert_string_equal(profile->modules[0].path, "3 a b");
}

TEST_WITH(NULL, a_long_timeline_is_thinned, teardown)
{
	char *text = malloc(1 << 20);
	size_t at = (size_t)sprintf(text, "v 10400 3\n");

	for (unsigned i = 1; i <= 50000; i++)
		at += (size_t)sprintf(text + at, "c %x\n", i);
	good(&seep_import_heaptrack, text);
	assert_in_range(profile->sample_count, 1024, 8192);
	assert_int_equal(profile->timeline[profile->sample_count - 1].at_ns, 50000000000);
	for (uint32_t i = 1; i < profile->sample_count; i++)
		assert_true(profile->timeline[i].at_ns >= profile->timeline[i - 1].at_ns);
	free(text);
}

TEST_WITH(NULL, damaged_files_of_heaptrack_are_refused_with_their_line, teardown)
{
	static const struct bad bad[] = {
		{ "I 1000 1\n", SEEP_ECORRUPT, "line 1: there is no version" },
		{ "v 10000 1\n", SEEP_EUNSUPPORTED, "another format" },
		{ "v 10400 4\n", SEEP_EUNSUPPORTED, "another format" },
		{ "v 10400 3\nx 4 /a/b\n", SEEP_EUNSUPPORTED, "heaptrack_interpret" },
		{ "v 10400 3\n?\n", SEEP_ECORRUPT, "line 2: it begins" },
		{ "v 10400 3\n\xff\n", SEEP_ECORRUPT, "line 2: it begins" },
		{ "v 10400 3\ns\n", SEEP_ECORRUPT, "line 2: a string" },
		{ "v 10400 3\ns ffffffffffffffff a\n", SEEP_ECORRUPT, "line 2: a string" },
		{ "v 10400 3\ns 3 a\nb\n", SEEP_ECORRUPT, "line 2: a string" },
		{ "v 10400 3\ni 1 1\n", SEEP_ECORRUPT, "line 2: an instruction" },
		{ "v 10400 3\ni 1 0 1\n", SEEP_ECORRUPT, "line 2: a function without its" },
		{ "v 10400 3\ns 1 a\ni 1 0 1 1\n", SEEP_ECORRUPT,
		  "line 3: a function without its" },
		{ "v 10400 3\nt 1 0\n", SEEP_ECORRUPT, "line 2: a trace through" },
		{ "v 10400 3\ni 1 0\nt 1 1\n", SEEP_ECORRUPT, "line 3: a trace whose caller" },
		{ "v 10400 3\na 1 1\n", SEEP_ECORRUPT, "line 2: an allocation" },
		{ "v 10400 3\n+ 0\n", SEEP_ECORRUPT, "line 2: \"+\"" },
		{ TRACK_HEAD "- 0\n", SEEP_ECORRUPT, "line 17: \"-\"" },
		{ TRACK_HEAD "+ 0\n- 0\n- 0\n", SEEP_ECORRUPT, "line 19: \"-\"" },
		{ TRACK_HEAD "c 5\nc 4\n", SEEP_ECORRUPT, "line 18: the time" },
		{ TRACK_HEAD "c ffffffffffffffff\n", SEEP_ECORRUPT, "line 17: the time" },
		{ TRACK_HEAD "R\n", SEEP_ECORRUPT, "line 17: no number" },
		{ TRACK_HEAD "R ffffffffffffffff\n", SEEP_ECORRUPT, "line 17: no number" },
		{ TRACK_HEAD "a ffffffffffffffff 1\n+ 2\n+ 2\n", SEEP_ECORRUPT, "line 19: more" },
	};

	CHECK_BAD(&seep_import_heaptrack, bad);
}

/* ---- what is compressed, and which format it is ---------------------------------------------- */

TEST_WITH(NULL, an_empty_file_is_no_log, teardown)
{
	assert_int_equal(import(&seep_import_heaptrack, ""), -SEEP_ETRUNC);
	assert_string_equal(err.text, "it is empty");
}

TEST_WITH(NULL, a_line_without_an_end_is_refused, teardown)
{
	const size_t bytes = 5 << 20;
	char *text = malloc(bytes + 1);

	memset(text, 'a', bytes);
	memcpy(text, "v 10400 3\n#", 11);
	text[bytes] = '\0';
	assert_int_equal(import(&seep_import_heaptrack, text), -SEEP_ELIMIT);
	assert_non_null(strstr(err.text, "line 2: it is longer than 4 MB"));
	free(text);
}

TEST_WITH(NULL, compressed_files_are_read_and_their_damage_is_told, teardown)
{
	const char *text = HEAP_V2("3: 300000 [10: 20000000]");
	const size_t bytes = strlen(text);
	size_t packed_bytes[2];
	char *packed[2] = { NULL, malloc(4096) };
	FILE *out = open_memstream(&packed[0], &packed_bytes[0]);
	FILE *gzip = seep_gzip_open(out, SEEP_GZIP_BEST);
	struct seep_importer small = seep_import_jemalloc;

	(void)fwrite(text, 1, bytes, gzip);
	(void)fclose(gzip);
	(void)fclose(out);
	packed_bytes[1] = ZSTD_compress(packed[1], 4096, text, bytes, 3);
	for (int i = 0; i < 2; i++) {
		const struct seep_importer *found = seep_importer_detect(packed[i],
									 packed_bytes[i]);

		assert_ptr_equal(found, &seep_import_jemalloc);
		seep_profile_free(profile);
		profile = NULL;
		assert_int_equal(seep_import(found, packed[i], packed_bytes[i], &profile, &err), 0);
		assert_int_equal(profile->context_count, 1);
		seep_profile_free(profile);
		profile = NULL;
		assert_int_equal(seep_import(found, packed[i], packed_bytes[i] - 5, &profile, &err),
				 -SEEP_ETRUNC);
		small.max_bytes = bytes - 1;
		assert_int_equal(seep_import(&small, packed[i], packed_bytes[i], &profile, &err),
				 -SEEP_ELIMIT);
		packed[i][packed_bytes[i] / 2] ^= 0x55;
		assert_true(seep_import(found, packed[i], packed_bytes[i], &profile, &err) < 0);
		assert_null(profile);
		free(packed[i]);
	}
}

TEST_WITH(NULL, a_format_is_known_by_its_first_bytes, teardown)
{
	static const struct {
		const char *bytes;
		size_t count;
		const struct seep_importer *importer;
	} cases[] = {
#define CASE(text, importer) { text, sizeof(text) - 1, importer }
		CASE("heap_v2/1\n", &seep_import_jemalloc),
		CASE("heap profile: 1: 2 [3: 4] @\n", &seep_import_jemalloc),
		CASE("v 10400 3\n", &seep_import_heaptrack),
		CASE("v 10400 3 and more\n", NULL),
		CASE("\x0a\x04\x08\x01\x10\x02\x12\x00", &seep_import_pprof),
		CASE("\x5a\x04\x08\x01\x10\x02\x60\x80", &seep_import_pprof),
		CASE("\x60\x80\x01", NULL), /* a number alone */
		CASE("\x0d\x00\x00\x00\x00", NULL),
		CASE("hello\n", NULL),
		CASE("SQLite format 3", NULL),
		CASE("\x7f"
		     "ELF",
		     NULL),
		CASE("", NULL),
#undef CASE
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (seep_importer_detect(cases[i].bytes, cases[i].count) != cases[i].importer)
			fail_msg("case %zu", i);
	for (size_t i = 0; seep_importers[i] || seep_importer_names[i]; i++)
		assert_string_equal(seep_importers[i]->name, seep_importer_names[i]);
}

int main(void)
{
	/* What is not written shows. */
	(void)mallopt(M_PERTURB, 0x55);
	return unit_run(NULL, NULL);
}
