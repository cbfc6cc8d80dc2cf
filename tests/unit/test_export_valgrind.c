/* SPDX-License-Identifier: MIT */
/* The three formats of valgrind: whole files, and profiles at the edges of what there can be. */
#include "export_case.h"
#include "golden.h"
#include "sample_profile.h"
#include "unit.h"

#include <time.h>

static const char *const formats[] = { "massif", "callgrind", "dhat", "heaptrack" };
enum { FORMATS = sizeof(formats) / sizeof(formats[0]), GOLDEN = 3 };

TEST(files_are_as_agreed)
{
	for (int i = 0; i < GOLDEN; i++) {
		struct seep_profile *profile = sample_profile();
		char name[64], *text;
		size_t bytes;

		text = exported(format_named(formats[i]), profile, SEEP_BY_CHOICE, &bytes);
		hide_version(text);
		(void)snprintf(name, sizeof(name), "export%s", format_named(formats[i])->suffix);
		expect_golden(name, text);
		free(text);
		seep_profile_free(profile);
	}
}

static void check_all(struct seep_profile *profile)
{
	for (int i = 0; i < FORMATS; i++) {
		size_t bytes, again;
		char *text = exported(format_named(formats[i]), profile, SEEP_BY_PEAK, &bytes);
		char *same = exported(format_named(formats[i]), profile, SEEP_BY_PEAK, &again);

		assert_true(bytes > 0);
		assert_int_equal(bytes, again);
		assert_memory_equal(text, same, bytes);
		free(same);
		free(text);
	}
	seep_profile_free(profile);
}

TEST(a_profile_without_anything_is_written)
{
	check_all(seep_profile_new());
}

TEST(figures_up_to_the_last_bit_are_written)
{
	struct seep_profile *profile = sample_profile();

	for (uint32_t i = 0; i < profile->context_count; i++) {
		struct seep_profile_context *c = &profile->contexts[i];

		c->alloc_bytes = c->freed_bytes = c->live_bytes = UINT64_MAX - i;
		c->peak_bytes = (uint64_t)INT64_MAX + i;
		if (i % 2) {
			c->allocs = c->frees = c->temporary = UINT64_MAX - i;
			c->live_blocks = c->peak_blocks = INT64_MAX - i;
		}
	}
	check_all(profile);
}

/* One line for each thing, whatever names hold; and what ms_print takes for a comment is none. */
TEST(hostile_names_stay_within_their_lines)
{
	struct seep_profile *profile = sample_profile();
	struct seep_profile_context *c;
	char *text;
	size_t bytes;

	profile->frames[S_HOSTILE].function = "a\nfn=(1) b\n\"},{\"tb\":1 (c.c:1)#d";
	profile->frames[S_HOSTILE].file = "e\nn9: 1 0x0: f";
	profile->process.argv[0] = seep_profile_strdup(profile, "g\ncmd: h\n#");
	c = sample_context(profile, 0, 1, 10, S_HOSTILE, SAMPLE_END);
	c->truncated = true;
	text = exported(format_named("massif"), profile, SEEP_BY_CHOICE, &bytes);
	assert_null(strstr(text, "\nn9"));
	assert_non_null(
		strstr(text, "a\\nfn=(1) b\\n\"},{\"tb\":1 (c.c:1)＃d (e\\nn9: 1 0x0: f:1)\n"));
	assert_non_null(strstr(text, "\ncmd: $'g\\ncmd: h\\n＃' --name 'two words'\n"));
	free(text);
	text = exported(format_named("callgrind"), profile, SEEP_BY_CHOICE, &bytes);
	assert_null(strstr(text, "\nfn=(1) b"));
	assert_null(strstr(text, "\ncmd: h"));
	free(text);
	check_all(profile);
}

enum { MANY = 100000, DEPTH = 40, MANY_FRAMES = 20000, MANY_SECONDS = 60 };

static struct seep_profile *large_profile(void)
{
	struct seep_profile *p = seep_profile_new();
	uint64_t random = 1;

	sample_modules(p);
	p->frame_count = MANY_FRAMES;
	p->frames = seep_profile_calloc(p, MANY_FRAMES, sizeof(*p->frames));
	for (uint32_t i = 0; i < MANY_FRAMES; i++) {
		char name[128];

		(void)snprintf(name, sizeof(name), "app::Table<std::string, %u>::insert(int, long)",
			       i);
		p->frames[i] =
			(struct seep_profile_frame){ .module = 1,
						     .address = 16 * i,
						     .line = i,
						     .file = "/src/table.cc",
						     .function = seep_profile_strdup(p, name),
						     .inlined = i % 3 == 0 };
	}
	p->contexts = seep_profile_calloc(p, MANY, sizeof(*p->contexts));
	for (p->context_count = 0; p->context_count < MANY;) {
		struct seep_profile_context *c = &p->contexts[p->context_count++];

		c->id = p->context_count;
		c->stack_count = DEPTH;
		c->stack = seep_profile_calloc(p, DEPTH, sizeof(*c->stack));
		for (uint32_t i = 0; i < DEPTH; i++) {
			random = random * 6364136223846793005u + 1442695040888963407u;
			/* Callers are few, and what they call are more and more. */
			c->stack[i].frame =
				(uint32_t)((random >> 33) % (MANY_FRAMES / (1 + i * i)));
		}
		c->allocs = 30;
		c->frees = 20;
		c->temporary = 5;
		c->live_blocks = 10;
		c->peak_blocks = 12;
		c->alloc_bytes = 3000 + p->context_count;
		c->live_bytes = 1000 + p->context_count;
		c->freed_bytes = 2000;
		c->peak_bytes = 1200 + p->context_count;
	}
	return p;
}

TEST(a_hundred_thousand_contexts_take_seconds)
{
	struct seep_profile *profile = large_profile();

	for (int i = 0; i < FORMATS; i++) {
		const clock_t before = clock();
		size_t bytes;

		free(exported(format_named(formats[i]), profile, SEEP_BY_CHOICE, &bytes));
		print_message("%s: %zu bytes, %.1f s\n", formats[i], bytes,
			      (double)(clock() - before) / CLOCKS_PER_SEC);
		assert_true(clock() - before < MANY_SECONDS * CLOCKS_PER_SEC);
	}
	seep_profile_free(profile);
}
