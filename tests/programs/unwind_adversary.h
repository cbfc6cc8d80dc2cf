/* SPDX-License-Identifier: MIT */
/*
 * The hand-written frames of unwind_adversary.cc. Every function here has call frame information
 * that is right at every instruction; what is unusual is its shape. Where two of them differ only
 * in the size of their frames, a walker that trusts a return address alone reads the wrong slot.
 */
#ifndef SEEP_TESTS_UNWIND_ADVERSARY_H
#define SEEP_TESTS_UNWIND_ADVERSARY_H

extern "C" {

/* Save the callee-saved registers and the stack pointer in *save, go on with those of load. */
void adv_switch(void **save, void *load);

/* First frames of a switched stack: r12(rbx) is called and does not return. One says so by an
 * undefined return address, the other by a zero word where the return address should be. */
void adv_entry_undefined(void);
void adv_entry_zero(void);

/* fn(arg) while rbp holds `garbage`: nobody may take it for a frame pointer. */
void adv_clobber_rbp(void (*fn)(void *), void *arg, unsigned long garbage);

/* fn(arg) on the stack that ends at `top`; the way back is through rbp. */
void adv_on_stack(void (*fn)(void *), void *arg, void *top);

/* fn(arg) in a frame whose CFA is a word in memory found from rsp, as hand-tuned kernels do. */
void adv_cfa_in_memory(void (*fn)(void *), void *arg);

/* fn(arg) below `depth` frames of 32 bytes. */
void adv_descend(void (*fn)(void *), void *arg, unsigned long depth);

/* SIGILL at the first instruction (one byte earlier lies a function with another frame), between
 * a push and its move, and in a frame without a base pointer. The handler skips two bytes. */
void adv_fault_first(void);
void adv_fault_prologue(void);
void adv_fault_leaf(void);
}

asm(R"(
	.text

	.p2align 4
	.globl	adv_switch
	.type	adv_switch, @function
adv_switch:
	.cfi_startproc
	endbr64
	pushq	%rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset rbp, 0
	pushq	%rbx
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset rbx, 0
	pushq	%r12
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset r12, 0
	pushq	%r13
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset r13, 0
	pushq	%r14
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset r14, 0
	pushq	%r15
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset r15, 0
	movq	%rsp, (%rdi)
	movq	%rsi, %rsp
	popq	%r15
	.cfi_adjust_cfa_offset -8
	.cfi_restore r15
	popq	%r14
	.cfi_adjust_cfa_offset -8
	.cfi_restore r14
	popq	%r13
	.cfi_adjust_cfa_offset -8
	.cfi_restore r13
	popq	%r12
	.cfi_adjust_cfa_offset -8
	.cfi_restore r12
	popq	%rbx
	.cfi_adjust_cfa_offset -8
	.cfi_restore rbx
	popq	%rbp
	.cfi_adjust_cfa_offset -8
	.cfi_restore rbp
	ret
	.cfi_endproc
	.size	adv_switch, . - adv_switch

	.p2align 4
	.globl	adv_entry_undefined
	.type	adv_entry_undefined, @function
	.cfi_startproc
	.cfi_undefined rip
	nop
adv_entry_undefined:
	endbr64
	movq	%rbx, %rdi
	call	*%r12
	ud2
	.cfi_endproc
	.size	adv_entry_undefined, . - adv_entry_undefined

	.p2align 4
	.globl	adv_entry_zero
	.type	adv_entry_zero, @function
	.cfi_startproc
	nop
adv_entry_zero:
	endbr64
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	movq	%rbx, %rdi
	call	*%r12
	ud2
	.cfi_endproc
	.size	adv_entry_zero, . - adv_entry_zero

	.p2align 4
	.globl	adv_clobber_rbp
	.type	adv_clobber_rbp, @function
adv_clobber_rbp:
	.cfi_startproc
	endbr64
	pushq	%rbx
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset rbx, 0
	pushq	%rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset rbp, 0
	subq	$24, %rsp
	.cfi_adjust_cfa_offset 24
	movq	%rdi, %rax
	movq	%rsi, %rdi
	movq	%rdx, %rbp
	call	*%rax
	addq	$24, %rsp
	.cfi_adjust_cfa_offset -24
	popq	%rbp
	.cfi_adjust_cfa_offset -8
	.cfi_restore rbp
	popq	%rbx
	.cfi_adjust_cfa_offset -8
	.cfi_restore rbx
	ret
	.cfi_endproc
	.size	adv_clobber_rbp, . - adv_clobber_rbp

	.p2align 4
	.globl	adv_on_stack
	.type	adv_on_stack, @function
adv_on_stack:
	.cfi_startproc
	endbr64
	pushq	%rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset rbp, 0
	movq	%rsp, %rbp
	.cfi_def_cfa_register rbp
	movq	%rdi, %rax
	movq	%rsi, %rdi
	movq	%rdx, %rsp
	call	*%rax
	movq	%rbp, %rsp
	popq	%rbp
	.cfi_restore rbp
	.cfi_def_cfa rsp, 8
	ret
	.cfi_endproc
	.size	adv_on_stack, . - adv_on_stack

	.p2align 4
	.globl	adv_cfa_in_memory
	.type	adv_cfa_in_memory, @function
adv_cfa_in_memory:
	.cfi_startproc
	endbr64
	movq	%rsp, %r10
	.cfi_def_cfa_register r10
	subq	$72, %rsp
	andq	$-64, %rsp
	movq	%r10, (%rsp)
	# DW_CFA_def_cfa_expression: DW_OP_breg7 0; DW_OP_deref; DW_OP_plus_uconst 8
	.cfi_escape 0x0f, 0x05, 0x77, 0x00, 0x06, 0x23, 0x08
	movq	%rdi, %rax
	movq	%rsi, %rdi
	call	*%rax
	movq	(%rsp), %rsp
	.cfi_def_cfa rsp, 8
	ret
	.cfi_endproc
	.size	adv_cfa_in_memory, . - adv_cfa_in_memory

	.p2align 4
	.globl	adv_descend
	.type	adv_descend, @function
adv_descend:
	.cfi_startproc
	endbr64
	subq	$24, %rsp
	.cfi_adjust_cfa_offset 24
	testq	%rdx, %rdx
	je	1f
	decq	%rdx
	call	adv_descend
	jmp	2f
1:	movq	%rdi, %rax
	movq	%rsi, %rdi
	call	*%rax
2:	addq	$24, %rsp
	.cfi_adjust_cfa_offset -24
	ret
	.cfi_endproc
	.size	adv_descend, . - adv_descend

	.p2align 4
	.type	adv_before_fault, @function
adv_before_fault:
	.cfi_startproc
	subq	$0x78, %rsp
	.cfi_adjust_cfa_offset 0x78
	ud2
	.cfi_endproc
	.size	adv_before_fault, . - adv_before_fault
	.globl	adv_fault_first
	.type	adv_fault_first, @function
adv_fault_first:
	.cfi_startproc
	ud2
	ret
	.cfi_endproc
	.size	adv_fault_first, . - adv_fault_first

	.p2align 4
	.globl	adv_fault_prologue
	.type	adv_fault_prologue, @function
adv_fault_prologue:
	.cfi_startproc
	endbr64
	pushq	%rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset rbp, 0
	ud2
	movq	%rsp, %rbp
	.cfi_def_cfa_register rbp
	ud2
	popq	%rbp
	.cfi_restore rbp
	.cfi_def_cfa rsp, 8
	ud2
	ret
	.cfi_endproc
	.size	adv_fault_prologue, . - adv_fault_prologue

	.p2align 4
	.globl	adv_fault_leaf
	.type	adv_fault_leaf, @function
adv_fault_leaf:
	.cfi_startproc
	endbr64
	subq	$40, %rsp
	.cfi_adjust_cfa_offset 40
	ud2
	addq	$40, %rsp
	.cfi_adjust_cfa_offset -40
	ret
	.cfi_endproc
	.size	adv_fault_leaf, . - adv_fault_leaf
)");

#endif
