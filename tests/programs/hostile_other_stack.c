/* SPDX-License-Identifier: MIT */
/*
 * Calls a function on another stack by inline assembly, at the very end of its mapping, in a function
 * whose unwind information knows nothing of that: its caller's frame would lie beyond.
 */
#include <sys/mman.h>

#include "truth.h"

enum { STACK_BYTES = 65536, CALLS = 100, BYTES = 40 };

TRUTH_SITE(allocate);

static SITE void allocate(void)
{
	TRUTH_TEMPORARY(allocate, BYTES);
}

static __attribute__((noinline, optimize("omit-frame-pointer"))) void call_on(
	char *top, void (*function)(void))
{
	char frame[256];

	__asm__ volatile("" ::"r"(frame) : "memory");
	__asm__ volatile("mov %%rsp, %%rbx\n"
			 "mov %0, %%rsp\n"
			 "call *%1\n"
			 "mov %%rbx, %%rsp\n" ::"r"(top),
			 "r"(function)
			 : "rbx", "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11",
			   "memory", "cc");
}

int main(void)
{
	char *stack = mmap(NULL, STACK_BYTES + 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	EXPECT(stack != MAP_FAILED && mprotect(stack, STACK_BYTES, PROT_READ | PROT_WRITE) == 0);
	for (int i = 0; i < CALLS; i++)
		call_on(stack + STACK_BYTES, allocate);
	truth_print();
	return truth_failures != 0;
}
