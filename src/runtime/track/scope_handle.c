/* SPDX-License-Identifier: MIT */
#include "runtime/track/scope_handle.h"

#include "runtime/sys/sys.h"

enum { PLACES_LOOKED_AT = 256 };

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

void rt_scope_handle_drop(uint64_t handle)
{
	place_give(place_of(handle));
}

uint64_t rt_scope_begin(struct rt_thread *thread, uint32_t tag)
{
	struct place *place = rt_scopes_room(thread) ? place_take() : NULL;

	if (!place)
		return 0;
	rt_scopes_add(thread, tag, handle_of(place), true, false);
	return handle_of(place);
}

/* The scope of @place's handle is on no thread, nor are those in it. */
bool rt_scope_suspend(struct rt_thread *thread, uint64_t handle)
{
	struct rt_scopes *of = thread->scopes;
	uint32_t i = rt_scopes_find(of, handle, UINT32_MAX);
	struct place *first = place_of(handle), *last = NULL;
	const uint64_t now = rt_now_ns();

	if (!of || i == of->depth || !first)
		return false;
	while (i < of->depth) {
		struct rt_scope_open open = of->open[i];
		struct place *place = open.is_handle ? place_of(open.key) : NULL;

		/* What is on this thread's stack cannot be left on another. */
		if (open.on_stack) {
			i++;
			continue;
		}
		open = rt_scopes_take_off(of, i, now);
		if (!place)
			place = place_take();
		if (place) {
			place->open = open;
			place->next = 0;
			if (last)
				last->next = (uint64_t)(place - rt_load_acquire(&all_places)) + 1;
			last = place;
		} else {
			rt_scopes_count_exit(of, &open, now, false);
		}
	}
	rt_scopes_set_present(thread);
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

	if (!first || !rt_scopes_room(thread) || !pass(first, PLACE_SUSPENDED, PLACE_BUSY))
		return false;
	for (struct place *place = first; place; place = next) {
		next = next_of(place);
		rt_scopes_put_on(thread->scopes, &place->open);
		place_leave(place);
	}
	rt_scopes_set_present(thread);
	return pass(first, PLACE_BUSY, PLACE_OPEN);
}

bool rt_scope_end(struct rt_thread *thread, uint64_t handle)
{
	struct place *first = place_of(handle), *next;
	const uint64_t now = rt_now_ns();
	uint32_t index;

	if (!first || (!thread->scopes && !rt_scopes_room(thread)))
		return false;
	index = rt_scopes_find(thread->scopes, handle, UINT32_MAX);
	if (index < thread->scopes->depth) {
		rt_scopes_close(thread->scopes, index, now);
		rt_scopes_set_present(thread);
		place_give(first);
		return true;
	}
	if (!pass(first, PLACE_SUSPENDED, PLACE_BUSY))
		return false;
	for (struct place *place = first; place; place = next) {
		next = next_of(place);
		rt_scopes_count_exit(thread->scopes, &place->open, now, true);
		place_give(place);
	}
	return true;
}
