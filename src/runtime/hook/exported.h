/* SPDX-License-Identifier: MIT */
/*
 * Our functions under other people's names: how they are declared, whatever headers the C library
 * has; and what those are made from that no C function could be, since it has a frame of its own
 * and does not know what its caller had in registers.
 */
#ifndef SEEP_RUNTIME_EXPORTED_H
#define SEEP_RUNTIME_EXPORTED_H

#include "runtime/next/next.h"

#define RT_HOOK(symbol, type, parameters) type symbol parameters;
#define RT_OPERATOR RT_HOOK
#include "runtime/next/hooks.def"

/* A function in assembler, whose body consists of strings. */
#define ASM_FUNCTION(symbol, body)                             \
	__asm__(".pushsection .text\n"                         \
		".type " #symbol ", @function\n" #symbol ":\n" \
		".cfi_startproc\n" body ".cfi_endproc\n"       \
		".size " #symbol ", . - " #symbol "\n"         \
		".popsection\n")
#define ASM_EXPORT(symbol, body) ASM_FUNCTION(symbol, ".globl " #symbol "\nendbr64\n" body)
/* A C function that such a one calls, or jumps to by a register. */
#define FROM_ASM __attribute__((used, noinline)) static

#define PUSH(what) "push %" #what "\n.cfi_adjust_cfa_offset 8\n"
#define POP(what) "pop %" #what "\n.cfi_adjust_cfa_offset -8\n"
#define PUSH_ARGUMENTS PUSH(rdi) PUSH(rsi) PUSH(rdx) PUSH(rcx) PUSH(r8) PUSH(r9)
#define POP_ARGUMENTS POP(r9) POP(r8) POP(rcx) POP(rdx) POP(rsi) POP(rdi)
/* What a callee leaves as it is: LEDGER_EXIT_REGISTERS of them, below the return address. */
#define PUSH_CALLERS PUSH(r15) PUSH(r14) PUSH(r13) PUSH(r12) PUSH(rbp) PUSH(rbx)
#define TAKE_STACK(bytes) "sub $" #bytes ", %rsp\n.cfi_adjust_cfa_offset " #bytes "\n"
#define GIVE_STACK(bytes) "add $" #bytes ", %rsp\n.cfi_adjust_cfa_offset -" #bytes "\n"

/* Between functions whose stack is eight bytes short of what the callee may expect. */
#define CALL(function) TAKE_STACK(8) "call " #function "\n" GIVE_STACK(8)

/*
 * Does @first, and is a jump to what next_SYMBOL() returns, which gets the first arguments: no frame
 * of ours is there, and the stack is the caller's.
 */
#define JUMP(symbol, first) \
	ASM_EXPORT(symbol, first PUSH_ARGUMENTS CALL(next_##symbol) POP_ARGUMENTS "jmp *%rax\n")
#define JUMP_TO_NEXT(symbol, first)                         \
	JUMP(symbol, first);                                \
	FROM_ASM void *next_##symbol(void)                  \
	{                                                   \
		rt_next_find();                             \
		return (void *)(uintptr_t)(rt_next.symbol); \
	}

#endif
