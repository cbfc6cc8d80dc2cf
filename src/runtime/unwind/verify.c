/* SPDX-License-Identifier: MIT */
#include "runtime/unwind/verify.h"

#include "runtime/life/sys.h"

#include <dlfcn.h>

/* The part of the unwinder's interface that is used (Itanium C++ ABI, "Exception Handling"). */
struct unwind_context;
typedef int (*trace_fn)(struct unwind_context *context, void *argument);

static int (*backtrace)(trace_fn callback, void *argument);
static uintptr_t (*get_ip)(struct unwind_context *context, int *ret_before);
static uintptr_t (*get_cfa)(struct unwind_context *context);
static _Atomic uint64_t walk_number;

enum { GO_ON = 0, STOP = 4 }; /* _URC_NO_REASON, _URC_NORMAL_STOP */

struct comparison {
	const struct rt_walk *walk;
	uintptr_t leaf_cfa; /* of the hook: frames up to it are ours */
	uint32_t at;	    /* frames compared, from the innermost */
	bool began;
	bool differs;
};

static int compare(struct unwind_context *context, void *argument)
{
	struct comparison *c = argument;
	uint32_t length = rt_walk_length(c->walk);
	int before = 0;
	uintptr_t ip = get_ip(context, &before);
	const struct rt_frame *frame;

	/* A context's CFA is the stack pointer in that frame: ours are below the hook's CFA. */
	if (!c->began && get_cfa(context) < c->leaf_cfa)
		return GO_ON;
	c->began = true;
	if (ip == 0)
		return STOP;
	if (c->at >= length) {
		c->differs = true;
		return STOP;
	}
	frame = rt_walk_frame(c->walk, length - 1 - c->at);
	if (frame->ra != ip) {
		c->differs = true;
		return STOP;
	}
	c->at++;
	return GO_ON;
}

bool rt_verify_start(void)
{
	void *library = dlopen("libgcc_s.so.1", RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return false;
	backtrace = (int (*)(trace_fn, void *))dlsym(library, "_Unwind_Backtrace");
	get_ip = (uintptr_t(*)(struct unwind_context *, int *))dlsym(library, "_Unwind_GetIPInfo");
	get_cfa = (uintptr_t(*)(struct unwind_context *))dlsym(library, "_Unwind_GetCFA");
	return backtrace && get_ip && get_cfa;
}

void rt_verify_walk(struct rt_thread *thread, const void *frame)
{
	struct ledger_state *state = rt_global.state;
	struct comparison c = {
		.walk = &thread->walk,
		.leaf_cfa = (uintptr_t)frame + 16,
	};

	if (!get_cfa || atomic_fetch_add_explicit(&walk_number, 1, memory_order_relaxed) %
				rt_global.verify_every)
		return;
	(void)backtrace(compare, &c);
	rt_add(&state->verify_walks, 1);
	rt_add(&state->verify_landed, thread->walk.landed);
	rt_add(&state->verify_truncated, thread->walk.truncated);
	/* Longer than libgcc's is no difference: frames without CFI that were followed by fp. */
	rt_add(&state->verify_differences, c.differs || !c.began);
}
