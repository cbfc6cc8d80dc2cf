/* SPDX-License-Identifier: MIT */
// build: -std=c++17 -Wno-mismatched-new-delete -Wl,--enable-new-dtags @lib_hostile_new
/* Uses the operators that lib_hostile_new, or another library in its place, replaces. */
#include <new>

#include "truth.h"

enum { ARRAY_BYTES = 120, ROUNDS = 5 };

TRUTH_SITE(make_one);
TRUTH_SITE(make_array);

extern "C" int hostile_news(void);
extern "C" int hostile_deletes(void);

extern "C" SITE void make_one(void)
{
	long *block = (long *)truth_hide_ptr(new long);

	delete block;
	truth_alloced(&site_make_one, sizeof(long));
	truth_freed(&site_make_one, sizeof(long));
}

extern "C" SITE void make_array(void)
{
	char *block = (char *)truth_hide_ptr(new char[ARRAY_BYTES]);

	delete[] block;
	truth_alloced(&site_make_array, ARRAY_BYTES);
	truth_freed(&site_make_array, ARRAY_BYTES);
}

int main()
{
	for (int i = 0; i < ROUNDS; i++) {
		make_one();
		make_array();
	}
	printf("%d new, %d delete\n", hostile_news(), hostile_deletes());
	truth_print();
	return hostile_news() != 2 * ROUNDS || hostile_deletes() != 2 * ROUNDS;
}
