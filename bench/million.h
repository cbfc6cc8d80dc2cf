/* SPDX-License-Identifier: MIT */
/*
 * Random call paths through many libraries: what the functions that gen_million.py writes share.
 * A path is a function of its seed alone, so that a second round comes by the same stacks again.
 */
#ifndef SEEP_BENCH_MILLION_H
#define SEEP_BENCH_MILLION_H

#include <stdint.h>
#include <stdlib.h>

struct walk;

typedef void walk_visit(struct walk *walk, uint64_t seed, unsigned left);

struct walk {
	walk_visit *const *everyone;
	uint32_t everyone_count;
	uint64_t allocs;
	uint64_t bytes;
	uint64_t frames;  /* of all allocations together, without those outside the driver's root */
	unsigned depth;	  /* of the present root's leaves */
	uint64_t returns; /* what callers add to after a call, so that none is a tail call */
	void **kept;	  /* a list; its first word links a block */
};

static inline uint64_t walk_mix(uint64_t seed, uint64_t step)
{
	uint64_t x = seed + 0x9e3779b97f4a7c15ull * (step + 1);

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

/* One call in five has a sister: six tree nodes per stack, as in a compiler. */
static inline unsigned walk_calls(uint64_t seed)
{
	return 1 + (walk_mix(seed, 101) % 5 == 0);
}

static inline walk_visit *walk_next(const struct walk *walk, uint64_t seed)
{
	return walk->everyone[(seed >> 8) % walk->everyone_count];
}

/* Two of three blocks stay. */
static inline void walk_keep(struct walk *walk, uint64_t seed, void *block, size_t bytes)
{
	walk->allocs++;
	walk->bytes += bytes;
	walk->frames += walk->depth;
	if (seed % 3 == 0) {
		free(block);
		return;
	}
	*(void **)block = walk->kept;
	walk->kept = (void **)block;
}

static inline void walk_allocate(struct walk *walk, uint64_t seed)
{
	size_t bytes = 16 + (seed >> 40) % 112;

	if (seed & 64)
		walk_keep(walk, seed, malloc(bytes), bytes);
	else
		walk_keep(walk, seed, calloc(1, bytes), bytes);
}

#endif
