/* SPDX-License-Identifier: MIT */
#include "runtime/sys/rt_scratch.h"

#include "runtime/rt.h"
#include "runtime/sys/sys.h"

enum { PLACES = 8, LEAST_BYTES = 16 << 10 };

struct piece {
	_Alignas(16) size_t bytes; /* with this */
	_Alignas(16) char memory[];
};

static _Atomic(struct piece *) places[PLACES];

void *rt_scratch_take(size_t bytes)
{
	size_t needed = LEAST_BYTES;
	struct piece *piece;

	while (needed - sizeof(*piece) < bytes)
		needed *= 2;
	for (unsigned i = 0; i < PLACES; i++) {
		piece = rt_load(&places[i])
				? atomic_exchange_explicit(&places[i], NULL, memory_order_acquire)
				: NULL;
		if (piece && piece->bytes >= needed)
			return piece->memory;
		if (piece)
			rt_munmap(piece, piece->bytes);
	}
	piece = rt_mmap(needed);
	if (!piece)
		return NULL;
	piece->bytes = needed;
	return piece->memory;
}

void rt_scratch_give(void *scratch)
{
	struct piece *piece = scratch ? (struct piece *)scratch - 1 : NULL;

	for (unsigned i = 0; piece && i < PLACES; i++) {
		struct piece *none = NULL;

		if (atomic_compare_exchange_strong_explicit(
			    &places[i], &none, piece, memory_order_release, memory_order_relaxed))
			return;
	}
	if (piece)
		rt_munmap(piece, piece->bytes);
}
