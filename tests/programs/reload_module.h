/* SPDX-License-Identifier: MIT */
/*
 * Body of two modules whose code has the same length and the same calls at the same offsets, but
 * frames of different sizes: when one is unloaded and the other lands on its address, a rule or a
 * remembered walk that survived reads the wrong slots. FRAME is how large they are, as a text (8
 * modulo 16, below 128), BLOCK_BYTES what the module allocates when it is loaded.
 */
#include <stdlib.h>

/* module_call(fn, arg): fn(arg) below one frame of FRAME bytes. */
__asm__("	.text\n"
	"	.p2align 12\n"
	"	.globl module_call\n"
	"	.type module_call, @function\n"
	"module_call:\n"
	"	.cfi_startproc\n"
	"	endbr64\n"
	"	subq $" FRAME ", %rsp\n"
	"	.cfi_adjust_cfa_offset " FRAME "\n"
	"	movq %rdi, %rax\n"
	"	movq %rsi, %rdi\n"
	"	call *%rax\n"
	"	addq $" FRAME ", %rsp\n"
	"	.cfi_adjust_cfa_offset -" FRAME "\n"
	"	ret\n"
	"	.cfi_endproc\n"
	"	.size module_call, . - module_call\n");

static void *volatile kept;

/* The loader's own frames are part of these two walks. */
__attribute__((constructor)) static void loaded(void)
{
	kept = malloc(BLOCK_BYTES);
}

__attribute__((destructor)) static void unloaded(void)
{
	free(kept);
}
