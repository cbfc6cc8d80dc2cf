/* SPDX-License-Identifier: MIT */
/* A library that the program needs: its destructor runs after those of what was preloaded. */
extern volatile unsigned long long ends_ran;

volatile unsigned long long ends_ran;

static __attribute__((destructor)) void run_late(void)
{
	ends_ran++;
}
