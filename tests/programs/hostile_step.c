/* SPDX-License-Identifier: MIT */
// build: -lpthread -ldl
/*
 * Runs single operations instruction by instruction (the processor's trap flag) and lets a signal
 * handler act inside the profiler, after every other number of its instructions:
 *   start     leave a thread's first allocation by siglongjmp
 *   begin     leave a forked child's first allocation; its threads must not wait for the rest of it
 *   fork      fork in the handler; the child returns into the operation
 *   forkwork  the same, and the child allocates before it returns
 *   forklost  fork in the handler, a child that can have no ledger
 *   frees N   free N blocks in the handler, which the interrupted operation has nothing to do with
 *   exit N    in a forked child: free N blocks in the handler, then end by _exit
 *   exec N    the same, and end by becoming another program, which fails at first
 * Nothing else is interrupted, so what the handler does is allowed. It never acts without a
 * profiler.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "profiler_code.h"
#include "truth.h"

enum { TRAP_FLAG = 1 << 8, BLOCKS_MAX = 400, BYTES = 1200, DEPTH = 12, STRIDE = 127 };

TRUTH_SITE(kept_block);
TRUTH_SITE(new_stack);
TRUTH_SITE(after_jump);

static void (*act)(void);
static volatile long left;
static sigjmp_buf again;
static void *blocks[BLOCKS_MAX];
static int block_count;

static void on_step(int number, siginfo_t *info, void *context)
{
	ucontext_t *at = context;
	int saved = errno;

	(void)number;
	(void)info;
	if ((uintptr_t)at->uc_mcontext.gregs[REG_RIP] - profiler >= profiler_bytes || --left > 0)
		return;
	at->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
	act();
	errno = saved;
}

static SITE void set_trap(uint64_t flag)
{
	__asm__ volatile(
		"lea -128(%%rsp), %%rsp\n\tpushfq\n\tandq %0, (%%rsp)\n\torq %1, (%%rsp)\n\t"
		"popfq\n\tlea 128(%%rsp), %%rsp"
		:
		: "r"(~(uint64_t)TRAP_FLAG), "r"(flag)
		: "memory", "cc");
}

/* Run @operation, and act() after @steps instructions inside the profiler. True: it was longer. */
static int stepped(void (*operation)(void), long steps)
{
	left = steps;
	set_trap(TRAP_FLAG);
	operation();
	set_trap(0);
	if (left <= 0)
		return 1;
	left = 0;
	return 0;
}

/* ---- operations ---------------------------------------------------------------------------- */

static uint64_t route;

/* A block from a call stack that is new each time, one of 2^DEPTH. */
static SITE void new_stack(void)
{
	size_t bytes = 32 + route % 500;
	TRUTH_TEMPORARY(new_stack, bytes);
}

static void descend(int depth);

static SITE void turn_left(int depth)
{
	descend(depth - 1);
	__asm__ volatile("" ::: "memory");
}

static SITE void turn_right(int depth)
{
	descend(depth - 1);
	__asm__ volatile("nop" ::: "memory");
}

static SITE void descend(int depth)
{
	if (depth == 0)
		new_stack();
	else if (route >> depth & 1)
		turn_left(depth);
	else
		turn_right(depth);
	__asm__ volatile("" ::: "memory");
}

static void next_route(void)
{
	route += 2;
	descend(DEPTH);
}

static SITE void kept_block(void)
{
	for (int i = 0; i < block_count; i++) {
		blocks[i] = malloc(BYTES);
		truth_alloced(&site_kept_block, BYTES);
	}
}

static void free_blocks(void)
{
	for (int i = 0; i < block_count; i++) {
		free(blocks[i]);
		truth_freed(&site_kept_block, BYTES);
	}
}

/* ---- what the handler does ------------------------------------------------------------------ */

static void leave(void)
{
	siglongjmp(again, 1);
}

static int child_works, child_is_lost;
static int in_child;

static void be_child(void)
{
	const struct rlimit tiny = { 4096, 4096 };

	if (child_works)
		free(truth_hide_ptr(malloc(50)));
	if (child_is_lost)
		EXPECT(setrlimit(RLIMIT_FSIZE, &tiny) == 0);
}

static void fork_here(void)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		in_child = 1;
		be_child();
		return;
	}
	EXPECT(waitpid(pid, &status, 0) == pid);
	if (status)
		(void)fprintf(stderr, "a child ended with %#x\n", (unsigned)status);
}

static void free_and_exit(void)
{
	free_blocks();
	_exit(7);
}

static void free_and_exec(void)
{
	char *nothing[] = { NULL };

	free_blocks();
	(void)execve("/nowhere/at/all", nothing, nothing);
	(void)execle("/bin/sh", "sh", "-c", "exit 7", (char *)NULL, nothing);
	_exit(9);
}

/* ---- the tries ------------------------------------------------------------------------------ */

static SITE void after_jump(void)
{
	TRUTH_TEMPORARY(after_jump, BYTES);
}

static void first_operation(void)
{
	free(truth_hide_ptr(malloc(10)));
}

static void *start_and_leave(void *steps)
{
	int longer = 1;

	if (!sigsetjmp(again, 1))
		longer = stepped(first_operation, (long)steps);
	after_jump();
	return (void *)(intptr_t)longer;
}

static int try_start(long steps)
{
	pthread_t thread;
	void *longer = NULL;

	act = leave;
	EXPECT(pthread_create(&thread, NULL, start_and_leave, (void *)steps) == 0);
	EXPECT(pthread_join(thread, &longer) == 0);
	return longer != NULL;
}

static void *allocate_in_time(void *unused)
{
	struct timespec before, after;

	(void)unused;
	(void)clock_gettime(CLOCK_MONOTONIC, &before);
	for (int i = 0; i < 20; i++)
		first_operation();
	(void)clock_gettime(CLOCK_MONOTONIC, &after);
	return (void *)(intptr_t)(after.tv_sec - before.tv_sec >= 3);
}

static int try_begin(long steps)
{
	pthread_t thread;
	void *late = NULL;
	int status = 0;
	pid_t pid;

	act = leave;
	pid = fork();
	if (pid == 0) {
		volatile int longer = 1;

		if (!sigsetjmp(again, 1))
			longer = stepped(first_operation, steps);
		EXPECT(pthread_create(&thread, NULL, allocate_in_time, NULL) == 0);
		EXPECT(pthread_join(thread, &late) == 0);
		_exit(late ? 8 : longer ? 7 : 0);
	}
	EXPECT(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) != 8);
	return WEXITSTATUS(status) == 7;
}

static int try_fork(long steps)
{
	int longer;

	act = fork_here;
	longer = stepped(next_route, steps);
	if (in_child) {
		for (int i = 0; i < 5; i++)
			next_route();
		_exit(0);
	}
	return longer;
}

static int try_frees(long steps)
{
	int longer;

	act = free_blocks;
	kept_block();
	longer = stepped(next_route, steps);
	if (!longer)
		free_blocks();
	return longer;
}

static void (*end)(void) = free_and_exit;

static int try_exit(long steps)
{
	int status = 0;
	pid_t pid;

	pid = fork();
	if (pid == 0) {
		kept_block();
		act = end;
		(void)stepped(next_route, steps);
		free_blocks();
		_exit(8);
	}
	EXPECT(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	return WEXITSTATUS(status) == 7;
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_flags = SA_SIGINFO };
	const char *mode = argc > 1 ? argv[1] : "";
	int (*try)(long) = strcmp(mode, "start") == 0	   ? try_start
			   : strcmp(mode, "begin") == 0	   ? try_begin
			   : strncmp(mode, "fork", 4) == 0 ? try_fork
			   : strncmp(mode, "ex", 2) == 0   ? try_exit
							   : try_frees;
	long steps = 1, tries = 1;

	block_count = argc > 2 ? atoi(argv[2]) : 0;
	child_works = strcmp(mode, "forkwork") == 0;
	child_is_lost = strcmp(mode, "forklost") == 0;
	if (strcmp(mode, "exec") == 0)
		end = free_and_exec;
	EXPECT(block_count <= BLOCKS_MAX);
	action.sa_sigaction = on_step;
	EXPECT(sigaction(SIGTRAP, &action, NULL) == 0);
	find_profiler();
	for (; try(steps); steps += try == try_exit    ? 4 * STRIDE
				    : try == try_begin ? steps
						       : STRIDE)
		tries++;
	truth_line("note tries=%ld\n", tries);
	truth_print();
	return truth_failures != 0;
}
