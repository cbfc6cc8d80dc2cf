/* SPDX-License-Identifier: MIT */
/*
 * dlopen(), dlsym() and their like. Whoever looks malloc up in the C library itself, as foreign function
 * interfaces do, is given ours, as all others are; else its blocks would be lost to us, and what it
 * frees would stay live. Only where the answer is the very function that our hook forwards to: then
 * a program whose own malloc calls what it has found comes to us once, and from there to that
 * function.
 */
#include "runtime/hook/exported.h"
#include "runtime/life/bind.h"
#include "runtime/life/phase.h"
#include "runtime/track/guarded.h"

#include <dlfcn.h>

static void *instead_of(const char *name, void *found)
{
	void *hook = found && rt_phase_now() != RT_OFF ? rt_next_hook_of(name, found) : NULL;

	return hook ? hook : found;
}

/*
 * With RTLD_DEFAULT (0) and RTLD_NEXT (-1) the answer depends on the caller, by its return address:
 * this is a jump then.
 */
#define LOOKS_UP(symbol) \
	JUMP_TO_NEXT(symbol, "lea 1(%rdi), %rax\ncmp $1, %rax\nja in_object_" #symbol "\n")

LOOKS_UP(dlsym)
FROM_ASM void *in_object_dlsym(void *object, const char *name)
{
	rt_next_find();
	return instead_of(name, rt_next.dlsym(object, name));
}

LOOKS_UP(dlvsym)
FROM_ASM void *in_object_dlvsym(void *object, const char *name, const char *version)
{
	rt_next_find();
	return instead_of(name, rt_next.dlvsym(object, name, version));
}

/*
 * What is loaded with RTLD_DEEPBIND looks for malloc and free in the C library first. What is loaded beside a C
 * library of its own calls that one's free() for blocks that our hooks gave. The call tells so before any code
 * of it runs; its GOT need not do so before the first free. Where the file is looked for depends on the caller,
 * and so these are jumps.
 */
FROM_ASM void bind_deeply(void)
{
	if (!rt_bind_glibc())
		rt_store(&rt_guard_is_over, true);
}

_Static_assert(RTLD_DEEPBIND == 8, "what dlopen() is given");
JUMP_TO_NEXT(dlopen, "test $8, %esi\njz 1f\n" PUSH_ARGUMENTS CALL(bind_deeply) POP_ARGUMENTS "1:\n")
JUMP_TO_NEXT(dlmopen, "movb $1, rt_guard_is_over(%rip)\n")
