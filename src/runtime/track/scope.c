/* SPDX-License-Identifier: MIT */
#include "runtime/track/scope.h"

#include "runtime/sys/sys.h"
#include "runtime/sys/tables.h"
#include "runtime/track/label.h"
#include "runtime/unwind/stack.h"

#include <signal.h>
#include <string.h>

enum {
	CPU_EVERY_NS = 20000, /* the thread's own clock is a system call */
	PLACES_LOOKED_AT = 256,
	LEFT_LOOKED_AT = 8,
	JUMP_BYTES_MAX = 1 << 20, /* no function's variables are more, out to where it jumps */
};

struct rt_row_tags rt_row_tags;

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

/* The innermost scope is another one: what follows is its. */
static void set_present(struct rt_thread *thread)
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

static void close_at(struct rt_scopes *of, uint32_t index, uint64_t now)
{
	struct rt_scope_open open;

	add_time(of, of->open + index, now);
	open = of->open[index];
	/* First: a handler may leave this by longjmp(), and what was left must not be left again. */
	remove_at(of, index);
	atomic_signal_fence(memory_order_seq_cst);
	count_exit(of, &open, now, true);
}

/* Those of variables on the thread's stack below @sp, from @index on inwards: their functions are gone. */
static void close_dead(struct rt_scopes *of, uint32_t index, uintptr_t sp)
{
	for (uint32_t i = of->depth; i-- > index;)
		if (of->open[i].on_stack && of->open[i].key < sp)
			close_at(of, i, rt_now_ns());
}

/* Of variables between @from and @to on another stack than the thread's. */
static void close_between(struct rt_scopes *of, uintptr_t from, uintptr_t to)
{
	for (uint32_t i = of->depth; i-- > 0;)
		if (!of->open[i].is_handle && !of->open[i].on_stack &&
		    of->open[i].key - from < to - from)
			close_at(of, i, rt_now_ns());
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
		close_dead(of, 0, sp);
	/* Within a coroutine's stack; or from a handler's back. A coroutine that gives way so goes on later. */
	if (!is_home && sp - at < JUMP_BYTES_MAX && !rt_load(&rt_is_confined) &&
	    rt_pages_are_readable((at | (LEDGER_PAGE_BYTES - 1)) + 1, sp))
		close_between(of, at, sp);
	else if (is_home && at - stack->low >= stack->end - stack->low && !rt_load(&rt_is_confined))
		handlers_end = handlers_stack_end(at);
	if (handlers_end)
		close_between(of, at, handlers_end);
	set_present(thread);
}

void rt_scopes_mend(struct rt_thread *thread, uintptr_t frame)
{
	const uintptr_t sp = core_larger(frame, rt_load(&thread->jumped_to));

	rt_store(&thread->jumped_to, 0);
	if (!thread->scopes)
		return;
	if (rt_stack_holds(&thread->walk.stack, sp, sp, sizeof(sp)))
		close_dead(thread->scopes, 0, sp);
	set_present(thread);
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

static bool has_room(struct rt_thread *thread)
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

static void open_scope(struct rt_thread *thread, uint32_t tag, uint64_t key, bool is_handle,
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
	set_present(thread);
}

/* The index of that of @key, among the @most innermost; the depth if there is none. */
static uint32_t find_open(const struct rt_scopes *of, uint64_t key, uint32_t most)
{
	const uint32_t depth = of ? of->depth : 0;

	for (uint32_t i = depth; i-- > 0 && most-- > 0;)
		if (of->open[i].key == key)
			return i;
	return depth;
}

void rt_scope_enter(struct rt_thread *thread, uint32_t tag, const void *variable, const void *frame)
{
	struct rt_scopes *of;
	uint32_t index;

	if (!has_room(thread))
		return;
	of = thread->scopes;
	/* A variable is entered once: then its function was left without a word, or goes on elsewhere. */
	index = find_open(of, (uintptr_t)variable, LEFT_LOOKED_AT);
	for (uint32_t i = of->depth; RT_UNLIKELY(index < i); i--)
		if (!of->open[i - 1].is_handle)
			close_at(of, i - 1, rt_now_ns());
	open_scope(thread, tag, (uintptr_t)variable, false, is_on_stack(thread, variable, frame));
}

void rt_scope_leave(struct rt_thread *thread, const void *variable)
{
	struct rt_scopes *of = thread->scopes;
	const uint32_t index = find_open(of, (uintptr_t)variable, UINT32_MAX);

	if (!of || index == of->depth)
		return;
	if (RT_UNLIKELY(index + 1 < of->depth) && of->open[index].on_stack)
		close_dead(of, index + 1, (uintptr_t)variable);
	close_at(of, index, rt_now_ns());
	set_present(thread);
}

/* Where a handle's scope stands while it is suspended; those in it stand in others. */
struct place {
	_Atomic uint64_t state; /* how often it was given out << 2, and: */
	uint64_t next;		/* place + 1 of the next one inwards; 0: none */
	struct rt_scope_open open;
};
static struct place *_Atomic all_places; /* RT_SCOPE_HANDLES_MAX; NULL: there was no handle yet */
static _Atomic uint32_t next_place;

enum { PLACE_FREE = 0, PLACE_OPEN = 1, PLACE_SUSPENDED = 2, PLACE_BUSY = 3, PLACE_STATES = 3 };

/* A handle: the place, and how often that was given out. No address has the highest bit. */
static uint64_t handle_of(const struct place *place)
{
	return (uint64_t)(place - rt_load_acquire(&all_places) + 1) |
	       rt_load(&place->state) >> 2 << 32 | UINT64_C(1) << 63;
}

static struct place *place_of(uint64_t handle)
{
	struct place *places = rt_load_acquire(&all_places);
	const uint32_t number = (uint32_t)handle;

	return places && number - 1 < RT_SCOPE_HANDLES_MAX &&
			       handle_of(&places[number - 1]) == handle
		       ? &places[number - 1]
		       : NULL;
}

static bool pass(struct place *place, unsigned from, unsigned to)
{
	uint64_t state = rt_load(&place->state);

	return (state & PLACE_STATES) == from &&
	       atomic_compare_exchange_strong_explicit(&place->state, &state, state - from + to,
						       memory_order_acq_rel, memory_order_relaxed);
}

/* NULL: no memory. */
static struct place *places_get(void)
{
	const size_t bytes = RT_SCOPE_HANDLES_MAX * sizeof(struct place);
	struct place *known = rt_load_acquire(&all_places), *made;

	if (known)
		return known;
	made = rt_mmap_sparse(bytes);
	if (made && !atomic_compare_exchange_strong_explicit(
			    &all_places, &known, made, memory_order_acq_rel, memory_order_acquire))
		rt_munmap_sparse(made, bytes);
	return known ? known : made;
}

static struct place *place_take(void)
{
	struct place *places = places_get();

	for (unsigned i = 0; places && i < PLACES_LOOKED_AT; i++) {
		struct place *place =
			&places[atomic_fetch_add_explicit(&next_place, 1, memory_order_relaxed) %
				RT_SCOPE_HANDLES_MAX];

		if (pass(place, PLACE_FREE, 4 + PLACE_OPEN)) {
			place->next = 0;
			return place;
		}
	}
	rt_note_unseen(LEDGER_UNSEEN_ENTRIES);
	return NULL;
}

static void place_give(struct place *place)
{
	if (place)
		rt_store_release(&place->state, rt_load(&place->state) & ~(uint64_t)PLACE_STATES);
}

uint64_t rt_scope_begin(struct rt_thread *thread, uint32_t tag)
{
	struct place *place = has_room(thread) ? place_take() : NULL;

	if (!place)
		return 0;
	open_scope(thread, tag, handle_of(place), true, false);
	return handle_of(place);
}

/* The scope of @place's handle is on no thread, nor are those in it. */
bool rt_scope_suspend(struct rt_thread *thread, uint64_t handle)
{
	struct rt_scopes *of = thread->scopes;
	uint32_t i = find_open(of, handle, UINT32_MAX);
	struct place *first = place_of(handle), *last = NULL;
	const uint64_t now = rt_now_ns();

	if (!of || i == of->depth || !first)
		return false;
	while (i < of->depth) {
		struct rt_scope_open *open = of->open + i;
		struct place *place = open->is_handle ? place_of(open->key) : NULL;

		/* What is on this thread's stack cannot be left on another. */
		if (open->on_stack) {
			i++;
			continue;
		}
		add_time(of, open, now);
		if (!place)
			place = place_take();
		if (place) {
			place->open = *open;
			place->next = 0;
			if (last)
				last->next = (uint64_t)(place - rt_load_acquire(&all_places)) + 1;
			last = place;
		} else {
			count_exit(of, open, now, false);
		}
		remove_at(of, i);
	}
	set_present(thread);
	return pass(first, PLACE_OPEN, PLACE_SUSPENDED);
}

/* Of a suspended scope and those in it, one after the other; @place: NULL after the last. */
static struct place *next_of(const struct place *place)
{
	return place->next ? rt_load_acquire(&all_places) + place->next - 1 : NULL;
}

/* A variable's scope needs no place while it is open. */
static void place_leave(struct place *place)
{
	if (!place->open.is_handle)
		place_give(place);
}

bool rt_scope_resume(struct rt_thread *thread, uint64_t handle)
{
	struct place *first = place_of(handle), *next;
	struct rt_scopes *of;

	if (!first || !has_room(thread) || !pass(first, PLACE_SUSPENDED, PLACE_BUSY))
		return false;
	of = thread->scopes;
	for (struct place *place = first; place; place = next) {
		struct rt_scope_open *open = of->open + of->depth;

		next = next_of(place);
		if (of->depth == RT_SCOPE_DEPTH_MAX) {
			count_exit(of, &place->open, 0, false);
		} else {
			*open = place->open;
			take_up(of, open, rt_now_ns());
			of->depth++;
		}
		place_leave(place);
	}
	set_present(thread);
	return pass(first, PLACE_BUSY, PLACE_OPEN);
}

bool rt_scope_end(struct rt_thread *thread, uint64_t handle)
{
	struct place *first = place_of(handle), *next;
	const uint64_t now = rt_now_ns();
	uint32_t index;

	if (!first || (!thread->scopes && !has_room(thread)))
		return false;
	index = find_open(thread->scopes, handle, UINT32_MAX);
	if (index < thread->scopes->depth) {
		close_at(thread->scopes, index, now);
		set_present(thread);
		place_give(first);
		return true;
	}
	if (!pass(first, PLACE_SUSPENDED, PLACE_BUSY))
		return false;
	for (struct place *place = first; place; place = next) {
		next = next_of(place);
		count_exit(thread->scopes, &place->open, now, true);
		place_give(place);
	}
	return true;
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
		set_present(thread);
		return;
	}
	/* The thread that had them has ended, nobody knows when. */
	for (; of && of->depth; of->depth--) {
		const struct rt_scope_open *open = of->open + of->depth - 1;

		count_exit(of, open, 0, false);
		place_give(open->is_handle ? place_of(open->key) : NULL);
	}
	if (of) {
		of->cpu_at_ns = 0;
		of->other_page = 0;
	}
	thread->entries = NULL;
	rt_store(&thread->jumped_to, 0);
	thread->frees_quickly = rt_load(&rt_global.quick) == RT_QUICK_GLIBC;
}

void rt_scopes_forked(void)
{
	uint16_t *tags = rt_load(&rt_row_tags.tags);

	if (tags)
		rt_munmap_sparse(tags, rt_row_tags.count * sizeof(*tags));
	rt_store(&rt_row_tags.tags, NULL);
	rt_scope_numbers_forked();
}
