/* SPDX-License-Identifier: MIT */
#include "runtime/unwind/stack.h"

#include "runtime/sys/sys.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>

enum {
	PAGE_BYTES = 4096,
	STACK_BYTES_MAX = 16 << 20,   /* more is not searched for the stack's end */
	NO_SUCH_HOW = 3,	      /* beside SIG_BLOCK, SIG_UNBLOCK and SIG_SETMASK */
	GO_STACK_BYTES_MAX = 1 << 30, /* Go's own limit */
	GO_DEPTH_MIN = 64,
	GO_FRAME_BITS = 9, /* in words: of runtime.cgocall, with room */
	GOROUTINES_LOG2 = 12,
	GOROUTINES = 1 << GOROUTINES_LOG2,
};

bool rt_read_memory(uintptr_t address, void *ret_copy, uintptr_t bytes)
{
	struct iovec local = { ret_copy, bytes };
	struct iovec remote = { (void *)address, bytes };

	return rt_syscall6(SYS_process_vm_readv, rt_getpid(), (long)&local, 1, (long)&remote, 1,
			   0) == (long)bytes;
}

/*
 * The kernel reads the set, and then sees that this is nothing to do with it. Unlike
 * process_vm_readv(), sandboxes that kill allow this call.
 */
bool rt_is_readable(uintptr_t address)
{
	return rt_syscall6(SYS_rt_sigprocmask, NO_SUCH_HOW, (long)address, 0, sizeof(uint64_t), 0,
			   0) == -EINVAL;
}

bool rt_pages_are_readable(uintptr_t from, uintptr_t to)
{
	while (from < to && rt_is_readable(from))
		from += PAGE_BYTES;
	return from >= to;
}

/* The word below @sp is in use, and so is its page: a sandbox may kill who asks. */
static RT_COLD bool extend(struct rt_stack *stack, uintptr_t sp)
{
	uintptr_t known = stack->low, end = stack->end;

	if (!end) {
		/* The first thread's control block is elsewhere. */
		end = rt_gettid() == rt_getpid() ? rt_stack_main_end()
						 : (uintptr_t)__builtin_thread_pointer();
		known = end & ~(uintptr_t)(PAGE_BYTES - 1);
	}
	if (sp >= end || end - sp > STACK_BYTES_MAX ||
	    !rt_pages_are_readable(((sp - 1) | (PAGE_BYTES - 1)) + 1, known))
		return false;
	*stack = (struct rt_stack){ sp & ~(uintptr_t)(PAGE_BYTES - 1), end };
	return true;
}

bool rt_stack_holds(struct rt_stack *stack, uintptr_t sp, uintptr_t at, uintptr_t bytes)
{
	if ((sp < stack->low || sp >= stack->end) && !extend(stack, sp))
		return false;
	return at >= sp && at < stack->end && stack->end - at >= bytes;
}

/*
 * Goroutines whose stacks were looked at. Go never gives their memory back, and while one calls C
 * its stack stays where its bounds say: what the kernel said of both once need not be asked again.
 */
static RT_LARGE _Atomic uintptr_t goroutines[GOROUTINES];

static _Atomic uintptr_t *place_of_goroutine(uintptr_t g)
{
	return &goroutines[(g * 0x9e3779b97f4a7c15ull) >> (64 - GOROUTINES_LOG2)];
}

/* The stack pointer with which goroutine @g calls C; 0: it is none. */
static uintptr_t sp_of_goroutine(uintptr_t g, uintptr_t depth)
{
	_Atomic uintptr_t *place = place_of_goroutine(g);
	const uintptr_t *now = (const uintptr_t *)g;
	uintptr_t bounds[2], sp;
	bool is_known = rt_load(place) == g;

	if (is_known)
		memcpy(bounds, now, sizeof(bounds));
	else if (g & 7 || !rt_read_memory(g, bounds, sizeof(bounds)))
		return 0;
	if (bounds[1] & 7 || bounds[1] - bounds[0] > GO_STACK_BYTES_MAX ||
	    depth > bounds[1] - bounds[0])
		return 0;
	sp = bounds[1] - depth;
	if (!is_known && !rt_pages_are_readable(sp & ~(uintptr_t)(PAGE_BYTES - 1), bounds[1]))
		return 0;
	rt_store(place, g);
	return sp;
}

/*
 * From a return address of asmcgocall to its caller's frame pointer, in words; above, the address.
 */
static _Atomic uint64_t go_frame;

static bool find_frame(uintptr_t sp, uintptr_t depth, uintptr_t *fp)
{
	uint64_t caller = *(const uintptr_t *)sp, known = rt_load(&go_frame);

	if (known >> GO_FRAME_BITS == caller)
		*fp = sp + (known & ((1 << GO_FRAME_BITS) - 1)) * 8;
	if ((*fp - sp) / 8 >> GO_FRAME_BITS || *fp - sp > depth - 2 * sizeof(uintptr_t))
		return false;
	rt_store(&go_frame, caller << GO_FRAME_BITS | (*fp - sp) / 8);
	return true;
}

uintptr_t rt_stack_before_cgo(struct rt_stack *stack, uintptr_t sp, uintptr_t *fp)
{
	/* Where the two words are, in words from sp: up to Go 1.22, and later. */
	static const unsigned places[] = { 5, 0 };

	if (!rt_stack_holds(stack, sp, sp, 7 * sizeof(uintptr_t)))
		return 0;
	for (unsigned i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		const uintptr_t *words = (const uintptr_t *)sp + places[i];
		uintptr_t depth = words[0], left;

		/* First what is seen at once: most words are something else. */
		if (depth & 7 || depth < GO_DEPTH_MIN || depth > GO_STACK_BYTES_MAX || !words[1])
			continue;
		left = sp_of_goroutine(words[1], depth);
		if (left && find_frame(left, depth, fp))
			return left + depth;
	}
	return 0;
}
