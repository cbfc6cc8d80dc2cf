/* SPDX-License-Identifier: MIT */
/*
 * Chunks of glibc's malloc lie side by side, each with its length in front, and whether the one
 * before is in use: malloc.c, "malloc_chunk details". Chunks that wait in a thread's cache or in a
 * fastbin look in use; these lists are read. What cannot be followed counts as held, up to the next
 * recorded block, whose chunk is known.
 */
#include "target/roots_parts.h"

#include "base/search.h"
#include "base/xalloc.h"
#include "core/bits.h"
#include "ledger/ledger_blocks.h"

#include <stdlib.h>
#include <string.h>

enum {
	WINDOW_WORDS = 2048,
	CHUNK_LEAST_BYTES = 32,
	FASTBINS = 10,
	FASTBINS_WORD = 2, /* of an arena */
	TOP_WORD = 12,
	WAITING_MAX = 1 << 20, /* chunks in lists: these may go round */
};

struct walk {
	struct seep_roots_work *work;
	struct seep_ranges held; /* the result */
	uint64_t *waiting;	 /* chunks that look in use and are free; sorted when it begins */
	size_t waiting_count;
	size_t next_waiting;
	uint64_t next_block; /* index of the first that is not behind us */
	bool is_partial;     /* some of it could not be followed */
	uint64_t window_at, window_bytes;
	uint64_t window[WINDOW_WORDS];
};

/* ---- what waits to be used again ---------------------------------------------------------------- */

static void add_waiting(struct walk *walk, uint64_t chunk)
{
	if (walk->waiting_count < WAITING_MAX)
		*SEEP_APPEND(walk->waiting, walk->waiting_count) = chunk;
	else
		walk->is_partial = true;
}

static bool may_be_chunk(const struct walk *walk, uint64_t address)
{
	return address % 16 == 0 && seep_ranges_have(&walk->work->heap, address);
}

/* glibc from 2.32 on stores a pointer of a list with a part of the address where it stands. */
static uint64_t reveal(const struct walk *walk, uint64_t word, uint64_t stands_at)
{
	const uint64_t revealed = word ^ stands_at >> 12;

	return revealed == 0 || may_be_chunk(walk, revealed) ? revealed : word;
}

/* A chunk, and the first words of its block while it waits. */
struct waiting {
	uint64_t before, size, next, key;
};

/* The chunk at @chunk; false: there is none. */
static bool read_waiting(const struct walk *walk, uint64_t chunk, struct waiting *ret)
{
	return may_be_chunk(walk, chunk) &&
	       seep_memory_read(walk->work->memory, chunk, ret, sizeof(*ret));
}

static void add_fastbin(struct walk *walk, uint64_t chunk)
{
	struct waiting one;

	while (chunk && !walk->is_partial && read_waiting(walk, chunk, &one)) {
		add_waiting(walk, chunk);
		chunk = reveal(walk, one.next, chunk + CHUNK_HEAD_BYTES);
	}
}

static void add_arena(struct walk *walk, uint64_t arena)
{
	uint64_t words[ARENA_BEFORE_BINS_BYTES / 8];

	if (!arena || !seep_memory_read(walk->work->memory, arena, words, sizeof(words)))
		return;
	add_waiting(walk, words[TOP_WORD]);
	for (size_t i = 0; i < FASTBINS; i++)
		add_fastbin(walk, words[FASTBINS_WORD + i]);
}

/*
 * One list of a thread's cache, whose pointers are to blocks. @bytes: of each chunk; 0: that is open.
 * What waits there has a number of the process's in it, *@key, which is 0 until it is known. False: it
 * is no such list.
 */
static bool add_cached(struct walk *walk, uint64_t block, uint64_t bytes, uint64_t *key)
{
	struct waiting one;

	for (; block && !walk->is_partial; block = reveal(walk, one.next, block)) {
		const uint64_t chunk = block - CHUNK_HEAD_BYTES;

		if (!read_waiting(walk, chunk, &one) || one.key == 0 || (*key && one.key != *key) ||
		    (bytes && (one.size & ~(uint64_t)CHUNK_BITS) != bytes))
			return false;
		*key = one.key;
		add_waiting(walk, chunk);
	}
	return true;
}

/* A thread's cache (tcache_perthread_struct), if it is one: by its size, and by all of its lists. */
static void add_cache(struct walk *walk, uint64_t address)
{
	enum { LAYOUTS = 3, ENTRIES_MAX = 76, OF_ONE_SIZE = 64 };
	static const struct {
		uint64_t chunk_bytes;
		uint32_t first_byte, count;
	} layouts[LAYOUTS] = { { 0x250, 64, 64 }, { 0x290, 128, 64 }, { 0x300, 152, ENTRIES_MAX } };
	const uint64_t bytes = seep_roots_word(walk->work, address - 8) & ~(uint64_t)CHUNK_BITS;
	const size_t before = walk->waiting_count;
	uint64_t entries[ENTRIES_MAX], key = 0;
	size_t layout = 0, i = 0;

	while (layout < LAYOUTS && layouts[layout].chunk_bytes != bytes)
		layout++;
	if (layout == LAYOUTS ||
	    !seep_memory_read(walk->work->memory, address + layouts[layout].first_byte, entries,
			      layouts[layout].count * sizeof(*entries)))
		return;
	while (i < layouts[layout].count &&
	       add_cached(walk, entries[i], i < OF_ONE_SIZE ? CHUNK_LEAST_BYTES + 16 * i : 0, &key))
		i++;
	if (i < layouts[layout].count)
		walk->waiting_count = before;
}

/* A thread-local variable points to it. */
static void add_caches(struct walk *walk)
{
	const struct seep_roots *roots = walk->work->roots;
	uint64_t words[512];

	for (size_t i = 0; i < roots->count; i++) {
		uint64_t at = roots->items[i].begin, some;

		if (roots->items[i].kind != SCAN_ROOT_TLS || roots->items[i].words)
			continue;
		for (; at < roots->items[i].end; at += some) {
			some = core_smaller(roots->items[i].end - at, sizeof(words));
			if (!seep_memory_read(walk->work->memory, at, words, some))
				continue;
			for (size_t k = 0; k < some / sizeof(*words); k++)
				if (may_be_chunk(walk, words[k]))
					add_cache(walk, words[k]);
		}
	}
}

/* ---- from chunk to chunk ------------------------------------------------------------------------ */

/* The size word of the chunk at @chunk; 0: it cannot be read. */
static uint64_t size_word(struct walk *walk, uint64_t chunk, uint64_t end)
{
	const uint64_t at = chunk + 8;

	if (at - walk->window_at >= walk->window_bytes) {
		walk->window_at = at;
		walk->window_bytes = core_smaller(end - at, sizeof(walk->window));
		if (!seep_memory_read(walk->work->memory, at, walk->window, walk->window_bytes)) {
			walk->window_bytes = 0;
			return seep_roots_word(walk->work, at);
		}
	}
	return walk->window[(at - walk->window_at) / sizeof(*walk->window)];
}

/* Pieces of chunks that lie side by side are one, with the size word between them. */
static void hold(struct walk *walk, uint64_t begin, uint64_t end)
{
	struct seep_ranges *held = &walk->held;

	if (held->count && held->items[held->count - 1].end + 8 == begin)
		begin -= 8;
	seep_ranges_add(held, begin, end);
}

static const struct scan_block *next_block(const struct walk *walk, uint64_t before)
{
	const struct scan *scan = walk->work->from->scan;
	const struct scan_block *block = &scan->blocks[walk->next_block];

	return walk->next_block < scan->block_count && block->address < before ? block : NULL;
}

/* Its chunk does not begin in front of it: it lies in another block, as those of a pool do. */
static bool is_within(const struct scan_block *block)
{
	return block->flags & LEDGER_CELL_FOREIGN;
}

/*
 * What is between @begin and @end, but for blocks of pools, which are recorded themselves. Stops at a
 * block with a chunk of its own, which is given; NULL: there is none.
 */
static const struct scan_block *hold_around(struct walk *walk, uint64_t begin, uint64_t end,
					    bool is_held)
{
	const struct scan_block *block;

	for (; (block = next_block(walk, end)) && is_within(block); walk->next_block++) {
		/* One between guards fills its chunk. */
		is_held = is_held && !ledger_flags_are_guarded(block->flags);
		if (is_held && block->address > begin)
			hold(walk, begin, block->address);
		begin = core_larger(begin, block->address + block->size);
	}
	if (is_held)
		hold(walk, begin, block ? block->address - CHUNK_HEAD_BYTES : end);
	return block;
}

static bool waits(struct walk *walk, uint64_t chunk)
{
	while (walk->next_waiting < walk->waiting_count &&
	       walk->waiting[walk->next_waiting] < chunk)
		walk->next_waiting++;
	return walk->next_waiting < walk->waiting_count &&
	       walk->waiting[walk->next_waiting] == chunk;
}

/* Returns where the next one begins; 0: there is no chunk here. */
static uint64_t pass_chunk(struct walk *walk, uint64_t chunk, const struct scan_range *area)
{
	const uint64_t word = size_word(walk, chunk, area->end);
	const uint64_t next = chunk + (word & ~(uint64_t)CHUNK_BITS);
	const struct scan_block *block;
	bool is_used;

	if (word & CHUNK_MMAPPED || next % 16 != 0 || next <= chunk || next > area->end)
		return 0;
	is_used = !waits(walk, chunk) && (next + CHUNK_HEAD_BYTES > area->end ||
					  size_word(walk, next, area->end) & CHUNK_BEFORE_IN_USE);
	block = next_block(walk, next);
	if (block && !is_within(block) && block->address == chunk + CHUNK_HEAD_BYTES) {
		walk->next_block++;
		is_used = false;
	}
	return hold_around(walk, chunk + CHUNK_HEAD_BYTES, next + 8, is_used) ? 0 : next;
}

/* Where the chunks of @area begin. Of an arena it is noted what waits there. */
static uint64_t first_chunk(const struct seep_roots_work *work, const struct scan_range *area)
{
	const struct seep_mapping *mapping = seep_maps_find(work->from->maps, area->begin);
	struct seep_heap_info info;
	uint64_t first = area->begin;

	if (mapping && strcmp(mapping->name, "[heap]") != 0 &&
	    seep_memory_read(work->memory, area->begin, &info, sizeof(info)))
		first = info.previous ? area->begin + info.arena % 256 : info.arena + ARENA_BYTES;
	return (first + 15) & -(uint64_t)16;
}

static void walk_area(struct walk *walk, const struct scan_range *area)
{
	uint64_t at = first_chunk(walk->work, area), next;

	while (next_block(walk, at))
		walk->next_block++;
	/* The last words of a heap that is full are a chunk of no bytes. */
	for (; at + CHUNK_LEAST_BYTES <= area->end; at = next) {
		const struct scan_block *known;

		next = pass_chunk(walk, at, area);
		if (next)
			continue;
		walk->is_partial = true;
		known = hold_around(walk, at, area->end, true);
		next = known ? known->address - CHUNK_HEAD_BYTES : area->end;
		if (next > at)
			continue;
		/* The length in front of a recorded block makes no sense. */
		walk->next_block++;
		next = (at + core_smaller(known->size, area->end - at) + 31) & -(uint64_t)16;
	}
}

static void find_waiting(struct walk *walk)
{
	const struct seep_ranges *areas = &walk->work->areas;
	struct seep_heap_info info;

	add_arena(walk, walk->work->main_arena);
	for (size_t i = 0; i < areas->count; i++)
		if (seep_memory_read(walk->work->memory, areas->items[i].begin, &info,
				     sizeof(info)) &&
		    info.arena - areas->items[i].begin < 256)
			add_arena(walk, info.arena);
	add_caches(walk);
	seep_search_sort(walk->waiting, walk->waiting_count, sizeof(*walk->waiting));
}

struct seep_ranges seep_roots_unrecorded(struct seep_roots_work *work)
{
	struct seep_ranges *areas = &work->areas, held;
	struct walk *walk;

	if (!work->from->filtered || work->from->header->allocator != LEDGER_ALLOCATOR_GLIBC)
		return (struct seep_ranges){ 0 };
	walk = seep_xcalloc(1, sizeof(*walk));
	walk->work = work;
	find_waiting(walk);
	seep_search_sort(areas->items, areas->count, sizeof(*areas->items));
	for (size_t i = 0; i < areas->count; i++)
		walk_area(walk, &areas->items[i]);
	seep_roots_caveat(work, "only some allocations were recorded: the other blocks count as "
				"pointers, lost or not, and may hide leaks");
	if (walk->is_partial)
		seep_roots_caveat(work, "which memory of malloc() is free could not be told of all "
					"of it: what lies there counts as pointers, and may hide "
					"leaks");
	held = walk->held;
	seep_ranges_settle(&held);
	free(walk->waiting);
	free(walk);
	return held;
}
