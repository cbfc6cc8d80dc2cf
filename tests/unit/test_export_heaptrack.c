/* SPDX-License-Identifier: MIT */
/*
 * Heaptrack's log, counted as heaptrack_print and heaptrack_gui do (as of 1.4): what they count is
 * what the profile has, for every context of profiles made at random.
 */
#include "export/heaptrack_plan.h"
#include "export_case.h"
#include "sample_profile.h"
#include "unit.h"

enum { CONTEXTS_MAX = 12, PROFILES = 3000, SIZES_MAX = 8 * CONTEXTS_MAX + 2 };

struct counted {
	uint64_t allocs, temporary, live_bytes, peak_bytes;
};

/* What a reader knows once it has read a log. */
struct reader {
	struct counted total;
	struct counted of_trace[64];
	uint64_t sizes[SIZES_MAX];
	uint32_t traces[SIZES_MAX];
	uint32_t size_count;
	uint32_t used; /* numbers that were allocated by: the window wants them in order */
	uint64_t last; /* 0 after a free: readers take number 0 for that */
	uint64_t ms, peak_ms;
};

static void read_alloc(struct reader *r, uint64_t number)
{
	struct counted *of = &r->of_trace[r->traces[number]];

	assert_true(number < r->size_count);
	assert_true(number <= r->used);
	r->used += number == r->used;
	r->last = number;
	of->allocs++;
	of->live_bytes += r->sizes[number];
	r->total.allocs++;
	r->total.live_bytes += r->sizes[number];
	if (r->total.live_bytes > r->total.peak_bytes) {
		r->total.peak_bytes = r->total.live_bytes;
		r->peak_ms = r->ms;
		for (size_t i = 0; i < 64; i++)
			r->of_trace[i].peak_bytes = r->of_trace[i].live_bytes;
	}
}

static void read_free(struct reader *r, uint64_t number)
{
	struct counted *of = &r->of_trace[r->traces[number]];
	const bool temporary = number == r->last;

	assert_true(number < r->size_count);
	r->last = 0;
	of->temporary += temporary;
	of->live_bytes -= r->sizes[number];
	r->total.temporary += temporary;
	r->total.live_bytes -= r->sizes[number];
}

static void read_log(struct reader *r, char *text)
{
	memset(r, 0, sizeof(*r));
	for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
		char *end = NULL;
		const uint64_t number = strtoull(line + 1, &end, 16);

		switch (line[0]) {
		case '+':
			read_alloc(r, number);
			break;
		case '-':
			read_free(r, number);
			break;
		case 'a':
			assert_true(r->size_count < SIZES_MAX);
			r->sizes[r->size_count] = number;
			r->traces[r->size_count++] = (uint32_t)strtoul(end, NULL, 16);
			assert_in_range(r->traces[r->size_count - 1], 1, 63);
			break;
		case 'c':
			assert_true(number > r->ms);
			r->ms = number;
			break;
		default:
			assert_non_null(strchr("vXIsitR", line[0]));
		}
	}
}

static uint64_t chance = 1;

static uint64_t at_random(uint64_t below)
{
	chance = chance * 6364136223846793005u + 1442695040888963407u;
	return below > 0 ? (chance >> 33) % below : 0;
}

/*
 * A history of blocks: so many, each of a random size; of these some were live at the peak, some at
 * the end, some at both. The figures are those of what happened, so there is a log that has them.
 */
static void add_history(struct seep_profile *p)
{
	struct seep_profile_context *c =
		sample_context(p, 0, 0, 0, (int)p->context_count % S_FRAME_COUNT, SAMPLE_END);
	const uint64_t largest = at_random(3) ? 200 : 3;
	uint64_t passing = 0, freed_at_peak = 0;

	c->allocs = at_random(3) ? 1 + at_random(20) : 1 + at_random(2);
	c->alloc_bytes = c->live_blocks = c->live_bytes = c->peak_blocks = c->peak_bytes = 0;
	for (uint64_t i = 0; i < c->allocs; i++) {
		const uint64_t size = at_random(largest), fate = at_random(4);

		c->alloc_bytes += size;
		c->live_blocks += fate == 0 || fate == 1;
		c->live_bytes += fate == 0 || fate == 1 ? size : 0;
		c->peak_blocks += fate == 0 || fate == 2;
		c->peak_bytes += fate == 0 || fate == 2 ? size : 0;
		passing += fate == 3;
		freed_at_peak += fate == 2;
	}
	c->temporary = at_random(passing + 1);
	/* One thread has a temporary block at the peak, the last one there. */
	if (c->id == 1 && freed_at_peak > 0)
		c->temporary = passing + 1;
	c->frees = c->allocs - c->live_blocks;
	c->freed_bytes = c->alloc_bytes - c->live_bytes;
	c->first_ns = 5000000000 + at_random(10) * 1000000000;
}

static struct seep_profile *random_profile(void)
{
	struct seep_profile *p = seep_profile_new();
	const uint64_t count = 2 + at_random(CONTEXTS_MAX - 1);

	sample_modules(p);
	sample_process(p);
	p->frame_count = S_FRAME_COUNT;
	p->frames = sample_array(p, sample_frames, S_FRAME_COUNT, sizeof(sample_frames[0]));
	p->contexts = seep_profile_calloc(p, count, sizeof(*p->contexts));
	while (p->context_count < count)
		add_history(p);
	sample_totals(p);
	return p;
}

/*
 * Nothing can stand between an allocation and its free where no two blocks of a context fare alike:
 * one more may be taken for a temporary one then.
 */
static bool has_no_spare(const struct seep_profile *p)
{
	for (uint32_t i = 0; i < p->context_count; i++) {
		const struct seep_profile_context *c = &p->contexts[i];

		if (c->peak_blocks > 2 || c->live_blocks > 2 ||
		    c->allocs > c->peak_blocks + c->live_blocks + c->temporary)
			return false;
	}
	return true;
}

/* Each context is a stack of its own; which of them a trace is does not matter. */
static void check_traces(const struct reader *r, const struct seep_profile *p)
{
	bool taken[64] = { false };

	for (uint32_t i = 0; i < p->context_count; i++) {
		const struct seep_profile_context *c = &p->contexts[i];
		size_t t = 1;

		while (t < 64 && (taken[t] || r->of_trace[t].allocs != c->allocs ||
				  r->of_trace[t].live_bytes != c->live_bytes ||
				  r->of_trace[t].peak_bytes != c->peak_bytes))
			t++;
		assert_true(t < 64);
		taken[t] = true;
	}
}

static void check_log(struct seep_profile *p)
{
	struct reader r;
	size_t bytes;
	char *text = exported(format_named("heaptrack"), p, SEEP_BY_CHOICE, &bytes);

	text = unpacked(text, bytes);
	read_log(&r, text);
	assert_int_equal(r.total.allocs, p->totals.allocs);
	assert_true(r.total.temporary >= p->totals.temporary);
	assert_true(r.total.temporary <= p->totals.temporary + has_no_spare(p));
	assert_int_equal(r.total.live_bytes, p->totals.live_bytes);
	assert_int_equal(r.total.peak_bytes, p->totals.peak_bytes);
	check_traces(&r, p);
	if (p->totals.peak_bytes > 0)
		assert_int_equal(r.peak_ms, (p->totals.peak_at_ns - p->process.start_ns) / 1000000);
	assert_int_equal(r.ms, (p->process.end_ns - p->process.start_ns) / 1000000);
	free(text);
}

TEST(a_reader_counts_what_the_profile_has)
{
	uint32_t checked = 0;

	while (checked < PROFILES) {
		struct seep_profile *p = random_profile();

		/* Or the end would be the peak. */
		if (p->totals.live_bytes <= p->totals.peak_bytes) {
			check_log(p);
			checked++;
		}
		seep_profile_free(p);
	}
}

TEST(the_sample_is_counted_in_times_of_its_own)
{
	struct seep_profile *p = sample_profile();

	/* Its figures are not those of a history: more blocks at the peak than there were. */
	for (uint32_t i = 0; i < p->context_count; i++) {
		p->contexts[i].allocs += 20;
		p->contexts[i].frees += 20;
		p->totals.allocs += 20;
	}
	check_log(p);
	seep_profile_free(p);
}

TEST(bytes_stay_exact_when_one_allocation_stands_for_several)
{
	for (int i = 0; i < 300; i++) {
		struct seep_profile *p = random_profile();
		uint64_t peak_bytes = 0, live_bytes = 0, allocs = 0;
		struct seep_plans plans;

		seep_plans_init(&plans, p, 5);
		assert_int_equal(plans.divisor, p->totals.allocs / 6 + 1);
		for (uint32_t j = 0; j < plans.count; j++) {
			const struct seep_plan_blocks *parts = plans.items[j].parts;
			const uint64_t kept = seep_plan_bytes(&parts[SEEP_PLAN_KEPT]);

			peak_bytes += kept + seep_plan_bytes(&parts[SEEP_PLAN_AT_PEAK]);
			live_bytes += kept + seep_plan_bytes(&parts[SEEP_PLAN_AT_END]);
			for (int part = 0; part < SEEP_PLAN_PARTS; part++)
				allocs += parts[part].count;
		}
		assert_int_equal(peak_bytes, p->totals.peak_bytes);
		assert_int_equal(live_bytes, p->totals.live_bytes);
		assert_true(allocs <= 5 + SEEP_PLAN_PARTS * plans.count);
		seep_plans_done(&plans);
		seep_profile_free(p);
	}
}
