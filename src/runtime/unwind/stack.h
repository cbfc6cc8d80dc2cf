/* SPDX-License-Identifier: MIT */
/* Is this memory the calling thread's own stack, which a walk may read up to its end? */
#ifndef SEEP_RUNTIME_STACK_H
#define SEEP_RUNTIME_STACK_H

#include <stdbool.h>
#include <stdint.h>

/* What is known to be the thread's own stack: [low, end) was readable, page by page. Zero: none. */
struct rt_stack {
	uintptr_t low;
	uintptr_t end;
};

/**
 * rt_stack_holds - whether [@at, @at + @bytes) lies on the thread's own stack, not inside @sp
 * @stack: what is known of it; extended when need be, by system calls
 * @sp:    a live stack pointer of the calling thread; the word below it was read
 *
 * glibc keeps a thread's control block at the top of its stack, and the kernel's first words stand
 * at the top of the main one. @sp is on that stack if every page between is readable: guard pages
 * part it from others. No file is opened: a descriptor would show in the program.
 */
bool rt_stack_holds(struct rt_stack *stack, uintptr_t sp, uintptr_t at, uintptr_t bytes);

/**
 * rt_stack_before_cgo - the end of the goroutine's stack that was left for this one, to call C
 * @stack: the thread's own
 * @sp:    on it, in a function without unwind information
 * @fp:    there; becomes that of the function that called it
 *
 * Go's runtime.asmcgocall calls C on the thread's stack. The frame pointer stays that of its
 * caller, and at its own stack pointer lie two words: how deep the goroutine's stack was, and the
 * goroutine, whose first two words are the bounds of its stack. All of that has to agree, except
 * that Go may have moved the stack while C called back: then the frame pointer is where the caller
 * has it otherwise.
 *
 * Returns: 0 if this is something else. Otherwise all between @fp and the end may be read.
 */
uintptr_t rt_stack_before_cgo(struct rt_stack *stack, uintptr_t sp, uintptr_t *fp);

/* Is the word at @address readable? By the kernel's word. */
bool rt_is_readable(uintptr_t address);

/* A word of each page from @from on, a multiple of a page, to @to. */
bool rt_pages_are_readable(uintptr_t from, uintptr_t to);

/* Copy @bytes from @address, readable or not; false when it is not. */
bool rt_read_memory(uintptr_t address, void *ret_copy, uintptr_t bytes);

/* Where the kernel put argc, as the loader says. */
static inline uintptr_t rt_stack_main_end(void)
{
	extern void *__libc_stack_end;

	return (uintptr_t)__libc_stack_end;
}

#endif
