/* SPDX-License-Identifier: MIT */
/*
 * dlsym() and dlvsym(). Whoever looks malloc up in the C library itself, as foreign function
 * interfaces do, is given ours, as all others are; else its blocks would be lost to us, and what it
 * frees would stay live. Only where the answer is the very function that our hook forwards to: then
 * a program whose own malloc calls what it has found comes to us once, and from there to that
 * function.
 */
#include "runtime/life/start.h"
#include "runtime/next/next.h"

static void *instead_of(const char *name, void *found)
{
	void *hook = found && !rt_is_off() ? rt_next_hook_of(name, found) : NULL;

	return hook ? hook : found;
}

/*
 * With RTLD_DEFAULT (0) and RTLD_NEXT (-1) the answer depends on the caller, by its return address:
 * this is a jump then, and no frame of ours is there.
 */
#define LOOKS_UP(symbol)                                       \
	__asm__(".pushsection .text\n"                         \
		".globl " #symbol "\n"                         \
		".type " #symbol ", @function\n" #symbol ":\n" \
		".cfi_startproc\n"                             \
		"endbr64\n"                                    \
		"lea 1(%rdi), %rax\n"                          \
		"cmp $1, %rax\n"                               \
		"ja in_object_" #symbol "\n"                   \
		"push %rdi\n.cfi_adjust_cfa_offset 8\n"        \
		"push %rsi\n.cfi_adjust_cfa_offset 8\n"        \
		"push %rdx\n.cfi_adjust_cfa_offset 8\n"        \
		"call next_" #symbol "\n"                      \
		"pop %rdx\n.cfi_adjust_cfa_offset -8\n"        \
		"pop %rsi\n.cfi_adjust_cfa_offset -8\n"        \
		"pop %rdi\n.cfi_adjust_cfa_offset -8\n"        \
		"jmp *%rax\n"                                  \
		".cfi_endproc\n"                               \
		".size " #symbol ", . - " #symbol "\n"         \
		".popsection\n")
#define FROM_ASM __attribute__((used, noinline)) static

LOOKS_UP(dlsym);
FROM_ASM void *next_dlsym(void)
{
	rt_next_find();
	return (void *)(uintptr_t)rt_next.dlsym;
}

FROM_ASM void *in_object_dlsym(void *object, const char *name)
{
	rt_next_find();
	return instead_of(name, rt_next.dlsym(object, name));
}

LOOKS_UP(dlvsym);
FROM_ASM void *next_dlvsym(void)
{
	rt_next_find();
	return (void *)(uintptr_t)rt_next.dlvsym;
}

FROM_ASM void *in_object_dlvsym(void *object, const char *name, const char *version)
{
	rt_next_find();
	return instead_of(name, rt_next.dlvsym(object, name, version));
}
