/* SPDX-License-Identifier: MIT */
/*
 * A handler that returns after it freed 40 blocks, wherever it hits: in the profiler's books too.
 * The interrupted code takes and gives back one small block all the time, which glibc serves from
 * a list of its own, so that the handler's frees of larger ones do no harm to the heap.
 */
#include <signal.h>
#include <sys/time.h>

#include "truth.h"

enum { BLOCKS = 40, BYTES = 2000, ROUNDS = 400, DELAY_US = 200 };

TRUTH_SITE(take);

static void *blocks[BLOCKS];
static volatile sig_atomic_t done;

static SITE void take(void)
{
	for (int i = 0; i < BLOCKS; i++) {
		blocks[i] = malloc(BYTES);
		truth_alloced(&site_take, BYTES);
	}
}

static void give_back(int number)
{
	(void)number;
	for (int i = 0; i < BLOCKS; i++) {
		free(blocks[i]);
		truth_freed(&site_take, BYTES);
	}
	done = 1;
}

int main(void)
{
	struct itimerval once = { { 0, 0 }, { 0, DELAY_US } };

	(void)signal(SIGALRM, give_back);
	for (int round = 0; round < ROUNDS; round++) {
		take();
		done = 0;
		(void)setitimer(ITIMER_REAL, &once, NULL);
		while (!done)
			free(truth_hide_ptr(malloc(20)));
	}
	truth_print();
	return 0;
}
