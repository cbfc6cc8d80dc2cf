/* SPDX-License-Identifier: MIT */
#include "target/jemalloc.h"

#include <stdbool.h>
#include <stddef.h>

/* What precedes a thread's control block is its thread-local storage; the stacks' heads are there. */
enum { PAGE_BYTES = 4096, PIECE_BYTES = 128, PIECES_ENOUGH = 8, PIECE_BITS = 40 };
enum { LOOKED_BYTES = 16384, LOOKED_STEP = 1024, BINS_ENOUGH = 16 };

/* cache_bin_t of jemalloc 5.3: 16 bits of an address each, as stacks are smaller than 64 KB. */
struct bin {
	uint64_t head; /* address of the last one put there */
	uint64_t requests;
	uint16_t low_water, full, empty; /* address where it was full, and is empty */
	uint16_t zero;
};

static bool read_bin(const struct bin *bin, struct scan_range *ret_stack)
{
	const uint16_t bytes = bin->empty - bin->full, used = (uint16_t)bin->head - bin->full;

	*ret_stack = (struct scan_range){ bin->head - used, bin->head - used + bytes };
	return !bin->zero && !(bin->head >> 47) && bin->head % sizeof(uint64_t) == 0 && bytes &&
	       bytes % sizeof(uint64_t) == 0 && used <= bytes &&
	       (uint16_t)(bin->empty - bin->low_water) <= bytes;
}

/* Of each size one, whose stacks lie one behind the other. */
static size_t read_bins(const struct bin *bins, size_t count, struct scan_range *ret_stacks)
{
	struct scan_range stack;
	size_t known = 0;

	while (known < count && read_bin(&bins[known], &stack) &&
	       (known == 0 || stack.begin == ret_stacks->end)) {
		ret_stacks->begin = known++ ? ret_stacks->begin : stack.begin;
		ret_stacks->end = stack.end;
	}
	return known;
}

bool seep_jemalloc_find(struct seep_memory *memory, uint64_t control, struct seep_ranges *found)
{
	uint64_t words[LOOKED_BYTES / sizeof(uint64_t)];
	const size_t count = sizeof(words) / sizeof(*words), each = sizeof(struct bin) / 8;
	bool any = false;
	size_t at = 0;

	/* There may be less. */
	while (at < count && !seep_memory_read(memory, control - (count - at) * sizeof(*words),
					       &words[at], (count - at) * sizeof(*words)))
		at += LOOKED_STEP / sizeof(*words);
	for (; at + each <= count; at++) {
		struct scan_range stacks;
		const size_t bins = read_bins((const struct bin *)&words[at], (count - at) / each,
					      &stacks);

		if (bins < BINS_ENOUGH)
			continue;
		seep_ranges_add(found, stacks.begin, stacks.end);
		any = true;
	}
	return any;
}

/* Some words of an edata_t, which are one behind the other. */
static bool is_piece(const uint64_t *words, const struct seep_ranges *heap)
{
	const uint64_t address = words[1], bytes = words[2] & -(uint64_t)PAGE_BYTES;

	return address && address % PAGE_BYTES == 0 && bytes && !(bytes >> PIECE_BITS) &&
	       seep_ranges_have(heap, address);
}

void seep_jemalloc_find_pieces(struct seep_memory *memory, uint64_t begin, uint64_t end,
			       const struct seep_ranges *heap, struct seep_ranges *found)
{
	uint64_t page[PAGE_BYTES / sizeof(uint64_t)];

	for (begin = (begin + PAGE_BYTES - 1) & -(uint64_t)PAGE_BYTES; begin + PAGE_BYTES <= end;
	     begin += PAGE_BYTES) {
		size_t pieces[PAGE_BYTES / PIECE_BYTES], count = 0;

		if (!seep_memory_read(memory, begin, page, sizeof(page)))
			continue;
		for (size_t at = 0; at < PAGE_BYTES; at += PIECE_BYTES)
			if (is_piece(&page[at / sizeof(*page)], heap))
				pieces[count++] = at;
		for (size_t i = 0; i < count && count >= PIECES_ENOUGH; i++)
			seep_ranges_add(found, begin + pieces[i] + sizeof(*page),
					begin + pieces[i] + 2 * sizeof(*page));
	}
}
