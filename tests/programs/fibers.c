/* SPDX-License-Identifier: MIT */
/*
 * Three fibers and the main stack take turns, each with an allocation deep inside it. Then many
 * more fibers than a thread remembers stacks of.
 */
#include <sys/mman.h>
#include <ucontext.h>

#include "truth.h"

enum { FIBERS = 12, FEW = 3, TURNS = 20000, DEPTH = 60, BYTES = 40, STACK_BYTES = 64 << 10 };

TRUTH_SITE(site_fiber);
TRUTH_SITE(site_main);

static ucontext_t main_context, contexts[FIBERS];
static int present;

static SITE void site_fiber(void)
{
	void *block = truth_hide_ptr(malloc(BYTES));

	truth_alloced(&site_site_fiber, BYTES);
	swapcontext(&contexts[present], &main_context);
	free(block);
	truth_freed(&site_site_fiber, BYTES);
}

static SITE void site_main(void)
{
	TRUTH_TEMPORARY(site_main, BYTES);
}

static SITE void descend(int depth)
{
	if (depth > 0) {
		descend(depth - 1);
		__asm__ volatile("");
		return;
	}
	for (;;)
		site_fiber();
}

static void fiber_main(void)
{
	descend(DEPTH);
}

static SITE void ascend(int depth, int fibers)
{
	if (depth > 0) {
		ascend(depth - 1, fibers);
		__asm__ volatile("");
		return;
	}
	for (int i = 0; i < TURNS; i++) {
		present = i % fibers;
		swapcontext(&main_context, &contexts[present]);
		site_main();
	}
}

int main(int argc, char **argv)
{
	int fibers = argc > 1 ? FIBERS : FEW;
	/* Side by side, without guard pages: the neighbour's stack begins where one ends. */
	char *stacks = mmap(NULL, (size_t)FIBERS * STACK_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)argv;
	for (int i = 0; i < fibers; i++) {
		getcontext(&contexts[i]);
		contexts[i].uc_stack.ss_sp = stacks + (size_t)i * STACK_BYTES;
		contexts[i].uc_stack.ss_size = STACK_BYTES;
		contexts[i].uc_link = NULL;
		makecontext(&contexts[i], fiber_main, 0);
	}
	ascend(DEPTH, fibers);
	puts("done");
	truth_print();
	return truth_failures != 0;
}
