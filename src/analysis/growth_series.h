/* SPDX-License-Identifier: MIT */
/*
 * Does one figure, the live bytes of a context, grow without coming back? Readings go in with their
 * times, a judgement comes out; memory is constant. Nothing here looks at a clock, so that recorded
 * series can be replayed. docs/internals/growth.md says why the rules are as they are.
 *
 * What counts is the floor: the least that was alive in a stretch of time. Memory in use for the
 * moment comes and goes above it.
 */
#ifndef SEEP_ANALYSIS_GROWTH_SERIES_H
#define SEEP_ANALYSIS_GROWTH_SERIES_H

#include <stdbool.h>
#include <stdint.h>

enum {
	SEEP_GROWTH_SEGMENTS = 28, /* of a run; full, two become one */
	SEEP_GROWTH_NEEDED = 12, /* segments that a judgement needs, and slices of the last of it */
	SEEP_GROWTH_CHANCE =
		16, /* of variances: what is less may be chance where blocks are freed */
};

/* From a low that was never reached again. */
struct seep_growth_run {
	uint64_t began_ns;
	uint64_t segment_ns; /* 0: there is no run yet */
	uint64_t blocks;     /* alive when it began */
	uint32_t current;    /* the segment that is not over yet */
	uint64_t floor[SEEP_GROWTH_SEGMENTS];
	uint32_t least[SEEP_GROWTH_SEGMENTS]; /* blocks, the same */
};

struct seep_growth_series {
	/*
	 * The second one forgets what it saw when growth ends, and meets the next growth with
	 * segments that are short enough; the first one sees growth that comes in bursts.
	 */
	struct seep_growth_run runs[2];
	uint64_t last_ns; /* of the newest reading */
	uint64_t error;	  /* a difference of two readings has to be larger; 0: they are exact */
	bool growing;
	bool returned;	      /* it grew, and what it grew by went */
	uint64_t since_ns;    /* of the growth, when growing or returned */
	uint64_t until_ns;    /* of the newest floor that is complete */
	uint64_t since_bytes; /* live then */
	uint64_t grown_bytes; /* of the floor, in all of that time */
	double variances;     /* its square; of as many blocks that come and go by chance */
	uint64_t misled_ns;   /* the longest growth that came back */
	bool enlarged;	      /* it grows by steps of one block */
	/* The least in each twelfth of the last after_ns, a ring. */
	uint64_t slices[SEEP_GROWTH_NEEDED];
	uint64_t slice;	     /* number of the newest, by the clock */
	uint64_t rose_ns;    /* when the least of these was last a good deal above all before, */
	uint64_t rose_bytes; /* by then */
	uint64_t pause_ns;   /* the longest between two such rises */
	/*
	 * It grew, and has not for after_ns nor 5/2 times as long as it ever paused: it may have
	 * reached its size. Growth that goes on is what it was before.
	 */
	bool resting;
};

/*
 * A reading: @bytes in @blocks were alive at @now_ns; one that is older than the last is left out.
 * @after_ns: for so long, at least, it has to grow. Zeroed storage is a series without readings.
 */
void seep_growth_series_add(struct seep_growth_series *series, uint64_t after_ns, uint64_t now_ns,
			    uint64_t bytes, uint64_t blocks);

/* By how many bytes it grew in the last half of after_ns, if it grows. */
uint64_t seep_growth_series_lately(const struct seep_growth_series *series);

#endif
