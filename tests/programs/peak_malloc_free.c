/* SPDX-License-Identifier: MIT */
/*
 * The simplest peak: one function's blocks are all there at once and all gone again before
 * another's come, while a third holds its own throughout. Nothing is left but the third's.
 */
#include "truth.h"

enum { FIRST = 100, SECOND = 90, BASE = 10, BYTES = 10000, BASE_BYTES = 5000 };

TRUTH_TAGGING_MAKER(peak_first, malloc(bytes));
TRUTH_TAGGING_MAKER(peak_second, malloc(bytes));
TRUTH_TAGGING_MAKER(peak_base, malloc(bytes));
TRUTH_TAGGING_MAKER(peak_after, malloc(bytes));

static void rise_and_fall(void *(*site)(size_t), int count)
{
	static void *blocks[FIRST];
	int i;

	for (i = 0; i < count; i++)
		blocks[i] = site(BYTES);
	for (i = 0; i < count; i++) {
		truth_untag_block(blocks[i]);
		free(blocks[i]);
	}
}

int main(void)
{
	static void *base[BASE];
	int i;

	for (i = 0; i < BASE; i++)
		base[i] = peak_base(BASE_BYTES);
	rise_and_fall(peak_first, FIRST);
	rise_and_fall(peak_second, SECOND);
	rise_and_fall(peak_after, 1);
	EXPECT(truth_hide_ptr(base) != NULL);
	truth_set_peak(&site_peak_first, FIRST * BYTES);
	truth_set_peak(&site_peak_second, 0);
	truth_set_peak(&site_peak_base, BASE * BASE_BYTES);
	truth_set_peak(&site_peak_after, 0);
	truth_print();
	return truth_failures != 0;
}
