/* SPDX-License-Identifier: MIT */
/*
 * cover [FUNCTIONS [VARIABLES [CUBES]]]
 *
 * Minimises random functions of two levels by the rounds of Brayton, Hachtel, McMullen and
 * Sangiovanni-Vincentelli, "Logic minimization algorithms for VLSI synthesis", 1984: expand,
 * irredundant, reduce, until nothing gets smaller. A function is a set of cubes in a block that
 * grows by realloc. Tautology and complement make many small sets for a moment, recursively. Every
 * result is compared with what was given, point by point.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "random.h"
#include "stopwatch.h"

enum { VARIABLES_MAX = 16, ROOM_FIRST = 4 };

/* Two bits a variable: may be 0, may be 1. */
typedef uint64_t cube;

struct cover {
	int count, room;
	cube *cubes;
};

static int variables = 10;
static cube universe, low_bits;
static double allocations;

static struct cover *cover_new(void)
{
	struct cover *cover = calloc(1, sizeof(*cover));

	if (!cover)
		abort();
	allocations++;
	return cover;
}

static void cover_free(struct cover *cover)
{
	free(cover->cubes);
	free(cover);
}

static void cover_grow(struct cover *cover)
{
	cover->room = cover->room ? 2 * cover->room : ROOM_FIRST;
	cover->cubes = realloc(cover->cubes, cover->room * sizeof(*cover->cubes));
	if (!cover->cubes)
		abort();
	allocations++;
}

static void cover_add(struct cover *cover, cube c)
{
	if (cover->count == cover->room)
		cover_grow(cover);
	cover->cubes[cover->count++] = c;
}

static cube literal(int variable, int value)
{
	return universe & ~((cube)(value ? 1 : 2) << 2 * variable);
}

static int is_empty(cube c)
{
	return ((c | c >> 1) & low_bits) != low_bits;
}

/* Whether a cube of @cover has all of @c. */
static int has(const struct cover *cover, cube c)
{
	for (int i = 0; i < cover->count; i++)
		if ((c & ~cover->cubes[i]) == 0)
			return 1;
	return 0;
}

static int meets(const struct cover *cover, cube c)
{
	for (int i = 0; i < cover->count; i++)
		if (!is_empty(c & cover->cubes[i]))
			return 1;
	return 0;
}

/* @cover where @c is 1, as a function of the variables that @c leaves open. Without cube @skip. */
static struct cover *cofactor(const struct cover *cover, cube c, int skip)
{
	struct cover *part = cover_new();

	for (int i = 0; i < cover->count; i++)
		if (i != skip && !is_empty(c & cover->cubes[i]))
			cover_add(part, cover->cubes[i] | (universe & ~c));
	return part;
}

/* The variable that most cubes depend on, in both ways if there is such a one, which is told. */
static int choose(const struct cover *cover, int *ret_is_binate)
{
	int best = 0, most = -1;

	*ret_is_binate = 0;
	for (int v = 0; v < variables; v++) {
		int count[4] = { 0 }, is_binate;

		for (int i = 0; i < cover->count; i++)
			count[cover->cubes[i] >> 2 * v & 3]++;
		is_binate = count[1] && count[2];
		if (is_binate < *ret_is_binate)
			continue;
		if (is_binate > *ret_is_binate || count[1] + count[2] > most) {
			most = count[1] + count[2];
			best = v;
		}
		*ret_is_binate = is_binate;
	}
	return best;
}

static int is_tautology(const struct cover *cover)
{
	int is_binate, variable, answer = 1;

	if (has(cover, universe))
		return 1;
	variable = choose(cover, &is_binate);
	if (!is_binate)
		return 0;
	for (int value = 0; value < 2 && answer; value++) {
		struct cover *half = cofactor(cover, literal(variable, value), -1);

		answer = is_tautology(half);
		cover_free(half);
	}
	return answer;
}

/* Both halves of a complement, the cubes that are in both without the literal. */
static struct cover *join(const struct cover *zero, const struct cover *one, int variable)
{
	struct cover *both = cover_new();

	for (int i = 0; i < zero->count; i++)
		cover_add(both, has(one, zero->cubes[i]) ? zero->cubes[i]
							 : zero->cubes[i] & literal(variable, 0));
	for (int i = 0; i < one->count; i++)
		if (!has(both, one->cubes[i]))
			cover_add(both, one->cubes[i] & literal(variable, 1));
	return both;
}

static struct cover *complement(const struct cover *cover)
{
	struct cover *result, *half[2];
	int unused, variable;

	if (cover->count == 0 || has(cover, universe)) {
		result = cover_new();
		if (cover->count == 0)
			cover_add(result, universe);
		return result;
	}
	variable = choose(cover, &unused);
	for (int value = 0; value < 2; value++) {
		struct cover *part = cofactor(cover, literal(variable, value), -1);

		half[value] = complement(part);
		cover_free(part);
	}
	result = join(half[0], half[1], variable);
	cover_free(half[0]);
	cover_free(half[1]);
	return result;
}

/* Each cube as large as it can be without meeting @off; those that are in another one go. */
static struct cover *expand(const struct cover *cover, const struct cover *off)
{
	struct cover *result = cover_new();

	for (int i = 0; i < cover->count; i++) {
		cube c = cover->cubes[i];

		if (has(result, c))
			continue;
		for (int v = 0; v < variables; v++) {
			cube larger = c | (cube)3 << 2 * ((v + i) % variables);

			if (!meets(off, larger))
				c = larger;
		}
		cover_add(result, c);
	}
	return result;
}

/* Without the cubes that the others have together. */
static void make_irredundant(struct cover *cover)
{
	for (int i = cover->count; i-- > 0;) {
		struct cover *others = cofactor(cover, cover->cubes[i], i);

		if (is_tautology(others))
			cover->cubes[i] = cover->cubes[--cover->count];
		cover_free(others);
	}
}

/* Each cube as small as it can be while the others have the rest. */
static void reduce(struct cover *cover)
{
	for (int i = 0; i < cover->count; i++) {
		struct cover *others = cofactor(cover, cover->cubes[i], i);
		struct cover *alone = complement(others);
		cube needed = 0;

		for (int j = 0; j < alone->count; j++)
			needed |= alone->cubes[j];
		cover->cubes[i] &= needed;
		cover_free(others);
		cover_free(alone);
	}
}

/* Cubes first, then literals. */
static long cost(const struct cover *cover)
{
	long sum = 0;

	for (int i = 0; i < cover->count; i++)
		sum += 1000 - __builtin_popcountll(cover->cubes[i]);
	return sum;
}

static struct cover *minimise(const struct cover *cover)
{
	struct cover *off = complement(cover), *best = expand(cover, off);

	make_irredundant(best);
	for (;;) {
		struct cover *next, *smaller = cofactor(best, universe, -1);

		reduce(smaller);
		next = expand(smaller, off);
		cover_free(smaller);
		make_irredundant(next);
		if (cost(next) >= cost(best)) {
			cover_free(next);
			cover_free(off);
			return best;
		}
		cover_free(best);
		best = next;
	}
}

static struct cover *make_random(int cubes, uint64_t *state)
{
	struct cover *cover = cover_new();

	while (cover->count < cubes) {
		cube c = universe;

		for (int v = 0; v < variables; v++)
			if (random_next(state) % 2)
				c &= literal(v, random_next(state) % 2);
		cover_add(cover, c);
	}
	return cover;
}

static int are_same(const struct cover *a, const struct cover *b)
{
	for (uint32_t point = 0; point < 1u << variables; point++) {
		cube c = universe;

		for (int v = 0; v < variables; v++)
			c &= literal(v, point >> v & 1);
		if (has(a, c) != has(b, c))
			return 0;
	}
	return 1;
}

int main(int argc, char **argv)
{
	long functions = argc > 1 ? strtol(argv[1], NULL, 10) : 100, before = 0, after = 0;
	int cubes = argc > 3 ? atoi(argv[3]) : 60;
	uint64_t state = random_seed(1);
	struct stopwatch watch;

	if (argc > 2)
		variables = atoi(argv[2]);
	if (variables < 1 || variables > VARIABLES_MAX)
		return 2;
	universe = ((cube)1 << 2 * variables) - 1;
	low_bits = universe & 0x5555555555555555;
	stopwatch_start(&watch);
	for (long i = 0; i < functions; i++) {
		struct cover *given = make_random(cubes, &state), *found = minimise(given);

		if (!are_same(given, found))
			abort();
		before += cost(given);
		after += cost(found);
		cover_free(given);
		cover_free(found);
	}
	stopwatch_print(&watch, allocations);
	printf("cost before=%ld after=%ld\n", before, after);
	return 0;
}
