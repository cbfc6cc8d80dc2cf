/* SPDX-License-Identifier: MIT */
#include "runtime/guard/waiting.h"

#include "runtime/sys/rt_facts.h"
#include "runtime/sys/sys.h"

enum { GIVEN_BACK = 1 << 16 }; /* places from one try to the next */

static void *_Atomic *places;
static uint64_t place_count, place_bytes;
static unsigned round_shift; /* log2 of their number */
static void (*give_back)(void *block);

/* Places by number, which goes on in each round. Those below next are taken. */
static _Atomic uint64_t next;
static _Atomic uint64_t kept_from; /* those before were given back, where there was no memory */
static uint64_t own_from;	   /* those before were taken by the parent */

/* Each round begins with another place of a batch: threads that free one block and end use all, too. */
static inline void *_Atomic *place_of(uint64_t number)
{
	const uint64_t batch = number & (place_count - 1) & -(uint64_t)RT_WAITING_BATCH;

	return &places[batch + (number + (number >> round_shift)) % RT_WAITING_BATCH];
}

/* What a handler that interrupts this puts into the same place waits for less time. */
static inline void *_Atomic *next_place(void)
{
	uint64_t number = rt_tls.waits;

	if (number % RT_WAITING_BATCH == 0)
		number = atomic_fetch_add_explicit(&next, RT_WAITING_BATCH, memory_order_relaxed);
	rt_tls.waits = number + 1;
	return place_of(number);
}

static inline void *swap(void *_Atomic *place, void *block)
{
	return atomic_exchange_explicit(place, block, memory_order_acq_rel);
}

/* What was in it; an empty place is not written to. */
static inline void *empty(void *_Atomic *place)
{
	return rt_load(place) ? swap(place, NULL) : NULL;
}

static inline bool leave(void *block)
{
	if (block)
		give_back(block);
	return block != NULL;
}

static RT_APART void make_room(uint64_t bytes)
{
	for (; bytes > place_bytes; bytes -= place_bytes)
		(void)leave(empty(next_place()));
}

/* Others may change a place at any time, but who takes a block out has it alone. */
void rt_waiting_put(void *block, uint64_t bytes)
{
	if (bytes > place_bytes)
		make_room(bytes);
	block = swap(next_place(), block);
	if (block)
		give_back(block);
}

bool rt_waiting_take(void *block)
{
	for (uint64_t i = 0; i < place_count; i++) {
		void *expected = block;

		if (rt_load(&places[i]) == block &&
		    atomic_compare_exchange_strong_explicit(&places[i], &expected, NULL,
							    memory_order_acq_rel,
							    memory_order_relaxed))
			return true;
	}
	return false;
}

/* From @number on, those that nothing came to since. */
static uint64_t first_from(uint64_t number, uint64_t end)
{
	return core_larger(number, end - core_smaller(end, place_count));
}

bool rt_waiting_give_back(void)
{
	const uint64_t end = rt_load(&next);
	uint64_t number = first_from(rt_load(&kept_from), end);
	bool any = false;

	while (number < end && !(any && number % GIVEN_BACK == 0))
		any |= leave(empty(place_of(number++)));
	rt_store(&kept_from, number);
	return any;
}

void rt_waiting_look(bool (*check)(void *block))
{
	const uint64_t end = rt_load(&next);

	for (uint64_t number = first_from(own_from, end); number < end; number++) {
		void *block = empty(place_of(number));

		/* Another may have come meanwhile. */
		if (block && check(block))
			(void)leave(swap(place_of(number), block));
	}
}

/* Each page that is written to without need is a copy of it in each child. */
void rt_waiting_forked(void)
{
	if (places)
		own_from = rt_load(&next);
}

bool rt_waiting_start(uint64_t count, uint64_t bytes, void (*leave_function)(void *block))
{
	places = rt_mmap(count * sizeof(*places));
	if (!places)
		return false;
	place_count = count;
	place_bytes = bytes;
	give_back = leave_function;
	round_shift = (unsigned)__builtin_ctzll(place_count);
	rt_facts.guards.waiting = (uintptr_t)places;
	rt_facts.guards.waiting_count = place_count;
	return true;
}
