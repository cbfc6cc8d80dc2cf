/* SPDX-License-Identifier: MIT */
/*
 * A 5 kHz timer whose handler allocates, and leaves by siglongjmp every third time, once from
 * deep below. Modes (words, in any order):
 *   altstack  the handler runs on its own stack
 *   any       the handler allocates wherever it hits, inside malloc too: only with an allocator
 *             that allows it (lib_bump); without it the handler keeps out of malloc by a flag
 *   stay      never leave by siglongjmp
 */
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>

#include "truth.h"

enum { TICKS = 5000, RING = 64 };

TRUTH_TAGGING_MAKER(main_work, malloc(bytes));
TRUTH_TAGGING_MAKER(handler_work, malloc(bytes));
TRUTH_SITE(handler_deep);

static sigjmp_buf again;
static volatile sig_atomic_t in_malloc, ticks, skipped, jumps;
static volatile sig_atomic_t any, stay;
static void *volatile current;
static void *ring[RING];
static volatile unsigned ring_next;

static SITE void *handler_deep(int depth, size_t bytes)
{
	void *block;

	if (depth > 0) {
		block = handler_deep(depth - 1, bytes);
		return truth_hide_ptr(block);
	}
	block = calloc(1, bytes);
	truth_tag_block(block, &site_handler_deep, bytes);
	return block;
}

static void remember(void *block)
{
	unsigned slot = ring_next++ % RING;
	void *old = ring[slot];

	ring[slot] = block;
	if (!old)
		return;
	truth_untag_block(old);
	free(old);
}

static SITE void leave(int depth)
{
	if (depth > 0)
		leave(depth - 1);
	__asm__ volatile("" : : : "memory");
	siglongjmp(again, 1);
}

static void on_tick(int signal_number)
{
	int saved = errno;

	(void)signal_number;
	ticks++;
	if (in_malloc && !any) {
		skipped++;
		return;
	}
	remember(handler_work(40 + (size_t)ticks % 100));
	remember(handler_deep((int)ticks % 50, 50));
	errno = saved;
	if (stay || ticks % 3 != 0)
		return;
	jumps++;
	leave((int)ticks % 20);
}

/* Time for signals outside of malloc; little of it where they may hit malloc too. */
static SITE void compute(void)
{
	unsigned rounds = any ? 100 : 2000;
	volatile unsigned i;

	for (i = 0; i < rounds; i++)
		continue;
}

static void one_step(unsigned step)
{
	void *block = current;

	in_malloc = 1;
	if (block) {
		current = NULL;
		truth_untag_block(block);
		free(block);
	} else {
		current = main_work(sizeof(struct truth_tag) + step % (any ? 32 : 1000));
	}
	in_malloc = 0;
}

static void start_timer(int on_own_stack)
{
	static char stack[1 << 18];
	struct itimerval every = { { 0, 200 }, { 0, 200 } };
	struct sigaction action;
	stack_t own = { .ss_sp = stack, .ss_size = sizeof(stack) };

	memset(&action, 0, sizeof(action));
	action.sa_handler = on_tick;
	action.sa_flags = SA_RESTART | (on_own_stack ? SA_ONSTACK : 0);
	EXPECT(sigaltstack(&own, NULL) == 0);
	EXPECT(sigaction(SIGALRM, &action, NULL) == 0);
	EXPECT(setitimer(ITIMER_REAL, &every, NULL) == 0);
}

static void stop_timer(void)
{
	struct itimerval never = { { 0, 0 }, { 0, 0 } };

	EXPECT(setitimer(ITIMER_REAL, &never, NULL) == 0);
	EXPECT(signal(SIGALRM, SIG_IGN) != SIG_ERR);
}

int main(int argc, char **argv)
{
	static volatile unsigned step;
	int i, own_stack = 0;

	for (i = 1; i < argc; i++) {
		own_stack |= strcmp(argv[i], "altstack") == 0;
		any |= strcmp(argv[i], "any") == 0;
		stay |= strcmp(argv[i], "stay") == 0;
	}
	start_timer(own_stack);
	(void)sigsetjmp(again, 1);
	while (ticks < TICKS) {
		one_step(step++);
		compute();
	}
	stop_timer();
	EXPECT(skipped < TICKS);
	truth_line("note jumps=%d skipped=%d\n", (int)jumps, (int)skipped);
	truth_print();
	return truth_failures != 0;
}
