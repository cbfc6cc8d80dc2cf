/* SPDX-License-Identifier: MIT */
#include "target/roots_parts.h"

#include "base/xalloc.h"
#include "core/bits.h"
#include "ledger/ledger_blocks.h"

#include <string.h>

enum {
	CELLS_PER_PAGE = PAGE_BYTES / 8,
	BINS_ENOUGH = 32, /* that are empty, to believe that they are bins */
};

#define HEAP_BYTES (UINT64_C(64) << 20)
#define HEAP_LEAST_BYTES (UINT64_C(1) << 20) /* glibc.malloc.hugetlb changes the size, to: */
#define HEAP_MOST_BYTES (UINT64_C(4) << 30)
#define CHUNK_MAX_BYTES (UINT64_C(1) << 46)

static uint64_t page_down(uint64_t address)
{
	return address & -(uint64_t)PAGE_BYTES;
}

/* Of libseep.so's lists; a place whose begin is 0 is free. */
static void add_listed(struct seep_roots_work *work, struct seep_ranges *ranges,
		       const struct ledger_range *list, uint32_t count, uint32_t most,
		       const char *what)
{
	if (count > most)
		seep_roots_caveat(work, "there are more than %u %s: the others are not known", most,
				  what);
	for (uint32_t i = 0; i < count && i < most; i++)
		if (list[i].begin)
			seep_ranges_add(ranges, list[i].begin, list[i].end);
}

static bool is_written_memory(const struct seep_mapping *mapping)
{
	return mapping && mapping->writable && mapping->readable && !mapping->shared;
}

static void add_area(struct seep_roots_work *work, uint64_t begin, uint64_t end)
{
	seep_ranges_add(&work->heap, begin, end);
	if (begin < end)
		*SEEP_APPEND(work->areas.items, work->areas.count) = (struct scan_range){ begin,
											  end };
}

static void add_brk(struct seep_roots_work *work)
{
	const struct ledger_facts *facts = work->from->facts;
	const struct seep_maps *maps = work->from->maps;
	SEEP_RELEASED(seep_ranges_done) struct seep_ranges taken = { 0 };

	if (facts)
		add_listed(work, &taken, facts->taken, facts->taken_count, LEDGER_TAKEN_MAX,
			   "areas that the program took by sbrk()");
	seep_ranges_settle(&taken);
	for (size_t i = 0; i < maps->count; i++) {
		uint64_t at = maps->items[i].begin, end;

		if (strcmp(maps->items[i].name, "[heap]") != 0)
			continue;
		for (; seep_ranges_gap(&taken, &at, maps->items[i].end, &end); at = end)
			add_area(work, at, end);
	}
}

/* The bytes of the heap that begins here; 0: none does. */
static uint64_t heap_at(const struct seep_roots_work *work, uint64_t begin, uint64_t most_bytes)
{
	struct seep_heap_info info;

	if (!seep_memory_read(work->memory, begin, &info, sizeof(info)) || info.bytes == 0 ||
	    info.bytes % PAGE_BYTES != 0 || info.bytes > most_bytes ||
	    info.writable_bytes % PAGE_BYTES != 0 || info.writable_bytes < info.bytes ||
	    info.writable_bytes > most_bytes || info.previous % most_bytes != 0)
		return 0;
	/* The first heap of an arena has the arena itself in it; later ones point to the first. */
	if (info.previous == 0)
		return info.arena >= begin + sizeof(info) && info.arena < begin + 256 ? info.bytes
										      : 0;
	return info.arena % 16 == 0 && info.arena % most_bytes < 256 &&
			       seep_roots_word(work, info.previous) == info.arena
		       ? info.bytes
		       : 0;
}

static void probe_heaps(struct seep_roots_work *work)
{
	const struct seep_maps *maps = work->from->maps;

	for (size_t i = 0; i < maps->count; i++) {
		const struct seep_mapping *mapping = &maps->items[i];
		uint64_t at = (mapping->begin + HEAP_BYTES - 1) & -HEAP_BYTES;

		if (!is_written_memory(mapping) || !seep_roots_is_anonymous(mapping))
			continue;
		/* To read a page that is not there makes page tables for it: terabytes need many. */
		for (; at < mapping->end; at += HEAP_BYTES)
			if (seep_present_pages_any(&work->from->pages->image_pages, at,
						   at + PAGE_BYTES))
				add_area(work, at, at + heap_at(work, at, HEAP_BYTES));
	}
}

/*
 * The heap of an arena that holds the block; 64 MB apart unless glibc was told to use huge pages.
 */
static bool heap_around(const struct seep_roots_work *work, uint64_t address,
			struct scan_range *ret_range)
{
	for (uint64_t bytes = HEAP_LEAST_BYTES; bytes <= HEAP_MOST_BYTES; bytes *= 2) {
		const uint64_t begin = address & -bytes;
		const uint64_t end = begin + heap_at(work, begin, bytes);

		if (address < end) {
			*ret_range = (struct scan_range){ begin, end };
			return true;
		}
	}
	return false;
}

/* As it will be read again soon, with a small block, it is read with what is around. */
static bool read_header(const struct seep_roots_work *work, const struct scan_block *block,
			uint64_t head[2])
{
	const struct scan_memory memory = seep_memory_for_scan(work->memory);
	const void *at = NULL;
	uint64_t bytes;

	if (block->size < PAGE_BYTES)
		at = memory.view(memory.user, block->address - 16, 16, &bytes);
	if (!at || bytes < 16)
		return seep_memory_read(work->memory, block->address - 16, head, 16);
	memcpy(head, at, 16);
	return true;
}

/* What of the allocator's memory goes with a block that is in no known part of it. */
static struct scan_range around_block(struct seep_roots_work *work, const struct scan_block *block)
{
	const struct scan_range alone = { block->address, block->address + block->size };
	struct scan_range range = alone;
	const struct seep_mapping *mapping;
	uint64_t head[2], bytes;

	/* In pages of its own, with headers before it. What is left of the guard behind it is no pointer. */
	if (ledger_flags_are_guarded(block->flags) && !heap_around(work, block->address, &range))
		return (struct scan_range){ page_down(block->address - 16),
					    page_down(alone.end + PAGE_BYTES - 1) };
	if ((block->flags & LEDGER_CELL_FOREIGN) || !read_header(work, block, head))
		return range;
	bytes = head[1] & ~(uint64_t)CHUNK_BITS;
	if (head[1] & CHUNK_OF_ARENA) {
		if (heap_around(work, block->address, &range)) {
			*SEEP_APPEND(work->areas.items, work->areas.count) = range;
			return range;
		}
		seep_roots_caveat(work, "an arena of malloc() is not laid out as glibc does it: "
					"memory of blocks that were freed there counts as the "
					"program's");
	}
	if (bytes < block->size || bytes > CHUNK_MAX_BYTES || head[0] > CHUNK_MAX_BYTES)
		return range;
	if (head[1] & CHUNK_MMAPPED) /* with padding in front, where it had to be aligned */
		range = (struct scan_range){ block->address - 16 - head[0],
					     block->address - 16 + bytes };
	else
		range = (struct scan_range){ block->address - 16, block->address - 8 + bytes };
	mapping = seep_maps_find(work->from->maps, range.begin);
	return mapping && range.begin < block->address && range.begin < range.end &&
			       range.end <= mapping->end
		       ? range
		       : alone;
}

static void add_chunks(struct seep_roots_work *work)
{
	const struct scan *scan = work->from->scan;
	SEEP_RELEASED(seep_ranges_done) struct seep_ranges found = { 0 };
	uint64_t known_end = 0;

	seep_ranges_settle(&work->heap);
	for (uint64_t i = 0; i < scan->block_count;) {
		const struct scan_block *block = &scan->blocks[i];
		const size_t known = seep_ranges_from(&work->heap, block->address);

		if (known < work->heap.count && work->heap.items[known].begin <= block->address) {
			known_end = work->heap.items[known].end;
		} else {
			const struct scan_range range = around_block(work, block);

			seep_ranges_add(&found, range.begin, range.end);
			known_end = range.end > block->address ? range.end : block->address + 1;
		}
		i = seep_roots_block_from(scan, i + 1, known_end);
	}
	seep_ranges_add_all(&work->heap, &found);
}

/*
 * A bin is a list of free chunks, and as a chunk begins 16 bytes in front of its block, so does a
 * bin begin 16 bytes in front of its two pointers. Free chunks' headers are in the blocks before
 * them, whose last 8 bytes they share: the arena's pointers would keep these alive.
 */
static bool is_empty_bin(const uint64_t *words, uint64_t address)
{
	return words[0] == address - 16 && words[1] == address - 16;
}

static bool is_bin(const struct seep_roots_work *work, const uint64_t *words, uint64_t address)
{
	return is_empty_bin(words, address) ||
	       (seep_ranges_have(&work->heap, words[0]) && seep_ranges_have(&work->heap, words[1]));
}

/* The arena around the empty bin at words[@at]. Bins end where a set of bits begins. */
static bool find_arena(const struct seep_roots_work *work, const uint64_t *words, size_t at,
		       size_t count, uint64_t begin, struct scan_range *ret_arena)
{
	const size_t bins_words = ARENA_BINS * ARENA_BIN_BYTES / 8;
	size_t end = at, empty = 0, first;

	while (end + 2 <= count && end < at + bins_words &&
	       is_bin(work, &words[end], begin + end * 8))
		end += 2;
	if (end < bins_words)
		return false;
	first = end - bins_words;
	for (size_t i = first; i < end; i += 2)
		empty += is_empty_bin(&words[i], begin + i * 8);
	if (first > at || empty < BINS_ENOUGH)
		return false;
	*ret_arena = (struct scan_range){ begin + first * 8 - ARENA_BEFORE_BINS_BYTES,
					  begin + end * 8 + ARENA_AFTER_BINS_BYTES };
	return true;
}

static void add_main_arenas(struct seep_roots_work *work)
{
	SEEP_RELEASED(seep_ranges_done) struct seep_ranges arenas = { 0 };

	for (size_t i = 0; i < work->libc.count; i++) {
		const uint64_t begin = work->libc.items[i].begin & ~(uint64_t)7;
		const uint64_t end = work->libc.items[i].end;
		const size_t count = end - begin < HEAP_BYTES ? (size_t)(end - begin) / 8 : 0;
		SEEP_FREED uint64_t *words = seep_xcalloc(count + 1, sizeof(*words));
		struct scan_range arena;

		if (!seep_memory_read(work->memory, begin, words, count * sizeof(*words)))
			memset(words, 0, count * sizeof(*words));
		for (size_t at = 0; at + 2 <= count; at++) {
			if (!is_empty_bin(&words[at], begin + at * 8) ||
			    !find_arena(work, words, at, count, begin, &arena))
				continue;
			seep_ranges_add(&arenas, arena.begin, arena.end);
			work->main_arena = arena.begin;
			at = (size_t)(arena.end - begin) / 8;
		}
	}
	/* Before the first malloc() there is none to be seen. */
	if (arenas.count == 0 && work->from->scan->block_count)
		seep_roots_caveat(work,
				  "the main arena of malloc() was not found in the C library: "
				  "what it points to counts as reachable");
	seep_ranges_add_all(&work->heap, &arenas);
}

/* Of other allocators: 4 KB of anonymous memory in which there was ever a block. */
static void add_cell_page(struct seep_roots_work *work, uint64_t page, uint64_t address,
			  struct seep_ranges *found)
{
	const unsigned shift = work->from->header->blocks.granule_shift;
	const size_t cells_each = PAGE_BYTES >> shift;
	uint64_t cells[CELLS_PER_PAGE];

	if (!seep_memory_read(work->memory, page, cells, sizeof(cells)))
		return;
	for (size_t i = 0; i < CELLS_PER_PAGE; i++) {
		const uint64_t begin = page_down(address + ((uint64_t)i << shift));

		if (cells[i] == 0)
			continue;
		seep_ranges_add(found, begin, begin + PAGE_BYTES);
		i |= cells_each - 1;
	}
}

static void add_cells(struct seep_roots_work *work, uint64_t leaf, uint64_t address,
		      struct seep_ranges *found)
{
	const unsigned shift = work->from->header->blocks.granule_shift;
	const size_t pages = ledger_leaf_cells(shift) / CELLS_PER_PAGE;
	SEEP_FREED uint8_t *written = seep_xcalloc(pages, 1);

	if (seep_memory_read(work->memory, leaf + ledger_leaf_pages(shift) * PAGE_BYTES, written,
			     pages))
		for (size_t i = 0; i < pages; i++)
			if (written[i])
				add_cell_page(work, leaf + i * PAGE_BYTES,
					      address + ((uint64_t)i * CELLS_PER_PAGE << shift),
					      found);
}

static void add_leaf(struct seep_roots_work *work, uint64_t leaf, uint64_t address,
		     struct seep_ranges *found)
{
	const unsigned shift = work->from->header->blocks.granule_shift;
	const uint64_t bytes = ledger_leaf_pages(shift) * (PAGE_BYTES + 1);

	if (leaf % PAGE_BYTES != 0 || !seep_maps_find(work->from->maps, leaf))
		return;
	seep_ranges_add(&work->heap, leaf, leaf + bytes);
	if (work->from->header->allocator != LEDGER_ALLOCATOR_GLIBC)
		add_cells(work, leaf, address, found);
}

/* Leaves, and the table of them. */
static void add_page_map(struct seep_roots_work *work, struct seep_ranges *found)
{
	const struct scan *scan = work->from->scan;
	const uint64_t leaves = work->from->header->blocks.leaves;

	if (leaves == 0)
		return;
	seep_ranges_add(&work->heap, leaves,
			leaves + LEDGER_LEAVES * sizeof(uint64_t) + LEDGER_LEAVES_PAGES);
	for (uint64_t i = 0; i < scan->leaf_count; i++)
		add_leaf(work, scan->leaves[i].at, scan->leaves[i].address, found);
}

/* Of other allocators: what blocks lie in or once did, by pages, but no module's variables. */
static void add_pages(struct seep_roots_work *work, struct seep_ranges *found)
{
	const struct scan *scan = work->from->scan;
	const struct seep_maps *maps = work->from->maps;

	for (uint64_t i = 0; i < scan->block_count; i++)
		seep_ranges_add(
			found, page_down(scan->blocks[i].address),
			page_down(scan->blocks[i].address + scan->blocks[i].size + PAGE_BYTES - 1));
	seep_ranges_settle(found);
	for (size_t i = 0, k = 0; i < found->count && k < maps->count;) {
		const struct scan_range *range = &found->items[i];
		const struct seep_mapping *mapping = &maps->items[k];
		const uint64_t end = core_smaller(range->end, mapping->end);
		uint64_t at = core_larger(range->begin, mapping->begin), gap_end;

		if (is_written_memory(mapping) && mapping->inode == 0)
			for (; seep_ranges_gap(&work->globals, &at, end, &gap_end); at = gap_end)
				seep_ranges_add(&work->heap, at, gap_end);
		if (range->end < mapping->end)
			i++;
		else
			k++;
	}
}

/*
 * Some blocks were not recorded, and may hold pointers to others. Of another allocator than glibc's
 * nobody knows where they are: all of the heap but for the recorded ones is looked through then, what
 * is left over in freed memory with it.
 */
static void add_recorded(struct seep_roots_work *work)
{
	const struct scan *scan = work->from->scan;

	for (uint64_t i = 0; i < scan->block_count; i++)
		if (scan->blocks[i].size)
			seep_ranges_add(&work->heap, scan->blocks[i].address,
					scan->blocks[i].address + scan->blocks[i].size);
	seep_roots_caveat(work,
			  "only some allocations were recorded: what lies in other memory of the "
			  "heap counts as pointers, and may hide leaks");
}

/*
 * Words of jemalloc's own that lead to blocks which it has given away. Each thread has, for each
 * size, a stack of addresses of free blocks; what is taken off it is not overwritten. And of each
 * piece of memory that it has divided it knows the address, which is that of the first block there.
 */
enum { PIECE_BYTES = 128, PIECES_ENOUGH = 8, PIECE_BITS = 40 };
/* What precedes a thread's control block is its thread-local storage; the stacks' heads are there. */
enum { LOOKED_BYTES = 16384, LOOKED_STEP = 1024, SIZES_ENOUGH = 16 };

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

/* The stacks of the thread whose control block is at @control. False: it has none. */
static bool find_stacks(struct seep_memory *memory, uint64_t control, struct seep_ranges *found)
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

		if (bins < SIZES_ENOUGH)
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

/* Addresses of such pieces that lie in [@begin, @end), where no blocks are. */
static void find_pieces(struct seep_memory *memory, uint64_t begin, uint64_t end,
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

static void add_jemalloc(struct seep_roots_work *work)
{
	const struct seep_maps *maps = work->from->maps;
	struct seep_ranges found = { 0 }, pages = { 0 };
	bool is_used = false;

	for (size_t i = 0; i < work->from->thread_count; i++)
		is_used |= find_stacks(work->memory, work->from->threads[i].registers.fs_base,
				       &found);
	for (size_t i = 0; is_used && i < maps->count; i++) {
		const struct seep_mapping *mapping = &maps->items[i];
		uint64_t at = mapping->begin, end;

		if (!is_written_memory(mapping) || !seep_roots_is_anonymous(mapping) ||
		    !seep_present_pages_find(&work->from->pages->image_pages, mapping->begin,
					     mapping->end, &pages))
			continue;
		for (; seep_ranges_gap(&work->heap, &at, mapping->end, &end); at = end)
			for (size_t k = seep_ranges_from(&pages, at);
			     k < pages.count && pages.items[k].begin < end; k++)
				find_pieces(work->memory, core_larger(at, pages.items[k].begin),
					    core_smaller(end, pages.items[k].end), &work->heap,
					    &found);
		pages.count = 0;
	}
	seep_ranges_done(&pages);
	seep_ranges_add_all(&work->heap, &found);
	seep_ranges_done(&found);
	seep_ranges_settle(&work->heap);
}

void seep_roots_find_heap(struct seep_roots_work *work)
{
	const struct ledger_facts *facts = work->from->facts;
	SEEP_RELEASED(seep_ranges_done) struct seep_ranges once = { 0 };

	if (work->from->header->allocator == LEDGER_ALLOCATOR_GLIBC) {
		add_brk(work);
		probe_heaps(work);
		add_chunks(work);
		seep_ranges_settle(&work->heap);
		add_main_arenas(work);
	} else if (work->from->filtered) {
		add_recorded(work);
	}
	add_page_map(work, &once);
	if (!work->from->filtered && work->from->header->allocator != LEDGER_ALLOCATOR_GLIBC)
		add_pages(work, &once);
	if (facts)
		add_listed(work, &work->heap, facts->own, facts->own_count, LEDGER_OWN_MAX,
			   "mappings of libseep.so");
	seep_ranges_settle(&work->heap);
	if (work->from->header->allocator != LEDGER_ALLOCATOR_GLIBC)
		add_jemalloc(work);
}
