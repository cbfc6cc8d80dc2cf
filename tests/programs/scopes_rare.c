/* SPDX-License-Identifier: MIT */
// build: -O1 -g -pthread
/* Scopes where it is rare: scopes_rare CASE. What each holds, the test knows. */
#define _GNU_SOURCE
#include "seep/seep.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

static void *volatile kept[1 << 16];
static unsigned kept_count;

static void keep(size_t bytes)
{
	kept[__atomic_fetch_add(&kept_count, 1, __ATOMIC_RELAXED)] = malloc(bytes);
}

/* Two in one function, in both orders of their addresses: the outer one is left first. */
static void leave_out_of_order(void)
{
	static struct seep_tag outer = { "outer", 0 }, inner = { "inner", 0 };
	char at[2];

	for (int i = 0; i < 10; i++) {
		seep_scope_enter(&outer, &at[i % 2]);
		seep_scope_enter(&inner, &at[1 - i % 2]);
		seep_scope_leave(&at[i % 2]);
		seep_scope_leave(&at[1 - i % 2]);
		keep(1);
	}
}

static void *leave_raw(void *unused)
{
	(void)unused;
	SEEP_SCOPE("ends");
	keep(100);
	syscall(SYS_exit, 0);
	return NULL;
}

/* One after the other: the next thread takes the cache of the one before. */
static void end_threads(void)
{
	for (int i = 0; i < 10; i++) {
		pthread_t id;

		pthread_create(&id, NULL, leave_raw, NULL);
		usleep(20000);
	}
}

static void *cancelled(void *unused)
{
	(void)unused;
	SEEP_SCOPE("cancelled");
	keep(100);
	pthread_exit(NULL);
}

static void exit_threads(void)
{
	for (int i = 0; i < 10; i++) {
		pthread_t id;

		pthread_create(&id, NULL, cancelled, NULL);
		pthread_join(id, NULL);
	}
}

/* The child goes on in what is open, and has scopes of its own. */
static void fork_inside(void)
{
	SEEP_SCOPE("outer");
	seep_scope request = seep_scope_begin("request");

	keep(10);
	if (fork() == 0) {
		for (int i = 0; i < 2000; i++)
			keep(1000);
		{
			SEEP_SCOPE("child");
			keep(7);
		}
		seep_scope_end(request);
		keep(5);
		exit(0);
	}
	wait(NULL);
	seep_scope_end(request);
	keep(20);
}

/* Nothing is allocated between the two forks. */
static void fork_twice(void)
{
	SEEP_SCOPE("outer");
	if (fork() == 0) {
		if (fork() == 0) {
			for (int i = 0; i < 2000; i++)
				keep(1000);
			exit(0);
		}
		wait(NULL);
		_exit(0);
	}
	wait(NULL);
}

static __attribute__((noinline)) void recurse(int depth)
{
	SEEP_SCOPE("recurse");
	if (depth)
		recurse(depth - 1);
	else
		keep(1), usleep(20000);
}

static void recursion(void)
{
	recurse(19);
}

static ucontext_t main_context, context;
static seep_scope in_context;

static void coroutine(void)
{
	in_context = seep_scope_begin("coroutine");
	{
		SEEP_SCOPE("part");
		keep(1);
		seep_scope_suspend(in_context);
		swapcontext(&context, &main_context);
		seep_scope_resume(in_context);
		keep(2);
	}
	keep(4);
	seep_scope_end(in_context);
}

static void coroutines(void)
{
	static char stack[1 << 16];

	SEEP_SCOPE("loop");
	getcontext(&context);
	context.uc_stack.ss_sp = stack;
	context.uc_stack.ss_size = sizeof(stack);
	context.uc_link = &main_context;
	makecontext(&context, coroutine, 0);
	swapcontext(&main_context, &context);
	keep(8);
	swapcontext(&main_context, &context);
	keep(16);
}

static sigjmp_buf back;

static void handler(int number)
{
	(void)number;
	SEEP_SCOPE("handler");
	keep(3);
	siglongjmp(back, 1);
}

static __attribute__((noinline)) void raise_inside(void)
{
	SEEP_SCOPE("outer");
	{
		SEEP_SCOPE("inner");
		raise(SIGUSR1);
	}
}

/* From a stack of its own, out of two scopes on the thread's; then out of two of this function. */
static void jump_from_handler(void)
{
	static char stack[1 << 16];
	const stack_t alternate = { .ss_sp = stack, .ss_size = sizeof(stack) };
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_ONSTACK };

	sigaltstack(&alternate, NULL);
	sigaction(SIGUSR1, &action, NULL);
	for (volatile int i = 0; i < 5; i++) {
		if (sigsetjmp(back, 1) == 0)
			raise_inside();
		keep(1);
	}
	for (volatile int i = 0; i < 5; i++)
		if (sigsetjmp(back, 1) == 0) {
			SEEP_SCOPE("same");
			{
				SEEP_SCOPE("function");
				raise(SIGUSR1);
			}
		}
}

static void jump(int number)
{
	(void)number;
	siglongjmp(back, 1);
}

static __attribute__((noinline)) void enter_and_leave(void)
{
	SEEP_SCOPE("stormy");
	__asm__ volatile("");
}

/* Most signals interrupt the library. */
static void storm(void)
{
	const struct itimerval often = { { 0, 200 }, { 0, 200 } }, never = { { 0, 0 }, { 0, 0 } };
	volatile int jumps = 0;

	signal(SIGALRM, jump);
	if (sigsetjmp(back, 1))
		jumps++;
	setitimer(ITIMER_REAL, &often, NULL);
	while (jumps < 500)
		enter_and_leave();
	setitimer(ITIMER_REAL, &never, NULL);
	signal(SIGALRM, SIG_IGN);
	keep(77);
}

/* The same in calls that move scopes; which of them ends twice or never is said. */
static void storm_of_moves(void)
{
	const struct itimerval often = { { 0, 200 }, { 0, 200 } }, never = { { 0, 0 }, { 0, 0 } };
	static volatile int jumps, failed;
	static volatile seep_scope moved, parts[8];
	static volatile bool is_begun;

	signal(SIGALRM, jump);
	if (sigsetjmp(back, 1)) {
		jumps++;
		if (is_begun)
			failed += seep_scope_end(moved) != 0;
		is_begun = false;
	}
	setitimer(ITIMER_REAL, &often, NULL);
	while (jumps < 300) {
		seep_scope begun = seep_scope_begin("moved");

		for (int i = 0; i < 8; i++)
			parts[i] = seep_scope_begin("part");
		moved = begun;
		is_begun = true;
		for (int i = 0; i < 20; i++) {
			seep_scope_suspend(begun);
			seep_scope_resume(begun);
		}
		is_begun = false;
		seep_scope_suspend(begun);
		seep_scope_end(begun);
	}
	setitimer(ITIMER_REAL, &never, NULL);
	signal(SIGALRM, SIG_IGN);
	printf("%d\n", failed);
}

static pthread_barrier_t all_open;

static void *hold(void *unused)
{
	for (int i = 0; i < 4096; i++)
		seep_scope_begin("held");
	pthread_barrier_wait(&all_open);
	pause();
	return unused;
}

/* All handles but two are open in other threads, which the child does not have. */
static void fork_among(void)
{
	seep_scope mine = seep_scope_begin("mine"), later = seep_scope_begin("later"), begun = 0;
	pthread_t id;

	seep_scope_suspend(later);
	pthread_barrier_init(&all_open, NULL, 5);
	for (int i = 0; i < 4; i++)
		pthread_create(&id, NULL, hold, NULL);
	pthread_barrier_wait(&all_open);
	printf("%d ", seep_scope_begin("too many") != 0);
	fflush(stdout);
	if (fork() == 0) {
		for (int i = 0; i < 1000; i++)
			begun += seep_scope_begin("child") != 0;
		printf("%llu %d %d\n", begun, seep_scope_end(later), seep_scope_end(mine));
		exit(0);
	}
	wait(NULL);
	exit(0);
}

static void too_many(void)
{
	char tag[32];

	for (int i = 0; i < 20000; i++) {
		snprintf(tag, sizeof(tag), "request=%d", i);
		SEEP_SCOPE_NAMED(tag);
		keep(1);
	}
}

static void deep(int depth)
{
	char tag[32];

	if (depth == 0)
		return;
	snprintf(tag, sizeof(tag), "%s", depth % 2 ? "odd" : "even");
	SEEP_SCOPE_NAMED(tag);
	keep(1);
	deep(depth - 1);
}

static void misuse(void)
{
	seep_scope scope = seep_scope_begin("mine");

	/* Twice, of another's, of none: nothing happens. */
	printf("%d", seep_scope_resume(scope));
	printf(" %d", seep_scope_suspend(scope));
	printf(" %d", seep_scope_suspend(scope));
	printf(" %d", seep_scope_end(scope));
	printf(" %d", seep_scope_end(scope));
	printf(" %d", seep_scope_end(0));
	printf(" %d\n", seep_scope_end(UINT64_C(0x123456789abc)));
	{
		SEEP_SCOPE_NAMED("");
		SEEP_SCOPE_NAMED(NULL);
		keep(1);
	}
	{
		SEEP_SCOPE("a tag of more bytes than count, which are sixty-three: this one here");
		keep(2);
	}
	{
		SEEP_SCOPE("\033[31mred\n");
		keep(3);
	}
}

/* A block outside of scopes where one was in a scope; then it is freed in one. */
static void reused(void)
{
	for (int i = 0; i < 100; i++) {
		void *volatile block;

		{
			SEEP_SCOPE("in");
			block = malloc(60);
			free(block);
		}
		block = malloc(60);
		{
			SEEP_SCOPE("in");
			if (i % 2)
				block = realloc(block, 1000);
			free(block);
		}
	}
}

static seep_scope outlives;

static void start_request(void)
{
	SEEP_SCOPE("start");
	if (!outlives)
		outlives = seep_scope_begin("request");
	usleep(2000);
}

/* In the request's path is a tag that is not open any more. */
static void left_tag(void)
{
	for (int i = 0; i < 5; i++)
		start_request();
	seep_scope_end(outlives);
}

/* Until it is killed. */
static void both(void)
{
	while (kept_count < 60000) {
		void *volatile block = malloc(10);

		free(block);
		SEEP_SCOPE("scope");
		keep(20);
		usleep(1000);
	}
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*does)(void);
	} cases[] = {
		{ "end", end_threads },
		{ "exit", exit_threads },
		{ "fork", fork_inside },
		{ "coroutines", coroutines },
		{ "handler", jump_from_handler },
		{ "many", too_many },
		{ "misuse", misuse },
		{ "both", both },
		{ "reused", reused },
		{ "fork_twice", fork_twice },
		{ "recursion", recursion },
		{ "order", leave_out_of_order },
		{ "storm", storm },
		{ "storm_of_moves", storm_of_moves },
		{ "fork_among", fork_among },
		{ "left", left_tag },
	};

	for (size_t i = 0; argc > 1 && i < sizeof(cases) / sizeof(cases[0]); i++)
		if (strcmp(argv[1], cases[i].name) == 0)
			cases[i].does();
	if (argc > 1 && strcmp(argv[1], "deep") == 0)
		deep(6000);
	return 0;
}
