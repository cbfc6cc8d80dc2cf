/* SPDX-License-Identifier: MIT */
/*
 * Fifty teeth of different heights, in no order, each mixed from three functions in proportions
 * of its own, with a ripple on its flanks. The highest one alone is the peak; it comes neither
 * first nor last. The program knows the figures at the top of it.
 */
#include "truth.h"

enum { TEETH = 50, MOST = 4000, BYTES = 512 };

TRUTH_TAGGING_MAKER(saw_a, malloc(bytes));
TRUTH_SITE(saw_b);
TRUTH_TAGGING_MAKER(saw_c, malloc(bytes));

static void *stack[MOST];
static int depth;
static unsigned long long best, best_a, best_b, best_c;

/* Written out, for a test looks for the costs beside its lines. */
static SITE void *saw_b(size_t bytes)
{
	void *block = malloc(bytes);

	truth_tag_block(block, &site_saw_b, bytes);
	return block;
}

static unsigned long long live_of(const struct truth_site *site)
{
	return site->bytes - site->freed_bytes;
}

static void note_peak(void)
{
	unsigned long long a = live_of(&site_saw_a), b = live_of(&site_saw_b);
	unsigned long long c = live_of(&site_saw_c);

	if (a + b + c <= best)
		return;
	best = a + b + c;
	best_a = a;
	best_b = b;
	best_c = c;
}

static void push(uint64_t *state, unsigned share_a)
{
	uint32_t dice = truth_random(state);
	size_t bytes = BYTES + dice % 100;

	if (dice >> 8 & 1)
		stack[depth++] = saw_c(bytes);
	else if (dice % 100 < share_a)
		stack[depth++] = saw_a(bytes);
	else
		stack[depth++] = saw_b(bytes);
	note_peak();
}

static void pop(void)
{
	void *block = stack[--depth];

	truth_untag_block(block);
	free(block);
}

/* Two steps up, one down; then two down, one up. */
static void tooth(uint64_t *state, int height, unsigned share_a)
{
	while (depth < height) {
		push(state, share_a);
		push(state, share_a);
		pop();
	}
	while (depth > 1) {
		pop();
		pop();
		push(state, share_a);
	}
	while (depth > 0)
		pop();
}

int main(void)
{
	uint64_t state = 4711;
	int i;

	for (i = 0; i < TEETH; i++)
		tooth(&state, 100 + i * 37 % TEETH * 60, (unsigned)(i * 13 % 100));
	truth_set_peak(&site_saw_a, best_a);
	truth_set_peak(&site_saw_b, best_b);
	truth_set_peak(&site_saw_c, best_c);
	truth_line("note peak_total=%llu\n", best);
	truth_print();
	return truth_failures != 0;
}
