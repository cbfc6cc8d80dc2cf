/* SPDX-License-Identifier: MIT */
/*
 * The same return addresses in the same places, reached over another frame pointer: outer()
 * takes stack in the middle of itself, so that its own frame may stand higher or lower over the
 * same leaf(), and a signal between the two walks makes the first one forgotten in part.
 */
#include <alloca.h>
#include <signal.h>

#include "truth.h"

enum { TAKEN = 4096, SHIFT_MIN = 1024, SHIFT_MAX = 1280, SHIFT_STEP = 8 };

void *volatile hostile_block;

/*
 * leaf(traps): traps before it saves rbp, then clobbers rbp, allocates 24 bytes and frees them.
 * middle() leaves rbp alone.
 */
void leaf(int traps);
void middle(int traps);
__asm__(".text\n"
	".globl leaf\n"
	".type leaf,@function\n"
	"leaf:\n"
	"	.cfi_startproc\n"
	"	test %edi,%edi\n"
	"	je 1f\n"
	"	int3\n"
	"1:	push %rbp\n"
	"	.cfi_def_cfa_offset 16\n"
	"	.cfi_offset 6,-16\n"
	"	mov $12345,%ebp\n"
	"	mov $24,%edi\n"
	"	call malloc@PLT\n"
	"	mov %rax,hostile_block(%rip)\n"
	"	mov %rax,%rdi\n"
	"	call free@PLT\n"
	"	pop %rbp\n"
	"	.cfi_def_cfa_offset 8\n"
	"	.cfi_restore 6\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size leaf,.-leaf\n"
	".globl middle\n"
	".type middle,@function\n"
	"middle:\n"
	"	.cfi_startproc\n"
	"	sub $8,%rsp\n"
	"	.cfi_def_cfa_offset 16\n"
	"	call leaf\n"
	"	add $8,%rsp\n"
	"	.cfi_def_cfa_offset 8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size middle,.-middle\n");

static SITE __attribute__((optimize("no-omit-frame-pointer"))) void outer(int traps, size_t take)
{
	char *volatile taken = alloca(take);

	(void)taken;
	middle(traps);
	__asm__ volatile("");
}

/* Puts outer() about a kilobyte deeper; with as much less taken, leaf() is where it was. */
static SITE void deeper(int traps, size_t take)
{
	char pad[1024];

	__asm__ volatile("" : : "r"(pad) : "memory");
	outer(traps, take);
	__asm__ volatile("" : : "r"(pad) : "memory");
}

static void on_trap(int number)
{
	(void)number;
	hostile_block = malloc(8);
	free(hostile_block);
}

int main(void)
{
	const struct sigaction action = { .sa_handler = on_trap };
	void (*volatile call)(int, size_t);

	(void)sigaction(SIGTRAP, &action, NULL);
	for (size_t shift = SHIFT_MIN; shift < SHIFT_MAX; shift += SHIFT_STEP)
		for (int i = 0; i < 4; i++) {
			call = i < 2 ? outer : deeper;
			call(i == 1, i < 2 ? TAKEN : TAKEN - shift);
		}
	return 0;
}
