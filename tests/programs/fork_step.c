/* SPDX-License-Identifier: MIT */
/*
 * fork_step ACTION OPERATION STRIDE: forked children, one after the other, do one OPERATION
 * (malloc, realloc, free) by single steps. In the first child a handler acts at the first
 * instruction of the profiler, in the next one STRIDE instructions later, until there is none left:
 *   take  allocates twice and frees one
 *   fork  forks a child that goes on where it was interrupted, and ends after the OPERATION
 *   end   forks a child that does what "take" does, and ends there
 * What the children did is counted, and what theirs did in the handler.
 */
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>

#include "profiler_code.h"
#include "truth.h"

enum { BEFORE = 2, BYTES = 100, BYTES_AFTER = 3000, BYTES_IN_HANDLER = 50, TRAP_FLAG = 0x100 };

TRUTH_SITE(main);

static struct shared {
	int over;
	unsigned long long allocs, alloc_bytes, frees, freed_bytes, children;
} * all;

static char action;
static long steps, act_at;
static volatile sig_atomic_t acted, is_grandchild;

static void count_alloc(size_t bytes)
{
	all->allocs++;
	all->alloc_bytes += bytes;
}

static void count_free(size_t bytes)
{
	all->frees++;
	all->freed_bytes += bytes;
}

static void take(void)
{
	EXPECT(truth_hide_ptr(malloc(BYTES_IN_HANDLER)) != NULL);
	free(truth_hide_ptr(malloc(BYTES_IN_HANDLER)));
	count_alloc(BYTES_IN_HANDLER);
	count_alloc(BYTES_IN_HANDLER);
	count_free(BYTES_IN_HANDLER);
}

static void act(void)
{
	int status = 0;
	pid_t pid;

	if (action == 't') {
		take();
		return;
	}
	/* A few are older than half a second, from when on their ledgers have names. */
	if (action == 'e' && all->children % 16 == 1)
		usleep(550000);
	pid = fork();
	if (pid != 0) {
		EXPECT(waitpid(pid, &status, 0) == pid && (action == 'f' || status == 0));
		return;
	}
	is_grandchild = 1;
	if (action == 'f')
		return;
	take();
	_exit(0);
}

static void on_step(int signal, siginfo_t *info, void *context)
{
	greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;

	(void)signal;
	(void)info;
	if ((uintptr_t)registers[REG_RIP] - profiler >= profiler_bytes || steps++ != act_at)
		return;
	acted = 1;
	registers[REG_EFL] &= ~TRAP_FLAG;
	act();
}

static inline void set_stepping(int on)
{
	unsigned long flags = __builtin_ia32_readeflags_u64();

	__builtin_ia32_writeeflags_u64(on ? flags | TRAP_FLAG : flags & ~(unsigned long)TRAP_FLAG);
}

static void be_child(char operation)
{
	struct sigaction action = { .sa_sigaction = on_step, .sa_flags = SA_SIGINFO | SA_NODEFER };
	void *block = NULL;

	EXPECT(sigaction(SIGTRAP, &action, NULL) == 0);
	for (int i = 0; i < BEFORE; i++) {
		block = truth_hide_ptr(malloc(BYTES));
		count_alloc(BYTES);
	}
	set_stepping(1);
	switch (operation) {
	case 'm':
		block = malloc(BYTES_AFTER);
		break;
	case 'r':
		block = realloc(block, BYTES_AFTER);
		break;
	default:
		free(block);
	}
	set_stepping(0);
	if (is_grandchild)
		_exit(0);
	truth_hide_ptr(block);
	if (operation != 'f')
		count_alloc(BYTES_AFTER);
	if (operation != 'm')
		count_free(BYTES);
	/* What it had, and enough to be asked for a ledger. */
	for (int i = 0; i < 3; i++) {
		free(truth_hide_ptr(malloc(BYTES)));
		count_alloc(BYTES);
		count_free(BYTES);
	}
	all->over = !acted;
	_exit(truth_failures != 0);
}

int main(int argc, char **argv)
{
	int status;

	EXPECT(argc == 4);
	action = argv[1][0];
	find_profiler();
	all = mmap(NULL, sizeof(*all), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	EXPECT(all != MAP_FAILED && truth_hide_ptr(malloc(1)) != NULL);
	truth_alloced(&site_main, 1);
	while (!all->over) {
		pid_t pid = fork();

		if (pid == 0)
			be_child(argv[2][0]);
		EXPECT(waitpid(pid, &status, 0) == pid && status == 0);
		all->children++;
		act_at += atoi(argv[3]);
	}
	truth_line("note allocs=%llu alloc_bytes=%llu frees=%llu freed_bytes=%llu children=%llu\n",
		   all->allocs, all->alloc_bytes, all->frees, all->freed_bytes, all->children);
	truth_print();
	return truth_failures != 0;
}
