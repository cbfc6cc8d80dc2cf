/* SPDX-License-Identifier: MIT */
#include "analysis/growth_series.h"

#include "core/bits.h"

#include <math.h>

enum {
	/* Of the segments rise, at least; while growth that was found before goes on. */
	RISES_PERCENT = 66,
	RISES_PERCENT_STILL = 50, /* and of 18 or more without a fall */
	/* Of the growth is in the second and in the last third of the time, at least. */
	MIDDLE_PERCENT = 10,
	LATE_PERCENT = 15,
	/* What is less is not worth a word, however steady. */
	GROWTH_LEAST_BYTES = 256,
	/* After a fall by half of the growth, or more, that has to be so much longer. */
	AFTER_FALL_TIMES = 3,
	/* Growth that came back has to be outlasted so many times. */
	MISLED_TIMES = 3,
	/* Of all growth so little, 1/8, in the second half: it has ended. */
	PLATEAU_SHARE = 8,
	/* Of a block that is enlarged by a factor: in each doubling of time, in percent. */
	STEP_PERCENT = 140,
	/* Or they are fewer, so many at least, and no pause is longer beside the mean one. */
	EVEN_RISES = 5,
	EVEN_PERCENT = 125,
	EVEN_PERCENT_STILL = 250,
	FEW_STEPS_HALVES = 3, /* where few steps are seen: for so many halves of after_ns */
	/* So many have to become more: by 1/4 of what their bytes do, at least. */
	MANY_BLOCKS = 256,
	GAIN_SHARE = 4,
	CHANCE_BLOCKS = 1024, /* of more, chance moves no more than of so many */
	/* A rise is at least 1/4 of what the growth until then would bring in that time, */
	RISE_SHARE = 4,
	/* and it comes within 5/2 of the longest pause: a block that doubles takes 2. */
	PAUSE_HALVES = 5,
};

/*
 * All falls together, of the growth, at most: the less it is beside what was there before, the more
 * likely it is chance.
 */
static uint64_t falls_percent_max(uint64_t growth, uint64_t before, bool strict)
{
	if (!strict || growth / 2 >= before)
		return 25;
	return growth >= before / 4 ? 10 : 2;
}

static void begin(struct seep_growth_run *run, uint64_t after_ns, uint64_t now_ns, uint64_t bytes,
		  uint64_t blocks)
{
	*run = (struct seep_growth_run){
		.began_ns = now_ns,
		.segment_ns = core_larger(after_ns / SEEP_GROWTH_NEEDED, 1),
		.blocks = blocks,
		.floor[0] = bytes,
		.least[0] = (uint32_t)core_smaller(blocks, UINT32_MAX),
	};
}

static void halve(struct seep_growth_run *run)
{
	for (uint32_t i = 0; i < SEEP_GROWTH_SEGMENTS / 2; i++) {
		run->floor[i] = core_smaller(run->floor[2 * i], run->floor[2 * i + 1]);
		run->least[i] = (uint32_t)core_smaller(run->least[2 * i], run->least[2 * i + 1]);
	}
	run->current = SEEP_GROWTH_SEGMENTS / 2 - 1;
	run->segment_ns *= 2;
}

/* A segment without a reading is as the one before: nothing was seen to grow in it. */
static void go_on(struct seep_growth_run *run)
{
	run->current++;
	run->floor[run->current] = run->floor[run->current - 1];
	run->least[run->current] = run->least[run->current - 1];
}

static void add(struct seep_growth_run *run, uint64_t now_ns, uint64_t bytes, uint64_t blocks)
{
	const uint32_t count = (uint32_t)core_smaller(blocks, UINT32_MAX);
	uint64_t index;

	while (index = (now_ns - run->began_ns) / run->segment_ns, index >= SEEP_GROWTH_SEGMENTS) {
		while (run->current + 1 < SEEP_GROWTH_SEGMENTS)
			go_on(run);
		halve(run);
	}
	if (run->current < index) {
		while (run->current < index)
			go_on(run);
		run->floor[index] = bytes;
		run->least[index] = count;
	}
	run->floor[index] = core_smaller(run->floor[index], bytes);
	run->least[index] = (uint32_t)core_smaller(run->least[index], count);
}

/* By how much the floor fell before @start from what it had reached, at most. */
static uint64_t fall_before(const struct seep_growth_run *run, uint32_t start)
{
	uint64_t top = 0, fall = 0;

	for (uint32_t i = 0; i < start; i++) {
		top = core_larger(top, run->floor[i]);
		fall = core_larger(fall, top - run->floor[i]);
	}
	return core_larger(fall, top > run->floor[start] ? top - run->floor[start] : 0);
}

static bool has_grown(uint64_t from, uint64_t to, uint64_t percents)
{
	return to > from && (to - from) * 100 >= percents;
}

/* Where many blocks take the place of others, larger ones by chance, they do not become more. */
static bool gains_blocks(const struct seep_growth_run *run, uint32_t start)
{
	const uint32_t last = run->current - 1, before = run->least[start];
	const double gained = (double)run->least[last] - before;

	return before < MANY_BLOCKS ||
	       gained / before * GAIN_SHARE >=
		       (double)(run->floor[last] - run->floor[start]) / (double)run->floor[start];
}

/* The longest stretch of a run, from @start on, without a rise; and when it rose last. */
static uint64_t longest_pause(const struct seep_growth_run *run, uint32_t start,
			      uint64_t *ret_rose_ns)
{
	uint32_t longest = 1, from = start;

	for (uint32_t i = start + 1; i < run->current; i++) {
		longest = (uint32_t)core_larger(longest, i - from);
		if (run->floor[i] > run->floor[i - 1])
			from = i;
	}
	*ret_rose_ns = run->began_ns + from * run->segment_ns;
	return longest * run->segment_ns;
}

/* Bursts, about as long after one another. */
static bool is_even(const struct seep_growth_run *run, uint32_t start, uint32_t rises, bool strict,
		    uint64_t after_ns)
{
	const uint64_t length_ns = (run->current - start) * run->segment_ns;
	uint64_t rose_ns;

	return rises >= EVEN_RISES && length_ns >= after_ns / 2 * (strict ? FEW_STEPS_HALVES : 2) &&
	       longest_pause(run, start, &rose_ns) * rises * 100 <=
		       length_ns * (strict ? EVEN_PERCENT : EVEN_PERCENT_STILL);
}

/* @start to the end of what is complete. */
static bool is_steady(const struct seep_growth_run *run, uint32_t start, bool strict,
		      uint64_t after_ns)
{
	const uint64_t *floor = run->floor;
	const uint32_t last = run->current - 1;
	const uint32_t steps = last - start;
	uint64_t growth, falls = 0;
	uint32_t rises = 0;
	bool never_falls; /* in so many segments that no chance would do so */

	if (floor[last] < floor[start] + GROWTH_LEAST_BYTES)
		return false;
	growth = floor[last] - floor[start];
	for (uint32_t i = start + 1; i <= last; i++) {
		if (floor[i] > floor[i - 1])
			rises++;
		else
			falls += floor[i - 1] - floor[i];
	}
	never_falls = falls == 0 && steps >= SEEP_GROWTH_NEEDED * 3 / 2;
	return gains_blocks(run, start) &&
	       falls * 100 <= growth * falls_percent_max(growth, floor[start], strict) &&
	       (rises * 100 >=
			steps * (strict && !never_falls ? RISES_PERCENT : RISES_PERCENT_STILL) ||
		((!strict || falls == 0) && growth >= floor[start] / 4 &&
		 is_even(run, start, rises, strict, after_ns))) &&
	       has_grown(floor[start + steps / 3], floor[last - steps / 3],
			 growth * MIDDLE_PERCENT) &&
	       has_grown(floor[last - steps / 3], floor[last], growth * LATE_PERCENT);
}

/*
 * A container that keeps its elements in one block enlarges it ever more rarely: once, or more
 * often, in each doubling of the time.
 */
static bool is_enlarged(const struct seep_growth_run *run, uint64_t blocks)
{
	const uint64_t *floor = run->floor;
	const uint32_t last = run->current - 1;

	if (blocks > run->blocks + 1 || floor[last] < floor[1] + GROWTH_LEAST_BYTES)
		return false;
	for (uint32_t end = last; end >= 3; end /= 2)
		if (floor[end] * 100 < floor[end / 2] * STEP_PERCENT ||
		    floor[end] == floor[end / 2])
			return false;
	return true;
}

/* By more than two estimates may differ when nothing has changed. */
static bool exceeds(const struct seep_growth_run *run, uint32_t start, uint64_t error)
{
	const uint64_t *floor = run->floor;
	const uint32_t last = run->current - 1;

	return error == 0 || (floor[last] > floor[start] && floor[last] - floor[start] > error);
}

/* What went up and down as much before is only up again, unless this lasts. */
static bool is_new(const struct seep_growth_run *run, uint32_t start)
{
	const uint32_t last = run->current - 1;

	return fall_before(run, start) * 2 <= run->floor[last] - run->floor[start] ||
	       last - start >= AFTER_FALL_TIMES * start;
}

/* Is what begins there the growth that was found before? */
static bool is_same(const struct seep_growth_series *series, const struct seep_growth_run *run,
		    uint32_t start)
{
	return series->growing && run->began_ns + (start - 1) * run->segment_ns <= series->since_ns;
}

/*
 * From which segment on it grows; 0: it does not. The first segment holds the low itself, which
 * says nothing of what it usually holds.
 */
static uint32_t growth_start(const struct seep_growth_series *series,
			     const struct seep_growth_run *run, uint64_t after_ns, uint64_t blocks)
{
	const uint32_t needed = series->growing ? SEEP_GROWTH_NEEDED / 2 : SEEP_GROWTH_NEEDED;
	const uint64_t longest_ns = run->current * run->segment_ns;
	uint64_t least_ns = after_ns;

	if (!series->growing)
		least_ns = core_larger(least_ns, series->misled_ns * MISLED_TIMES);
	if (run->current > SEEP_GROWTH_NEEDED && longest_ns >= least_ns / 2 * FEW_STEPS_HALVES &&
	    is_enlarged(run, blocks) && exceeds(run, 1, series->error))
		return 1;
	for (uint32_t start = 1; start + needed <= run->current; start++) {
		if ((run->current - start) * run->segment_ns < least_ns)
			break;
		if (exceeds(run, start, series->error) && is_new(run, start) &&
		    (is_steady(run, start, true, after_ns) ||
		     (is_same(series, run, start) && is_steady(run, start, false, after_ns))))
			return start;
	}
	return 0;
}

static bool has_ended(const struct seep_growth_run *run)
{
	const uint32_t last = run->current - 1;

	return run->current > SEEP_GROWTH_NEEDED &&
	       (run->floor[last] <= run->floor[last / 2] ||
		(run->floor[last] - run->floor[last / 2]) * PLATEAU_SHARE <=
			run->floor[last] - run->floor[0]);
}

static void note(struct seep_growth_series *series, const struct seep_growth_run *run,
		 uint32_t start)
{
	const uint32_t from = start > 1 ? start : 0, last = run->current - 1;
	double gained;

	if (!series->growing) {
		series->pause_ns = longest_pause(run, start, &series->rose_ns);
		series->rose_bytes = run->floor[last];
		series->resting = false;
		if (!series->enlarged) {
			series->rose_ns = series->last_ns;
			series->rose_bytes = 0;
		}
	}
	if (!series->growing || run->began_ns + from * run->segment_ns < series->since_ns) {
		series->since_ns = run->began_ns + from * run->segment_ns;
		series->since_bytes = run->floor[from];
	}
	series->growing = true;
	series->returned = false;
	series->until_ns = run->began_ns + last * run->segment_ns;
	series->grown_bytes = run->floor[last] - series->since_bytes;
	/* The number of blocks is its own variance, unless it is always the same. */
	gained = run->least[last] > run->least[start] + 1
			 ? (double)series->grown_bytes / (double)run->floor[last] * run->least[last]
			 : HUGE_VAL;
	series->variances = gained * gained /
			    (double)(core_smaller(run->least[last], CHANCE_BLOCKS) + 1);
}

static void judge(struct seep_growth_series *series, uint64_t after_ns, uint64_t blocks)
{
	bool found = false;

	for (int i = 0; i < 2; i++) {
		const struct seep_growth_run *run = &series->runs[i];
		const uint32_t start = growth_start(series, run, after_ns, blocks);

		if (start == 0 ||
		    run->floor[run->current - 1] <= series->since_bytes * series->growing)
			continue;
		found = true;
		series->enlarged = is_enlarged(run, blocks);
		note(series, run, start);
	}
	/* A block that is enlarged by a factor stays as it is for longer each time. */
	series->growing = found || (series->growing && series->enlarged && !series->resting &&
				    blocks <= series->runs[0].blocks + 1);
}

/* Does what grew still grow? By the least of the last @after_ns. */
static void meet_rise(struct seep_growth_series *series, uint64_t after_ns, uint64_t now_ns,
		      uint64_t bytes)
{
	const uint64_t slice = now_ns / core_larger(after_ns / SEEP_GROWTH_NEEDED, 1);
	const uint64_t length_ns = series->until_ns - series->since_ns;
	uint64_t *newest = &series->slices[slice % SEEP_GROWTH_NEEDED], least = UINT64_MAX;
	double expected;

	if (slice == series->slice) {
		*newest = core_smaller(*newest, bytes);
	} else {
		/* Those without a reading, too. */
		for (uint64_t i = 0; i < SEEP_GROWTH_NEEDED && i < slice - series->slice; i++)
			series->slices[(slice - i) % SEEP_GROWTH_NEEDED] = bytes;
		series->slice = slice;
	}
	if (!series->growing || !length_ns)
		return;
	/* One block does not come and go: its step is seen as soon as it is no copy under way. */
	for (uint64_t i = 0; i < (series->enlarged ? 2 : SEEP_GROWTH_NEEDED); i++)
		least = core_smaller(
			least,
			series->slices[(slice + SEEP_GROWTH_NEEDED - i) % SEEP_GROWTH_NEEDED]);
	expected = (double)series->grown_bytes / (double)length_ns *
		   (double)(now_ns - series->rose_ns);
	if (least > series->rose_bytes &&
	    (double)(least - series->rose_bytes) * RISE_SHARE >= expected) {
		series->pause_ns = core_larger(series->pause_ns, now_ns - series->rose_ns);
		series->rose_ns = now_ns;
		series->rose_bytes = least;
	}
	series->resting = now_ns - series->rose_ns >
			  core_larger(after_ns, series->pause_ns / 2 * PAUSE_HALVES);
}

/* Half of it went, or it came again: then it is something that comes and goes. */
static void meet_return(struct seep_growth_series *series, uint64_t now_ns, uint64_t bytes)
{
	const bool is_low = bytes < series->since_bytes + series->grown_bytes / 2;

	if (series->growing && is_low) {
		series->growing = false;
		series->returned = true;
		series->misled_ns = core_larger(series->misled_ns, now_ns - series->since_ns);
	} else if (series->returned && !is_low) {
		series->returned = false;
	} else if (!series->growing && !series->returned && series->grown_bytes && is_low) {
		/* It had stopped before: a wave. */
		series->misled_ns = core_larger(series->misled_ns, now_ns - series->since_ns);
		series->grown_bytes = 0;
	}
}

void seep_growth_series_add(struct seep_growth_series *series, uint64_t after_ns, uint64_t now_ns,
			    uint64_t bytes, uint64_t blocks)
{
	bool is_over = false; /* a segment */

	/* The past as marks tell it may be in any order: a process wrote them. */
	if (now_ns < series->last_ns)
		return;
	series->last_ns = now_ns;
	meet_return(series, now_ns, bytes);
	meet_rise(series, after_ns, now_ns, bytes);
	for (int i = 0; i < 2; i++) {
		struct seep_growth_run *run = &series->runs[i];
		const uint32_t before = run->current;

		if (!run->segment_ns || bytes <= run->floor[0])
			begin(run, after_ns, now_ns, bytes, blocks);
		else
			add(run, now_ns, bytes, blocks);
		is_over |= run->current != before;
	}
	if (!is_over)
		return;
	judge(series, after_ns, blocks);
	if (has_ended(&series->runs[1]))
		begin(&series->runs[1], after_ns, now_ns, bytes, blocks);
}

/* The least of the newer half of after_ns above that of the older one. */
uint64_t seep_growth_series_lately(const struct seep_growth_series *series)
{
	uint64_t least[2] = { UINT64_MAX, UINT64_MAX };

	for (uint64_t i = 1; i <= SEEP_GROWTH_NEEDED; i++) {
		uint64_t *half = &least[i > SEEP_GROWTH_NEEDED / 2];

		*half = core_smaller(*half,
				     series->slices[(series->slice + i) % SEEP_GROWTH_NEEDED]);
	}
	return series->growing && least[1] > least[0] ? least[1] - least[0] : 0;
}
