/* SPDX-License-Identifier: MIT */
#include "runtime/track/scope_open.h"

#include "runtime/sys/sys.h"
#include "runtime/sys/tables.h"
#include "runtime/track/label.h"

#include <string.h>

enum { CPU_EVERY_NS = 20000 }; /* the thread's own clock is a system call */

/*
 * Time that the thread has run, asked for now and then: in between it is taken to run. At each end of a
 * scope that is wrong by 20 µs at most.
 */
static uint64_t cpu_now(struct rt_scopes *of, uint64_t now)
{
	if (now - of->cpu_at_ns >= CPU_EVERY_NS && !rt_load(&rt_is_confined)) {
		of->cpu_ns = rt_cpu_ns();
		of->cpu_at_ns = now;
	}
	return of->cpu_ns + (now - of->cpu_at_ns);
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

void rt_scopes_set_present(struct rt_thread *thread)
{
	struct rt_scopes *of = thread->scopes;
	const struct rt_scope_open *open = of->open + of->depth - 1;
	const bool any = of->depth != 0;

	rt_tag_set(&thread->tag, RT_KEY_SCOPE_SHIFT, any ? open->scope : RT_SCOPE_NONE);
	thread->open_tag = any ? open->tag : RT_LABEL_NONE;
	thread->entries = any ? entries_of(of, open->scope) : NULL;
	thread->frees_quickly = !any && rt_load(&rt_global.quick) == RT_QUICK_GLIBC;
	rt_last_row_void(thread);
}

static bool counts(const struct rt_scope_open *open)
{
	return open->first_row == rt_global.first_row;
}

static void count_entry(struct rt_scopes *of, const struct rt_scope_open *open)
{
	struct ledger_entries *entries = entries_of(of, open->scope);

	if (RT_UNLIKELY(!rt_load(&entries->first_ns)))
		rt_store(&entries->first_ns, open->since_ns);
	rt_bump(&entries->entries, 1);
}

/* @timed: this is when it was left. */
static void count_exit(struct rt_scopes *of, const struct rt_scope_open *open, uint64_t now,
		       bool timed)
{
	struct ledger_entries *entries;

	if (!counts(open))
		return;
	entries = entries_of(of, open->scope);
	if (timed)
		rt_store(&entries->last_ns, now);
	if (timed && !open->is_inner) {
		const uint64_t ns = open->wall_ns;
		unsigned bucket = core_bit_width(ns);

		rt_bump(&entries->wall_ns, ns);
		rt_bump(&entries->cpu_ns, open->cpu_ns);
		if (ns < rt_load(&entries->least_ns) - 1)
			rt_store(&entries->least_ns, ns + 1);
		if (ns > rt_load(&entries->most_ns))
			rt_store(&entries->most_ns, ns);
		bucket = bucket < LEDGER_DURATION_BUCKETS ? bucket : LEDGER_DURATION_BUCKETS - 1;
		rt_bump(&entries->histogram[bucket], 1);
	}
	rt_bump(&entries->exits, 1);
}

/* The time since it was taken up becomes time before. */
static void add_time(struct rt_scopes *of, struct rt_scope_open *open, uint64_t now)
{
	const uint64_t cpu = cpu_now(of, now);

	/* The clock may have become a coarse one meanwhile. */
	open->wall_ns += now > open->since_ns ? now - open->since_ns : 0;
	open->cpu_ns += cpu > open->since_cpu_ns ? cpu - open->since_cpu_ns : 0;
}

static void take_up(struct rt_scopes *of, struct rt_scope_open *open, uint64_t now)
{
	open->since_ns = now;
	open->since_cpu_ns = cpu_now(of, now);
}

static void remove_at(struct rt_scopes *of, uint32_t index)
{
	if (RT_UNLIKELY(index + 1 < of->depth))
		memmove(of->open + index, of->open + index + 1,
			(of->depth - index - 1) * sizeof(*of->open));
	of->depth--;
}

void rt_scopes_take_off(struct rt_scopes *of, uint32_t index, uint64_t now,
			struct rt_scope_open *ret_open)
{
	*ret_open = of->open[index];
	add_time(of, ret_open, now);
	/* First: a handler may leave what follows by longjmp(), and what was left must not be left again. */
	atomic_signal_fence(memory_order_seq_cst);
	remove_at(of, index);
	atomic_signal_fence(memory_order_seq_cst);
}

void rt_scopes_close(struct rt_scopes *of, uint32_t index, uint64_t now)
{
	struct rt_scope_open open;

	rt_scopes_take_off(of, index, now, &open);
	count_exit(of, &open, now, true);
}

void rt_scopes_forget(struct rt_scopes *of, uint32_t index)
{
	const struct rt_scope_open open = of->open[index];

	remove_at(of, index);
	count_exit(of, &open, 0, false);
}

bool rt_scopes_room(struct rt_thread *thread)
{
	if (RT_UNLIKELY(!thread->scopes)) {
		thread->scopes = rt_mmap_sparse(sizeof(*thread->scopes));
		/* Few scopes, hardly nested, touch so much. */
		rt_count_private(thread->scopes ? 2 * LEDGER_PAGE_BYTES : 0);
	}
	if (RT_LIKELY(thread->scopes && thread->scopes->depth < RT_SCOPE_DEPTH_MAX))
		return true;
	rt_note_unseen(LEDGER_UNSEEN_ENTRIES);
	return false;
}

void rt_scopes_add(struct rt_thread *thread, uint32_t tag, uint64_t key, bool is_handle,
		   bool on_stack)
{
	struct rt_scopes *of = thread->scopes;
	struct rt_scope_open *open = of->open + of->depth;
	const uint64_t scope = rt_scope_number(of->depth ? open[-1].scope : RT_SCOPE_NONE, tag);
	bool is_inner = false;

	/* In its path, a tag may be one that was left: a handle outlives those around it. */
	for (uint32_t i = of->depth; scope & RT_SCOPE_INNER && !is_inner && i-- > 0;)
		is_inner = of->open[i].tag == tag;
	*open = (struct rt_scope_open){ .key = key,
					.first_row = rt_global.first_row,
					.scope = (uint16_t)scope,
					.tag = (uint16_t)tag,
					.is_handle = is_handle,
					.on_stack = on_stack,
					.is_inner = is_inner };
	take_up(of, open, rt_now_ns());
	count_entry(of, open);
	of->depth++;
	rt_scopes_set_present(thread);
}

uint32_t rt_scopes_find(const struct rt_scopes *of, uint64_t key, uint32_t most)
{
	const uint32_t depth = of ? of->depth : 0;

	for (uint32_t i = depth; i-- > 0 && most-- > 0;)
		if (of->open[i].key == key)
			return i;
	return depth;
}

void rt_scopes_put_on(struct rt_scopes *of, const struct rt_scope_open *open, uint64_t now)
{
	if (of->depth == RT_SCOPE_DEPTH_MAX) {
		count_exit(of, open, 0, false);
		return;
	}
	of->open[of->depth] = *open;
	take_up(of, of->open + of->depth, now);
	of->depth++;
}
