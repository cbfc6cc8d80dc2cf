/* SPDX-License-Identifier: MIT */
/* Numbers that look like chance, and are the same in each run. */
#ifndef RANDOM_BELOW_H
#define RANDOM_BELOW_H

#include <stdint.h>

static uint64_t random_state = 88172645463325252ull;

static uint64_t random_below(uint64_t end)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state % end;
}

#endif
