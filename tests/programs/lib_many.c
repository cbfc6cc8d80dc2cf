/* SPDX-License-Identifier: MIT */
/* A plugin of 128 functions, each of which allocates: as many call stacks and unwind rules. */
#include <stdlib.h>

typedef void *function(void);

#define ONE(n)                                                     \
	static __attribute__((noinline)) void *allocate_##n(void)  \
	{                                                          \
		void *volatile block = malloc((size_t)0x##n + 24); \
                                                                   \
		return block;                                      \
	}
#define EIGHT(d) ONE(d##0) ONE(d##1) ONE(d##2) ONE(d##3) ONE(d##4) ONE(d##5) ONE(d##6) ONE(d##7)
#define NAME8(d)                                                                             \
	allocate_##d##0, allocate_##d##1, allocate_##d##2, allocate_##d##3, allocate_##d##4, \
		allocate_##d##5, allocate_##d##6, allocate_##d##7

/* clang-format off */
EIGHT(1) EIGHT(2) EIGHT(3) EIGHT(4) EIGHT(5) EIGHT(6) EIGHT(7) EIGHT(8)
EIGHT(9) EIGHT(a) EIGHT(b) EIGHT(c) EIGHT(d) EIGHT(e) EIGHT(f) EIGHT(10)
	/* clang-format on */

	static function *const functions[] = {
		NAME8(1), NAME8(2), NAME8(3), NAME8(4), NAME8(5), NAME8(6), NAME8(7), NAME8(8),
		NAME8(9), NAME8(a), NAME8(b), NAME8(c), NAME8(d), NAME8(e), NAME8(f), NAME8(10),
	};

void allocate_by_all(void);

void allocate_by_all(void)
{
	for (unsigned i = 0; i < sizeof(functions) / sizeof(*functions); i++)
		free(functions[i]());
}
