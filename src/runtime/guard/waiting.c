/* SPDX-License-Identifier: MIT */
#include "runtime/guard/waiting.h"

#include "runtime/next/next.h"
#include "runtime/sys/rt_facts.h"
#include "runtime/sys/sys.h"
#include "runtime/track/guarded.h"
#include "runtime/track/misuse.h"

#include <string.h>

enum {
	PLACES_MIN = 1 << 10,
	PLACE_BYTES = 128, /* the least that most blocks take */
	LARGEST_SHARE = 4, /* of all that may wait; a larger block would be costly to fill */
};

/* Places by number: those from out to in are taken, but for some that others are about to change. */
static void *_Atomic *places;
static uint64_t place_count;
static _Atomic uint64_t in, out;
static _Atomic uint64_t held_bytes;
static uint64_t held_most_bytes;
static uint8_t fill_byte;

static uint64_t bytes_of(const struct ledger_guarded *header)
{
	return rt_guard_front_bytes + header->size +
	       ledger_guarded_rear_bytes(rt_guard_bytes, header->size);
}

static void give_back(struct ledger_guarded *header, void *block)
{
	void *whole = (char *)block - (size_t)header->distance * LEDGER_GUARD_ALIGNMENT;

	/* Else who frees it once more would meet a header that is nobody's. */
	rt_store(&header->tag, 0);
	if (header->distance)
		rt_found.free(whole);
}

/* False: its header was written over, and nobody knows where it begins and ends. */
static bool check(void *block)
{
	struct ledger_guarded *header = rt_guarded_of(block);
	const bool is_whole = rt_guarded_state(block) == LEDGER_GUARDED_WAITING;
	const size_t at = is_whole ? ledger_guarded_first_other(block, header->size, fill_byte) : 0;
	struct rt_finding finding = {
		.kind = LEDGER_FINDING_USE_AFTER_FREE,
		.pointer = is_whole ? (uintptr_t)block + at : (uintptr_t)header,
	};

	if (is_whole && at == header->size)
		return true;
	if (is_whole) {
		finding.block = (struct rt_block){ NULL, header->cell, header->size,
						   (uintptr_t)block };
		finding.freed_row = header->freed_row;
	}
	rt_finding_note(&finding, NULL);
	return is_whole;
}

static void leave(void *block)
{
	if (!block || !check(block))
		return;
	(void)atomic_fetch_sub_explicit(&held_bytes, bytes_of(rt_guarded_of(block)),
					memory_order_relaxed);
	give_back(rt_guarded_of(block), block);
}

static void *exchange(uint64_t number, void *block)
{
	return atomic_exchange_explicit(&places[number % place_count], block, memory_order_acq_rel);
}

/* A handler that interrupts this, or another thread, may take what is in a place, but only once. */
void rt_waiting_put(void *block)
{
	struct ledger_guarded *header = rt_guarded_of(block);
	const uint64_t bytes = bytes_of(header);
	uint64_t number, oldest;

	/* What is not known to begin anywhere cannot be given back, and what holds too much costs too much. */
	if (!header->distance || bytes > held_most_bytes / LARGEST_SHARE) {
		give_back(header, block);
		return;
	}
	memset(block, fill_byte, header->size);
	number = atomic_fetch_add_explicit(&in, 1, memory_order_relaxed);
	rt_add(&held_bytes, bytes);
	oldest = rt_load(&out);
	while (oldest < number &&
	       (number - oldest >= place_count || rt_load(&held_bytes) > held_most_bytes))
		if (atomic_compare_exchange_strong_explicit(
			    &out, &oldest, oldest + 1, memory_order_relaxed, memory_order_relaxed))
			leave(exchange(oldest++, NULL));
	leave(exchange(number, block));
}

bool rt_waiting_give_back(void)
{
	const uint64_t count = core_smaller(rt_load(&in), place_count);
	bool any = false;

	for (uint64_t i = 0; i < count; i++) {
		void *block = exchange(i, NULL);

		any |= block != NULL;
		leave(block);
	}
	return any;
}

void rt_waiting_look(void)
{
	const uint64_t count = core_smaller(rt_load(&in), place_count);

	for (uint64_t i = 0; i < count; i++) {
		void *block = exchange(i, NULL);

		/* Another may have come meanwhile. */
		if (block && check(block))
			leave(exchange(i, block));
	}
}

void rt_waiting_start(uint64_t most_bytes, uint8_t byte)
{
	fill_byte = byte;
	place_count = PLACES_MIN;
	while (place_count < LEDGER_WAITING_MAX && place_count * PLACE_BYTES < most_bytes)
		place_count *= 2;
	places = most_bytes ? rt_mmap(place_count * sizeof(*places)) : NULL;
	held_most_bytes = places ? most_bytes : 0;
	rt_facts.guards.waiting = (uintptr_t)places;
	rt_facts.guards.waiting_count = places ? place_count : 0;
	rt_facts.guards.waiting_byte = byte;
}
