/* SPDX-License-Identifier: MIT */
// build: -pthread
/*
 * Calls through code that no table describes, as a JIT compiler makes it: some keeps the frame
 * pointer, some uses the register for anything. On the main thread, on another, and on a fiber.
 */
#include <alloca.h>
#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "truth.h"

enum {
	ROUNDS = 2000,
	BYTES = 48,
	FIBER_BYTES = 256 << 10,
	CODE_BYTES = 4096,
	STACK_BYTES = 1 << 20,
	GUARD_BYTES = 64 << 10,
};

TRUTH_SITE(site_main);
TRUTH_SITE(site_thread);
TRUTH_SITE(site_fiber);
TRUTH_SITE(site_lost);

typedef void (*action)(void);

/* call(fn, value) by way of itself `deep` times more, a frame pointer kept each time. */
static void (*kept)(action fn, long value, long deep);
/* call(fn, value) with value in rbp. */
static void (*lost)(action fn, long value, long deep);

static const unsigned char kept_code[] = {
	0x55,			      /* push %rbp */
	0x48, 0x89, 0xe5,	      /* mov %rsp,%rbp */
	0x48, 0x85, 0xd2,	      /* test %rdx,%rdx */
	0x75, 0x04,		      /* jne 1f */
	0xff, 0xd7,		      /* call *%rdi */
	0x5d, 0xc3,		      /* pop %rbp; ret */
	0x48, 0xff, 0xca,	      /* 1: dec %rdx */
	0xe8, 0xeb, 0xff, 0xff, 0xff, /* call kept */
	0x5d, 0xc3,		      /* pop %rbp; ret */
};

static const unsigned char lost_code[] = {
	0x55, 0x53,		/* push %rbp; push %rbx */
	0x48, 0x83, 0xec, 0x08, /* sub $8,%rsp */
	0x48, 0x89, 0xf5,	/* mov %rsi,%rbp */
	0xff, 0xd7,		/* call *%rdi */
	0x48, 0x83, 0xc4, 0x08, /* add $8,%rsp */
	0x5b, 0x5d, 0xc3,	/* pop %rbx; pop %rbp; ret */
};

static SITE void site_main(void)
{
	TRUTH_TEMPORARY(site_main, BYTES);
}

static SITE void site_thread(void)
{
	TRUTH_TEMPORARY(site_thread, BYTES);
}

static SITE void site_fiber(void)
{
	TRUTH_TEMPORARY(site_fiber, BYTES);
}

static SITE void site_lost(void)
{
	TRUTH_TEMPORARY(site_lost, BYTES);
}

static SITE void through_kept(action fn)
{
	for (long i = 0; i < ROUNDS; i++)
		kept(fn, 0, i % 5);
}

static void *thread_main(void *argument)
{
	through_kept(site_thread);
	return argument;
}

static ucontext_t main_context, fiber_context;

static void fiber_main(void)
{
	through_kept(site_fiber);
}

static SITE void on_fiber(void)
{
	char *stack = mmap(NULL, FIBER_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);

	getcontext(&fiber_context);
	fiber_context.uc_stack.ss_sp = stack;
	fiber_context.uc_stack.ss_size = FIBER_BYTES;
	fiber_context.uc_link = &main_context;
	makecontext(&fiber_context, fiber_main, 0);
	swapcontext(&main_context, &fiber_context);
	munmap(stack, FIBER_BYTES);
}

/* A return address in a function whose frame is found by its frame pointer. */
static uintptr_t in_based_function;

static SITE void note_caller(void)
{
	in_based_function = (uintptr_t)__builtin_return_address(0);
}

static SITE void based_function(size_t bytes)
{
	char *room = alloca(bytes);

	__asm__ volatile("" ::"r"(room) : "memory");
	note_caller();
	__asm__ volatile("" ::"r"(room) : "memory");
}

static void never_called(void *argument)
{
	__asm__ volatile("" ::"r"(argument));
}

/*
 * What the register holds: a table of callbacks, and what looks like a frame of the function
 * above, with a frame pointer from which its frame ends beyond this stack.
 */
static SITE void through_lost_at_the_edge(uintptr_t end)
{
	volatile uintptr_t words[4] = { 1, (uintptr_t)never_called, end, in_based_function };

	for (long i = 0; i < ROUNDS; i++)
		lost(site_lost, (long)&words[i % 2 * 2], 0);
}

static void *edge_main(void *end)
{
	through_lost_at_the_edge((uintptr_t)end);
	return NULL;
}

/* On a stack beyond which nothing can be read. */
static SITE void on_edge(void)
{
	char *map = mmap(NULL, STACK_BYTES + GUARD_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0);
	pthread_attr_t attributes;
	pthread_t thread;

	mprotect(map, STACK_BYTES, PROT_READ | PROT_WRITE);
	pthread_attr_init(&attributes);
	pthread_attr_setstack(&attributes, map, STACK_BYTES);
	pthread_create(&thread, &attributes, edge_main, map + STACK_BYTES);
	pthread_join(thread, NULL);
	pthread_attr_destroy(&attributes);
}

/* What the register holds: nothing mapped, no stack, and words of this stack that are no frame. */
static SITE void through_lost(char *elsewhere)
{
	volatile long words[6] = { 1, 2, (long)elsewhere, (long)elsewhere + 64, 0x1234, -1 };
	const long values[] = { 0,
				8,
				-8,
				0x7fffdead0000,
				(long)elsewhere,
				(long)words,
				(long)&words[2],
				(long)words + 4,
				(long)&words[4] };

	for (long i = 0; i < ROUNDS; i++)
		lost(site_lost, values[(size_t)i % (sizeof(values) / sizeof(values[0]))], 0);
}

int main(void)
{
	char *code = mmap(NULL, CODE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			  0);
	pthread_t thread;

	memcpy(code, kept_code, sizeof(kept_code));
	memcpy(code + 1024, lost_code, sizeof(lost_code));
	mprotect(code, CODE_BYTES, PROT_READ | PROT_EXEC);
	kept = (void (*)(action, long, long))(uintptr_t)code;
	lost = (void (*)(action, long, long))(uintptr_t)(code + 1024);
	through_kept(site_main);
	pthread_create(&thread, NULL, thread_main, NULL);
	pthread_join(thread, NULL);
	on_fiber();
	through_lost(code + 2048);
	based_function(100);
	on_edge();
	puts("done");
	truth_print();
	return truth_failures != 0;
}
