/* SPDX-License-Identifier: MIT */
#include "runtime/track/scope_handle.h"

#include "runtime/sys/sys.h"

enum { PLACES_LOOKED_AT = 256 };

/* Where a handle's scope stands while it is suspended; those in it stand in others. */
struct rt_scope_place {
	struct rt_scope_open open;
	_Atomic uint64_t state;		 /* how often it was given out << 2, and: */
	struct rt_scopes *_Atomic mover; /* the thread that puts it on or takes it off; or NULL */
	uint64_t next;			 /* place + 1 of the next one inwards; 0: none */
	bool stays;			 /* in a forked child */
};
static struct rt_scope_place
	*_Atomic all_places; /* RT_SCOPE_HANDLES_MAX; NULL: there was no handle yet */
static _Atomic uint64_t next_place;

enum { PLACE_FREE = 0, PLACE_OPEN = 1, PLACE_SUSPENDED = 2, PLACE_STATES = 3 };

/* A handle: the place, and how often that was given out. No address has the highest bit. */
static uint64_t handle_of(const struct rt_scope_place *place)
{
	return (uint64_t)(place - rt_load_acquire(&all_places) + 1) |
	       rt_load(&place->state) >> 2 << 32 | UINT64_C(1) << 63;
}

static struct rt_scope_place *place_of(uint64_t handle)
{
	struct rt_scope_place *places = rt_load_acquire(&all_places);
	const uint32_t number = (uint32_t)handle;

	return places && number - 1 < RT_SCOPE_HANDLES_MAX &&
			       handle_of(&places[number - 1]) == handle
		       ? &places[number - 1]
		       : NULL;
}

static unsigned state_of(const struct rt_scope_place *place)
{
	return rt_load_acquire(&place->state) & PLACE_STATES;
}

static void set_state(struct rt_scope_place *place, unsigned state)
{
	rt_store_release(&place->state, (rt_load(&place->state) & ~(uint64_t)PLACE_STATES) | state);
}

/* NULL: no memory. */
static struct rt_scope_place *places_get(void)
{
	const size_t bytes = RT_SCOPE_HANDLES_MAX * sizeof(struct rt_scope_place);
	struct rt_scope_place *known = rt_load_acquire(&all_places), *made;

	if (known)
		return known;
	made = rt_mmap_sparse(bytes);
	if (made && !atomic_compare_exchange_strong_explicit(
			    &all_places, &known, made, memory_order_acq_rel, memory_order_acquire))
		rt_munmap_sparse(made, bytes);
	return known ? known : made;
}

static struct rt_scope_place *place_take(void)
{
	struct rt_scope_place *places = places_get();

	for (unsigned i = 0; places && i < PLACES_LOOKED_AT; i++) {
		struct rt_scope_place *place =
			&places[atomic_fetch_add_explicit(&next_place, 1, memory_order_relaxed) %
				RT_SCOPE_HANDLES_MAX];

		uint64_t state = rt_load(&place->state);

		if ((state & PLACE_STATES) == PLACE_FREE &&
		    atomic_compare_exchange_strong_explicit(
			    &place->state, &state, state + PLACE_STATES + 1 + PLACE_OPEN,
			    memory_order_acq_rel, memory_order_relaxed)) {
			place->next = 0;
			return place;
		}
	}
	rt_note_unseen(LEDGER_UNSEEN_ENTRIES);
	return NULL;
}

void rt_scope_handle_drop(uint64_t handle)
{
	struct rt_scope_place *place = place_of(handle);

	if (place)
		set_state(place, PLACE_FREE);
}

uint64_t rt_scope_begin(struct rt_thread *thread, uint32_t tag)
{
	struct rt_scope_place *place = rt_scopes_room(thread) ? place_take() : NULL;

	if (!place)
		return 0;
	rt_scopes_add(thread, tag, handle_of(place), true, false);
	return handle_of(place);
}

/* Of what was suspended together, the next one inwards; NULL: there is none. */
static struct rt_scope_place *next_of(const struct rt_scope_place *place)
{
	return place->next ? rt_load_acquire(&all_places) + place->next - 1 : NULL;
}

/*
 * Of threads that want what is in @state, one gets it. A handler may leave the move by longjmp(): what is in
 * the list from @first on, and on the thread too or not, is put on it when that enters the library next.
 */
static bool begin_move(struct rt_scopes *of, struct rt_scope_place *first, unsigned state)
{
	struct rt_scopes *none = NULL;

	if (state_of(first) != state)
		return false;
	of->moving = first;
	atomic_signal_fence(memory_order_seq_cst);
	if (atomic_compare_exchange_strong_explicit(&first->mover, &none, of, memory_order_acq_rel,
						    memory_order_relaxed)) {
		if (state_of(first) == state)
			return true;
		rt_store_release(&first->mover, NULL);
	}
	of->moving = NULL;
	return false;
}

static void end_move(struct rt_scopes *of, struct rt_scope_place *first, unsigned state)
{
	atomic_signal_fence(memory_order_seq_cst);
	set_state(first, state);
	rt_store_release(&first->mover, NULL);
	of->moving = NULL;
}

bool rt_scope_suspend(struct rt_thread *thread, uint64_t handle)
{
	struct rt_scopes *of = thread->scopes;
	uint32_t i = rt_scopes_find(of, handle, UINT32_MAX);
	struct rt_scope_place *first = place_of(handle), *last = NULL;
	const uint64_t now = rt_now_ns();

	if (!of || i == of->depth || !first)
		return false;
	first->open = of->open[i];
	first->next = 0;
	if (!begin_move(of, first, PLACE_OPEN))
		return false;
	while (i < of->depth) {
		const struct rt_scope_open *open = of->open + i;
		struct rt_scope_place *place = open->is_handle ? place_of(open->key) : NULL;

		/* What is on this thread's stack cannot be left on another. */
		if (open->on_stack) {
			i++;
			continue;
		}
		if (!place)
			place = place_take();
		if (!place) {
			rt_scopes_forget(of, i);
			continue;
		}
		place->open = *open;
		place->next = 0;
		/* In the list before it is off the thread: once more is noticed, not at all is not. */
		atomic_signal_fence(memory_order_seq_cst);
		if (last)
			last->next = (uint64_t)(place - rt_load_acquire(&all_places)) + 1;
		rt_scopes_take_off(of, i, now, &place->open);
		last = place;
	}
	rt_scopes_set_present(thread);
	end_move(of, first, PLACE_SUSPENDED);
	return true;
}

/* But what is on it. */
static void put_on(struct rt_scopes *of, const struct rt_scope_place *place, uint64_t now)
{
	if (rt_scopes_find(of, place->open.key, UINT32_MAX) == of->depth)
		rt_scopes_put_on(of, &place->open, now);
	atomic_signal_fence(memory_order_seq_cst);
}

static void put_all_on(struct rt_scopes *of, struct rt_scope_place *first, uint64_t now)
{
	struct rt_scope_place *place;

	put_on(of, first, now);
	while ((place = next_of(first)) != NULL) {
		put_on(of, place, now);
		first->next = place->next;
		atomic_signal_fence(memory_order_seq_cst);
		/* A variable's scope needs no place while it is open. */
		if (!place->open.is_handle)
			set_state(place, PLACE_FREE);
	}
	end_move(of, first, PLACE_OPEN);
}

static bool resume(struct rt_thread *thread, uint64_t handle, uint64_t now)
{
	struct rt_scope_place *first = place_of(handle);

	if (!first || !rt_scopes_room(thread) ||
	    !begin_move(thread->scopes, first, PLACE_SUSPENDED))
		return false;
	put_all_on(thread->scopes, first, now);
	rt_scopes_set_present(thread);
	return true;
}

bool rt_scope_resume(struct rt_thread *thread, uint64_t handle)
{
	return resume(thread, handle, rt_now_ns());
}

void rt_scope_handles_mend(struct rt_scopes *of)
{
	struct rt_scope_place *first = of->moving;

	if (first && rt_load(&first->mover) == of)
		put_all_on(of, first, rt_now_ns());
	of->moving = NULL;
}

bool rt_scope_end(struct rt_thread *thread, uint64_t handle)
{
	const uint64_t now = rt_now_ns();
	const bool was_suspended = resume(thread, handle, now);
	struct rt_scopes *of = thread->scopes;
	const uint32_t index = rt_scopes_find(of, handle, UINT32_MAX);

	if (!of || index == of->depth)
		return false;
	/* What was suspended with it ends with it. */
	for (uint32_t i = was_suspended ? of->depth : index + 1; i-- > index;) {
		const struct rt_scope_open open = of->open[i];

		rt_scopes_close(of, i, now);
		if (open.is_handle)
			rt_scope_handle_drop(open.key);
	}
	rt_scopes_set_present(thread);
	return true;
}

static void keep(struct rt_scope_place *place)
{
	for (; place; place = next_of(place))
		place->stays = true;
}

static uint64_t places_given(void)
{
	return rt_load(&all_places) ? core_smaller(rt_load(&next_place), RT_SCOPE_HANDLES_MAX) : 0;
}

/* But those that stay. @mine: may move what it moves. */
static void free_places(const struct rt_scopes *mine)
{
	struct rt_scope_place *places = rt_load(&all_places);

	for (uint64_t i = 0; i < places_given(); i++) {
		struct rt_scope_place *place = &places[i];

		/* Most are, and a page that is not written to stays the parent's. */
		if (state_of(place) == PLACE_FREE)
			continue;
		if (!place->stays)
			set_state(place, PLACE_FREE);
		if (rt_load(&place->mover) != mine)
			rt_store(&place->mover, NULL);
		place->stays = false;
	}
}

void rt_scope_handles_left(void)
{
	free_places(NULL);
}

void rt_scope_handles_forked(const struct rt_scopes *mine)
{
	struct rt_scope_place *places = rt_load(&all_places);

	for (uint64_t i = 0; i < places_given(); i++)
		if (state_of(&places[i]) == PLACE_SUSPENDED)
			keep(&places[i]);
	for (uint32_t i = 0; mine && i < mine->depth; i++) {
		struct rt_scope_place *place = place_of(mine->open[i].key);

		if (place)
			place->stays = true;
	}
	keep(mine ? mine->moving : NULL);
	free_places(mine);
}
