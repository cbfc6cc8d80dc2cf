/* SPDX-License-Identifier: MIT */
#include "runtime/unwind/stack.h"

#include "runtime/sys/sys.h"
#include "runtime/rt.h"

#include <sys/uio.h>

/* Where the kernel put argc: the end of the main thread's stack. Exported by the loader. */
extern void *__libc_stack_end;

enum {
	PAGE_BYTES = 4096,
	STACK_BYTES_MAX = 16 << 20, /* more is not searched for the stack's end */
	PAGES_AT_ONCE = 16,
};

uintptr_t rt_stack_main_end(void)
{
	return (uintptr_t)__libc_stack_end;
}

bool rt_read_memory(uintptr_t address, void *ret_copy, uintptr_t bytes)
{
	struct iovec local = { ret_copy, bytes };
	struct iovec remote = { (void *)address, bytes };

	return rt_syscall6(SYS_process_vm_readv, rt_getpid(), (long)&local, 1, (long)&remote, 1,
			   0) == (long)bytes;
}

bool rt_is_readable(uintptr_t address)
{
	uintptr_t word;

	return rt_read_memory(address, &word, sizeof(word));
}

/* A byte of each page in [@from, @to), both multiples of a page. */
static bool pages_are_readable(uintptr_t from, uintptr_t to)
{
	while (from < to) {
		struct iovec remote[PAGES_AT_ONCE];
		char bytes[PAGES_AT_ONCE];
		struct iovec local = { bytes, sizeof(bytes) };
		long count = 0;

		for (; count < PAGES_AT_ONCE && from < to; count++, from += PAGE_BYTES)
			remote[count] = (struct iovec){ (void *)from, 1 };
		if (rt_syscall6(SYS_process_vm_readv, rt_getpid(), (long)&local, 1, (long)remote,
				count, 0) != count)
			return false;
	}
	return true;
}

/* The end of the calling thread's stack. The first thread's control block is elsewhere. */
static uintptr_t own_end(void)
{
	if (rt_gettid() == rt_getpid())
		return rt_stack_main_end();
	return (uintptr_t)__builtin_thread_pointer();
}

static RT_COLD bool extend(struct rt_stack *stack, uintptr_t sp)
{
	uintptr_t low = sp & ~(uintptr_t)(PAGE_BYTES - 1);
	uintptr_t end = own_end();
	uintptr_t known = end == stack->end ? stack->low : end & ~(uintptr_t)(PAGE_BYTES - 1);

	if (sp >= end || end - sp > STACK_BYTES_MAX || !pages_are_readable(low, known))
		return false;
	*stack = (struct rt_stack){ low, end };
	return true;
}

bool rt_stack_holds(struct rt_stack *stack, uintptr_t sp, uintptr_t at, uintptr_t bytes)
{
	if ((sp < stack->low || sp >= stack->end) && !extend(stack, sp))
		return false;
	return at >= sp && at < stack->end && stack->end - at >= bytes;
}
