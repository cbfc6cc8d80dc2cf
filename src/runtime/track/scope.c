/* SPDX-License-Identifier: MIT */
#include "runtime/track/scope.h"

#include "runtime/sys/sys.h"
#include "runtime/track/scope_handle.h"
#include "runtime/unwind/stack.h"

#include <signal.h>
#include <string.h>

enum {
	JUMP_BYTES_MAX = 1 << 20, /* no function's variables are more, out to where it jumps */
};

struct rt_row_tags rt_row_tags;

/* Of variables between @from and @to on another stack than the thread's. */
static void close_between(struct rt_scopes *of, uintptr_t from, uintptr_t to)
{
	for (uint32_t i = of->depth; i-- > 0;)
		if (!of->open[i].is_handle && !of->open[i].on_stack &&
		    of->open[i].key - from < to - from)
			rt_scopes_close(of, i, rt_now_ns());
}

/* The end of the stack for signal handlers, if this is one; else 0. */
static uintptr_t handlers_stack_end(uintptr_t at)
{
	stack_t now = { .ss_flags = SS_DISABLE };
	uintptr_t begin;

	(void)rt_syscall3(SYS_sigaltstack, 0, (long)&now, 0);
	begin = (uintptr_t)now.ss_sp;
	return !(now.ss_flags & SS_DISABLE) && at - begin < now.ss_size ? begin + now.ss_size : 0;
}

void rt_scope_jump(struct rt_thread *thread, uintptr_t sp, const void *frame)
{
	const struct rt_stack *stack = &thread->walk.stack;
	const uintptr_t at = (uintptr_t)frame;
	struct rt_scopes *of = thread->scopes;
	uintptr_t handlers_end = 0;
	bool is_home;

	if (of->depth == 0)
		return;
	is_home = rt_stack_holds(&thread->walk.stack, sp, sp, sizeof(sp));

	/* Below there is nothing any more, wherever the jump comes from. */
	if (is_home)
		rt_scopes_close_dead(of, 0, sp);
	/* Within a coroutine's stack; or from a handler's back. A coroutine that gives way so goes on later. */
	if (!is_home && sp - at < JUMP_BYTES_MAX && !rt_load(&rt_is_confined) &&
	    rt_pages_are_readable((at | (LEDGER_PAGE_BYTES - 1)) + 1, sp))
		close_between(of, at, sp);
	else if (is_home && at - stack->low >= stack->end - stack->low && !rt_load(&rt_is_confined))
		handlers_end = handlers_stack_end(at);
	if (handlers_end)
		close_between(of, at, handlers_end);
	rt_scopes_set_present(thread);
}

void rt_scopes_mend(struct rt_thread *thread, uintptr_t frame)
{
	const uintptr_t sp = core_larger(frame, rt_load(&thread->jumped_to));

	rt_store(&thread->jumped_to, 0);
	if (!thread->scopes)
		return;
	rt_scope_handles_mend(thread->scopes);
	if (rt_stack_holds(&thread->walk.stack, sp, sp, sizeof(sp)))
		rt_scopes_close_dead(thread->scopes, 0, sp);
	rt_scopes_set_present(thread);
}

void rt_scope_row(uint32_t row, struct rt_key key)
{
	const uint32_t index = rt_row_index(row);
	uint16_t *none = NULL, *map;

	/* "Other" has blocks of all scopes. */
	if (index < LEDGER_CONTEXT_FIRST)
		return;
	if (!rt_load(&rt_row_tags.tags)) {
		rt_row_tags.count = rt_header.table[LEDGER_TABLE_ROWS].capacity;
		map = rt_mmap_sparse(rt_row_tags.count * sizeof(*map));
		if (map && !atomic_compare_exchange_strong_explicit(&rt_row_tags.tags, &none, map,
								    memory_order_acq_rel,
								    memory_order_acquire))
			rt_munmap_sparse(map, rt_row_tags.count * sizeof(*map));
	}
	if (rt_load(&rt_row_tags.tags) && index < rt_row_tags.count)
		rt_load(&rt_row_tags.tags)[index] = rt_scope_tag(rt_key_scope(key));
}

void rt_scopes_begin(struct rt_thread *thread)
{
	struct rt_scopes *of = thread->scopes;

	thread->tag = 0;
	if (rt_tls.scopes) {
		of = thread->scopes = rt_tls.scopes;
		rt_tls.scopes = NULL;
		memset(of->entries, 0, rt_scope_numbers() * sizeof(*of->entries));
		of->cpu_at_ns = 0;
		rt_scopes_set_present(thread);
		return;
	}
	/* The thread that had them has ended, nobody knows when. */
	while (of && of->depth) {
		const struct rt_scope_open *open = of->open + of->depth - 1;

		if (open->is_handle)
			rt_scope_handle_drop(open->key);
		rt_scopes_forget(of, of->depth - 1);
	}
	if (of) {
		of->cpu_at_ns = 0;
		of->other_page = 0;
	}
	thread->entries = NULL;
	rt_store(&thread->jumped_to, 0);
	rt_thread_set_frees(thread);
}

void rt_scopes_left(struct rt_thread *thread)
{
	struct rt_scopes *of = thread->scopes;

	thread->scopes = NULL;
	if (of)
		rt_munmap_sparse(of, sizeof(*of));
}

void rt_scopes_forked(void)
{
	uint16_t *tags = rt_load(&rt_row_tags.tags);

	if (tags)
		rt_munmap_sparse(tags, rt_row_tags.count * sizeof(*tags));
	rt_store(&rt_row_tags.tags, NULL);
	rt_scope_numbers_forked();
}
