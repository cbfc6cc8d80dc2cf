/* SPDX-License-Identifier: MIT */
/* Choosing contexts by module and thread, and sums by thread. */
#include <string.h>

#include "analysis/keep.h"
#include "analysis/threads.h"
#include "sample_leaks.h"
#include "unit.h"
#include "view/view.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

enum { GLOBS_MAX = 3 };

static uint32_t kept_by(const char *const *modules, const char *const *threads)
{
	struct seep_profile *profile = sample_profile();
	const uint32_t before = profile->context_count;
	const uint64_t live_bytes = profile->totals.live_bytes;
	struct seep_keep_globs module_globs = { modules, 0 };
	struct seep_keep_globs thread_globs = { threads, 0 };
	struct seep_sites *sites;
	struct seep_view view;
	uint32_t kept;

	while (module_globs.count < GLOBS_MAX && modules[module_globs.count])
		module_globs.count++;
	while (thread_globs.count < GLOBS_MAX && threads[thread_globs.count])
		thread_globs.count++;
	sites = seep_sites_new(profile);
	seep_keep(profile, sites, &module_globs, &thread_globs, &(struct seep_keep_globs){ 0 });
	kept = profile->context_count;
	assert_int_equal(kept + profile->left_out_count, before);
	/* Shares are of the whole, whatever is shown. */
	seep_view_init(&view, profile, sites, &(struct seep_view_options){ .by = SEEP_BY_LIVE });
	assert_int_equal(view.total, live_bytes);
	seep_view_done(&view);
	seep_sites_free(sites);
	seep_profile_free(profile);
	return kept;
}

TEST(contexts_are_chosen_by_module_and_thread)
{
	static const struct {
		const char *modules[GLOBS_MAX];
		const char *threads[GLOBS_MAX];
		uint32_t kept;
	} cases[] = {
		{ { 0 }, { 0 }, 11 },
		{ { "*" }, { 0 }, 10 }, /* one has no stack */
		{ { "server" }, { 0 }, 9 },
		{ { "libstdc++*" }, { 0 }, 4 },
		/* What comes before main is libc's in every stack, and counts for nothing. */
		{ { "libc.so.6" }, { 0 }, 0 },
		{ { "libblob.so" }, { 0 }, 2 },
		{ { "libblob.so", "libstdc++*" }, { 0 }, 6 },
		{ { "!libstdc++*" }, { 0 }, 7 },
		{ { "server", "!libstdc++*" }, { 0 }, 5 },
		{ { "nothing" }, { 0 }, 0 },
		{ { 0 }, { "io*" }, 1 },
		{ { 0 }, { "!io*" }, 10 },
		{ { "libstdc++*" }, { "io*" }, 0 },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		const uint32_t kept = kept_by(cases[i].modules, cases[i].threads);

		if (kept != cases[i].kept)
			fail_msg("case %zu: %u kept", i, kept);
	}
}

TEST(leaks_follow_their_contexts)
{
	static const char *const libblob = "libblob.so";
	static const char *const not_io = "!io*";
	const struct seep_keep_globs modules = { &libblob, 1 };
	const struct seep_keep_globs threads = { &not_io, 1 };
	const struct seep_keep_globs none = { NULL, 0 };
	struct seep_profile *profile = sample_profile_with_leaks();
	struct seep_sites *sites = seep_sites_new(profile);

	/* Twice: what the first leaves out moves no more. */
	seep_keep(profile, sites, &modules, &none, &none);
	assert_int_equal(profile->context_count, 2);
	seep_keep(profile, sites, &none, &threads, &none);
	assert_int_equal(profile->context_count, 1);
	for (uint32_t i = 0; i < profile->leak_count; i++) {
		const struct seep_profile_leak *leak = &profile->leaks[i];

		if (leak->verdict == SEEP_VERDICT_FORK_ORPHAN)
			assert_int_equal(leak->context, 0);
		else
			assert_int_equal(profile->contexts[leak->context - 1].hash, leak->hash);
		assert_int_equal(leak->context > 0 && leak->context <= profile->context_count,
				 leak->verdict == SEEP_VERDICT_RUNTIME);
	}
	seep_sites_free(sites);
	seep_profile_free(profile);
}

/* Six contexts of three stacks and two threads, and one of none. */
static struct seep_profile *two_threads(void)
{
	struct seep_profile *p = seep_profile_new();
	static const char *const names[] = { "a", "b", "a", "b", "a", "b" };

	sample_modules(p);
	p->frame_count = S_FRAME_COUNT;
	p->frames = sample_array(p, sample_frames, S_FRAME_COUNT, sizeof(sample_frames[0]));
	p->contexts = seep_profile_calloc(p, SAMPLE_LEAVES, sizeof(*p->contexts));
	for (uint64_t i = 0; i < COUNT_OF(names); i++)
		sample_context(p, 0, 1, 100 + 10 * i,
			       i < 2   ? S_VISIT
			       : i < 4 ? S_WORKER
				       : S_DESCEND,
			       S_MAIN, SAMPLE_END)
			->thread = seep_profile_strdup(p, names[i]);
	sample_context(p, 0, 1, 5, S_MAIN, SAMPLE_END);
	return p;
}

TEST(stacks_of_several_threads_are_one_group_unless_told_apart)
{
	struct seep_profile *profile = two_threads();
	struct seep_sites *sites = seep_sites_new(profile);
	struct seep_groups *together = seep_groups_new(sites, true, false);
	struct seep_groups *apart = seep_groups_new(sites, true, true);
	struct seep_threads *threads;

	assert_int_equal(together->count, 4);
	assert_int_equal(apart->count, 7);
	threads = seep_threads_new(together, profile, &together->items[1], SEEP_BY_LIVE, false);
	assert_int_equal(threads->count, 2);
	assert_string_equal(threads->items[0].name, "b");
	assert_int_equal(threads->items[0].counts.live_bytes, 130);
	assert_int_equal(threads->items[1].counts.live_bytes, 120);
	free(threads);
	threads = seep_threads_new(together, profile, NULL, SEEP_BY_LIVE, false);
	assert_int_equal(threads->count, 3);
	assert_int_equal(threads->items[0].counts.live_bytes, 110 + 130 + 150);
	assert_int_equal(threads->items[1].counts.live_bytes, 100 + 120 + 140);
	assert_null(threads->items[2].name);
	free(threads);
	seep_groups_free(apart);
	seep_groups_free(together);
	seep_sites_free(sites);
	seep_profile_free(profile);
}
