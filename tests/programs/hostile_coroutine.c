/* SPDX-License-Identifier: MIT */
// build: -Os -fno-toplevel-reorder
/*
 * Coroutines switched by hand. What lies on a new one's stack as its entry's return address is
 * the first instruction of leave(), so the call "before" it is in huge(), whose frame of 600,000
 * bytes would lead beyond the small stack into memory that cannot be read.
 */
#include <sys/mman.h>

#include "truth.h"

enum { PAGE = 4096, STACK_BYTES = 16384, REST_BYTES = 1 << 20, BYTES = 100, SAVED = 6 };

TRUTH_SITE(entry);

void switch_stacks(void **ret_from, void *to);
__asm__(".text\n"
	".globl switch_stacks\n"
	".type switch_stacks,@function\n"
	"switch_stacks:\n"
	"	push %rbp\n	push %rbx\n	push %r12\n"
	"	push %r13\n	push %r14\n	push %r15\n"
	"	mov %rsp,(%rdi)\n"
	"	mov %rsi,%rsp\n"
	"	pop %r15\n	pop %r14\n	pop %r13\n"
	"	pop %r12\n	pop %rbx\n	pop %rbp\n"
	"	ret\n"
	".size switch_stacks,.-switch_stacks\n");

static void *main_stack, *own_stack;

/* Its last instruction is the call of abort(): the next function begins right behind that. */
__attribute__((noinline, noreturn, section(".text.pair"))) void huge(void)
{
	char text[600000];

	(void)snprintf(text, sizeof(text), "never");
	puts(text);
	abort();
}

__attribute__((noinline, noreturn, section(".text.pair"))) void leave(void)
{
	switch_stacks(&own_stack, main_stack);
	__builtin_unreachable();
}

static SITE void entry(void)
{
	TRUTH_TEMPORARY(entry, BYTES);
}

int main(int argc, char **argv)
{
	char *memory = mmap(NULL, STACK_BYTES + REST_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);
	uintptr_t *top = (uintptr_t *)(memory + PAGE + STACK_BYTES);

	(void)argv;
	EXPECT(mprotect(memory + PAGE, STACK_BYTES, PROT_READ | PROT_WRITE) == 0);
	*--top = 0;
	*--top = (uintptr_t)leave;
	*--top = (uintptr_t)entry;
	for (int i = 0; i < SAVED; i++)
		*--top = 0;
	own_stack = top;
	switch_stacks(&main_stack, own_stack);
	puts("back");
	truth_print();
	if (argc > 5)
		huge();
	return truth_failures != 0;
}
