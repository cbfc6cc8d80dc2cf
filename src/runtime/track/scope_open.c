/* SPDX-License-Identifier: MIT */
#include "runtime/track/scope_open.h"

#include "runtime/sys/sys.h"
#include "runtime/sys/tables.h"
#include "runtime/track/label.h"
#include "runtime/unwind/stack.h"

#include <string.h>

enum {
	CPU_EVERY_NS = 20000, /* the thread's own clock is a system call */
	LEFT_LOOKED_AT = 8,
};

static RT_COLD void ask_cpu(struct rt_scopes *of, uint64_t now)
{
	if (rt_load(&rt_is_confined))
		return;
	of->waited_ns = now - rt_cpu_ns();
	of->cpu_at_ns = now;
}

/*
 * Time that the thread has run, asked for now and then: in between it is taken to run. At each end of a
 * scope that is wrong by 20 µs at most.
 */
static uint64_t cpu_now(struct rt_scopes *of, uint64_t now)
{
	if (RT_UNLIKELY(now - of->cpu_at_ns >= CPU_EVERY_NS))
		ask_cpu(of, now);
	return now - of->waited_ns;
}

static RT_COLD struct ledger_entries *entries_new(struct rt_scopes *of, uint32_t scope)
{
	uint64_t index = rt_table_take(LEDGER_TABLE_ENTRIES, 1);
	struct ledger_entries *entries;

	if (index == RT_NO_INDEX) {
		rt_note_unseen(LEDGER_UNSEEN_ENTRIES);
		return &of->nowhere;
	}
	entries = &rt_global.entries[index];
	rt_store_release(&entries->scope, scope);
	of->entries[scope] = (uint32_t)index + 1;
	return entries;
}

static struct ledger_entries *entries_of(struct rt_scopes *of, uint32_t scope)
{
	const uint32_t known = of->entries[scope];

	if (RT_LIKELY(known != 0))
		return &rt_global.entries[known - 1];
	return scope ? entries_new(of, scope) : &of->nowhere;
}

static bool is_counted(const struct rt_scope_open *open)
{
	return RT_LIKELY(open->first_row == rt_global.first_row);
}

static void set_present(struct rt_thread *thread, uint32_t scope, uint32_t tag,
			struct ledger_entries *entries)
{
	rt_tag_set(&thread->tag, RT_KEY_SCOPE_SHIFT, scope);
	thread->open_tag = (uint16_t)tag;
	thread->entries = entries;
	rt_thread_set_frees(thread);
	rt_last_row_void(thread);
}

void rt_scopes_set_present(struct rt_thread *thread)
{
	struct rt_scopes *of = thread->scopes;
	const struct rt_scope_open *open = of->open + of->depth - 1;

	if (of->depth == 0)
		set_present(thread, RT_SCOPE_NONE, RT_LABEL_NONE, NULL);
	else
		/* In this ledger, even if its entry is not. */
		set_present(thread, open->scope, open->tag,
			    is_counted(open) ? open->entries : entries_of(of, open->scope));
}

/* Where it is counted that @open is left. */
static struct ledger_entries *entries_with(struct rt_scopes *of, const struct rt_scope_open *open)
{
	return is_counted(open) ? open->entries : &of->nowhere;
}

static void count_time(struct ledger_entries *entries, uint64_t wall_ns, uint64_t cpu_ns)
{
	unsigned bucket = core_bit_width_below(wall_ns);

	rt_bump(&entries->wall_ns, wall_ns);
	rt_bump(&entries->cpu_ns, cpu_ns);
	if (RT_UNLIKELY(wall_ns < rt_load(&entries->least_ns) - 1))
		rt_store(&entries->least_ns, wall_ns + 1);
	if (RT_UNLIKELY(wall_ns > rt_load(&entries->most_ns)))
		rt_store(&entries->most_ns, wall_ns);
	bucket = bucket < LEDGER_DURATION_BUCKETS ? bucket : LEDGER_DURATION_BUCKETS - 1;
	rt_bump(&entries->histogram[bucket], 1);
}

static void remove_at(struct rt_scopes *of, uint32_t index)
{
	if (RT_UNLIKELY(index + 1 < of->depth))
		memmove(of->open + index, of->open + index + 1,
			(of->depth - index - 1) * sizeof(*of->open));
	of->depth--;
}

/* The clock may have become a coarse one meanwhile. */
static uint64_t between(uint64_t since, uint64_t now)
{
	return (int64_t)(now - since) > 0 ? now - since : 0;
}

void rt_scopes_take_off(struct rt_scopes *of, uint32_t index, uint64_t now,
			struct rt_scope_open *ret_open)
{
	*ret_open = of->open[index];
	ret_open->known = 0;
	ret_open->wall_ns = between(ret_open->since_ns, now);
	ret_open->cpu_ns = between(ret_open->since_cpu_ns, cpu_now(of, now));
	atomic_signal_fence(memory_order_seq_cst);
	remove_at(of, index);
}

void rt_scopes_close(struct rt_scopes *of, uint32_t index, uint64_t now)
{
	const struct rt_scope_open *open = of->open + index;
	struct ledger_entries *entries = entries_with(of, open);
	const uint64_t wall_ns = between(open->since_ns, now);
	const uint64_t cpu_ns = between(open->since_cpu_ns, cpu_now(of, now));
	const bool is_inner = open->is_inner;

	/* First: a handler may leave what follows by longjmp(), and what was left must not be left again. */
	remove_at(of, index);
	atomic_signal_fence(memory_order_seq_cst);
	rt_store(&entries->last_ns, now);
	if (!is_inner)
		count_time(entries, wall_ns, cpu_ns);
	rt_bump(&entries->exits, 1);
}

void rt_scopes_forget(struct rt_scopes *of, uint32_t index)
{
	struct ledger_entries *entries = entries_with(of, of->open + index);

	remove_at(of, index);
	rt_bump(&entries->exits, 1);
}

bool rt_scopes_make(struct rt_thread *thread)
{
	if (!thread->scopes) {
		thread->scopes = rt_mmap_sparse(sizeof(*thread->scopes));
		/* Few scopes, hardly nested, touch so much. */
		rt_count_private(thread->scopes ? 2 * LEDGER_PAGE_BYTES : 0);
	}
	if (thread->scopes && thread->scopes->depth < RT_SCOPE_DEPTH_MAX)
		return true;
	rt_note_unseen(LEDGER_UNSEEN_ENTRIES);
	return false;
}

/* All of @open that is the same each time. It may be left by longjmp(): then it knows nothing. */
static RT_COLD void learn(struct rt_scopes *of, struct rt_scope_open *open, uint32_t around,
			  uint32_t tag)
{
	const uint64_t number = rt_scope_number(around, tag);

	open->known = 0;
	atomic_signal_fence(memory_order_seq_cst);
	open->first_row = rt_global.first_row;
	open->scope = (uint16_t)number;
	open->tag = (uint16_t)tag;
	open->entries = entries_of(of, open->scope);
	open->is_inner = false;
	/* In its path, a tag may be one that was left: a handle outlives those around it. */
	for (uint32_t i = of->depth; number & RT_SCOPE_INNER && !open->is_inner && i-- > 0;)
		open->is_inner = of->open[i].tag == tag;
	atomic_signal_fence(memory_order_seq_cst);
	if (!(number & RT_SCOPE_INNER) && open->entries != &of->nowhere)
		open->known = (uint64_t)around << 32 | tag;
}

void rt_scopes_put_on(struct rt_scopes *of, const struct rt_scope_open *open, uint64_t now)
{
	struct rt_scope_open *on = of->open + of->depth;

	if (of->depth == RT_SCOPE_DEPTH_MAX) {
		if (is_counted(open))
			rt_bump(&entries_of(of, open->scope)->exits, 1);
		return;
	}
	on->known = 0;
	atomic_signal_fence(memory_order_seq_cst);
	*on = *open;
	on->entries = is_counted(open) ? entries_of(of, open->scope) : NULL;
	on->since_ns = now - open->wall_ns;
	on->since_cpu_ns = cpu_now(of, now) - open->cpu_ns;
	of->depth++;
}

void rt_scopes_add(struct rt_thread *thread, uint32_t tag, uint64_t key, bool is_handle,
		   bool on_stack)
{
	struct rt_scopes *of = thread->scopes;
	struct rt_scope_open *open = of->open + of->depth;
	const uint32_t around = of->depth ? open[-1].scope : RT_SCOPE_NONE;
	uint64_t now;

	if (RT_UNLIKELY(open->known != ((uint64_t)around << 32 | tag) || !is_counted(open)))
		learn(of, open, around, tag);
	open->key = key;
	open->is_handle = is_handle;
	open->on_stack = on_stack;
	now = rt_now_quickly_ns();
	open->since_ns = now;
	open->since_cpu_ns = cpu_now(of, now);
	if (RT_UNLIKELY(!rt_load(&open->entries->first_ns)))
		rt_store(&open->entries->first_ns, now);
	rt_bump(&open->entries->entries, 1);
	of->depth++;
	set_present(thread, open->scope, tag, open->entries);
}

void rt_scopes_close_dead(struct rt_scopes *of, uint32_t index, uintptr_t sp)
{
	for (uint32_t i = of->depth; i-- > index;)
		if (of->open[i].on_stack && of->open[i].key < sp)
			rt_scopes_close(of, i, rt_now_ns());
}

static bool is_on_stack(struct rt_thread *thread, const void *variable, const void *frame)
{
	struct rt_scopes *of = thread->scopes;
	const struct rt_stack *stack = &thread->walk.stack;
	const uint32_t page = (uint32_t)((uintptr_t)frame / LEDGER_PAGE_BYTES);

	if (RT_LIKELY((uintptr_t)frame - stack->low < stack->end - stack->low))
		return (uintptr_t)variable - (uintptr_t)frame < stack->end - (uintptr_t)frame;
	if (of->other_page == page)
		return false;
	if (rt_stack_holds(&thread->walk.stack, (uintptr_t)frame, (uintptr_t)variable, 1))
		return true;
	if ((uintptr_t)frame - stack->low >= stack->end - stack->low)
		of->other_page = page;
	return false;
}

/* A variable is entered once: its function was left without a word, or goes on elsewhere. */
static RT_COLD void close_from(struct rt_scopes *of, uint32_t index)
{
	for (uint32_t i = of->depth; index < i; i--)
		if (!of->open[i - 1].is_handle)
			rt_scopes_close(of, i - 1, rt_now_ns());
}

/*
 * Each in one piece, as quick as may be. The clock waits for all that was begun before: it is asked late in
 * entering, and first in leaving.
 */
__attribute__((flatten)) void rt_scope_enter(struct rt_thread *thread, uint32_t tag,
					     const void *variable, const void *frame)
{
	uint32_t index;

	if (!rt_scopes_room(thread))
		return;
	index = rt_scopes_find(thread->scopes, (uintptr_t)variable, LEFT_LOOKED_AT);
	if (RT_UNLIKELY(index < thread->scopes->depth))
		close_from(thread->scopes, index);
	rt_scopes_add(thread, tag, (uintptr_t)variable, false,
		      is_on_stack(thread, variable, frame));
}

__attribute__((flatten)) void rt_scope_leave(struct rt_thread *thread, const void *variable)
{
	const uint64_t now = rt_now_quickly_ns();
	struct rt_scopes *of = thread->scopes;
	const uint32_t index = rt_scopes_find(of, (uintptr_t)variable, UINT32_MAX);

	if (!of || index == of->depth)
		return;
	if (RT_UNLIKELY(index + 1 < of->depth) && of->open[index].on_stack)
		rt_scopes_close_dead(of, index + 1, (uintptr_t)variable);
	rt_scopes_close(of, index, now);
	rt_scopes_set_present(thread);
}
