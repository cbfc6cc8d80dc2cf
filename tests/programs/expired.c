/* SPDX-License-Identifier: MIT */
/*
 * expired SECONDS: frees nearly all blocks of one call stack at once, keeps five for SECONDS, and
 * then frees three of these and goes on for half a second. Prints how many it freed late, how many
 * are left, and their bytes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { KEPT = 5, LATE = 3, BYTES = 120 };

__attribute__((noinline)) static void *take(void)
{
	void *block = malloc(BYTES);

	__asm__ volatile("" : "+r"(block));
	return block;
}

/* Ten blocks that live for 5 ms, again and again; @kept: the first five of them stay. */
__attribute__((noinline)) static void churn(double seconds, void **kept)
{
	const struct timespec pause = { .tv_nsec = 5000000 };

	for (int round = 0; round < (int)(seconds * 200); round++) {
		void *blocks[10];

		for (int i = 0; i < 10; i++)
			blocks[i] = take();
		(void)nanosleep(&pause, NULL);
		for (int i = 0; i < 10; i++) {
			if (round == 0 && kept && i < KEPT)
				kept[i] = blocks[i];
			else
				free(blocks[i]);
		}
	}
}

/* From one place, so that all blocks have one call stack. */
int main(int argc, char **argv)
{
	const double seconds[] = { argc > 1 ? atof(argv[1]) : 3, 0.5 };
	void *kept[KEPT];

	for (int part = 0; part < 2; part++) {
		churn(seconds[part], part ? NULL : kept);
		for (int i = 0; part == 0 && i < LATE; i++)
			free(kept[i]);
	}
	printf("late %d left %d bytes %d\n", LATE, KEPT - LATE, (KEPT - LATE) * BYTES);
	return 0;
}
