/* SPDX-License-Identifier: MIT */
// build: -Wl,-z,now
/*
 * Allocates, or with "fork" lets a child begin its ledger, on a stack of argv[2] bytes below
 * which nothing can be written; with "signal" in the handler of an overflowed main stack.
 */
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>

#include "truth.h"

enum { PAGE = 4096, CHILD_STATUS = 9, BYTES = 30 };

TRUTH_SITE(on_small_stack);

static ucontext_t outside, inside;
static sigjmp_buf again;
static int forks;

static SITE void on_small_stack(void)
{
	TRUTH_TEMPORARY(on_small_stack, BYTES);
}

static void body(void)
{
	int status = 0;

	if (!forks) {
		on_small_stack();
		return;
	}
	if (fork() == 0) {
		on_small_stack();
		_exit(CHILD_STATUS);
	}
	EXPECT(wait(&status) > 0);
	EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == CHILD_STATUS);
}

static void on_overflow(int number)
{
	(void)number;
	on_small_stack();
	siglongjmp(again, 1);
}

static SITE int overflow(int depth)
{
	volatile char room[200];

	room[0] = (char)depth;
	return overflow(depth + 1) + room[0];
}

static void overflow_with_handler(char *stack, size_t bytes)
{
	stack_t other = { .ss_sp = stack, .ss_size = bytes };
	struct sigaction action = { .sa_handler = on_overflow, .sa_flags = SA_ONSTACK };

	EXPECT(sigaltstack(&other, NULL) == 0);
	EXPECT(sigaction(SIGSEGV, &action, NULL) == 0);
	if (!sigsetjmp(again, 1))
		(void)overflow(0);
}

static void run_on(char *stack, size_t bytes)
{
	EXPECT(getcontext(&inside) == 0);
	inside.uc_stack.ss_sp = stack;
	inside.uc_stack.ss_size = bytes;
	inside.uc_link = &outside;
	makecontext(&inside, body, 0);
	EXPECT(swapcontext(&outside, &inside) == 0);
}

int main(int argc, char **argv)
{
	size_t bytes = argc > 2 ? strtoul(argv[2], NULL, 0) : 0;
	char *memory = mmap(NULL, bytes + PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	EXPECT(argc == 3);
	EXPECT(mprotect(memory + PAGE, bytes, PROT_READ | PROT_WRITE) == 0);
	forks = strcmp(argv[1], "fork") == 0;
	if (strcmp(argv[1], "signal") == 0)
		overflow_with_handler(memory + PAGE, bytes);
	else
		run_on(memory + PAGE, bytes);
	puts("survived");
	truth_print();
	return truth_failures != 0;
}
