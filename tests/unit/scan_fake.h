/* SPDX-License-Identifier: MIT */
/*
 * A process for the scan to look through: an arena of blocks, each behind a chunk header as glibc's
 * have one, a page map that says so, and holes that cannot be read. Addresses are our own.
 */
#ifndef TESTS_UNIT_SCAN_FAKE_H
#define TESTS_UNIT_SCAN_FAKE_H

#include "scan/scan.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { FAKE_HOLES = 8, FAKE_TAKEN = 4096, FAKE_LEAVES = 256, FAKE_ROOT_WORDS = 512 };
#define FAKE_ARENA_BYTES (UINT64_C(8) << 30)

struct fake {
	struct ledger_blocks blocks;
	uint64_t *leaves;
	uint64_t leaf_list[FAKE_LEAVES];
	unsigned leaf_count;
	uint8_t *arena; /* at a multiple of 64 MB */
	uint64_t used;
	uint64_t *words; /* a root */
	struct scan_range holes[FAKE_HOLES];
	unsigned hole_count;
	struct {
		void *at;
		uint64_t bytes;
	} taken[FAKE_TAKEN];
	unsigned taken_count;
	uint64_t piece;		     /* bytes of a view at most; 0: all */
	uint64_t hole_piece;	     /* the same of a hole */
	struct scan_range untouched; /* one such range; a view of it aborts */
	uint64_t refuse_from;	     /* which allocation fails, and all behind it; 0: none */
	struct scan_memory memory;
	struct scan_options options;
	struct scan scan;
	struct scan_result result;
};

static inline void *fake_map(uint64_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

static inline void *fake_allocate(void *user, uint64_t bytes)
{
	struct fake *f = user;
	void *at;

	if (f->refuse_from && f->taken_count + 1 >= f->refuse_from)
		return NULL;
	at = f->taken_count < FAKE_TAKEN ? fake_map(bytes) : NULL;
	if (at) {
		f->taken[f->taken_count].at = at;
		f->taken[f->taken_count++].bytes = bytes;
	}
	return at;
}

static inline uint64_t fake_untouched(void *user, uint64_t address, uint64_t bytes)
{
	const struct fake *f = user;

	if (address < f->untouched.begin || address >= f->untouched.end)
		return 0;
	return f->untouched.end - address < bytes ? f->untouched.end - address : bytes;
}

/* Whatever is no hole is there; addresses that nobody has are holes. */
static inline const void *fake_view(void *user, uint64_t address, uint64_t bytes,
				    uint64_t *ret_bytes)
{
	struct fake *f = user;

	*ret_bytes = f->piece && f->piece < bytes ? f->piece : bytes;
	if (address >= f->untouched.begin && address < f->untouched.end)
		abort();
	for (unsigned i = 0; i < f->hole_count; i++) {
		const struct scan_range *hole = &f->holes[i];

		if (address >= hole->begin && address < hole->end) {
			if (hole->end - address < *ret_bytes)
				*ret_bytes = hole->end - address;
			if (f->hole_piece && f->hole_piece < *ret_bytes)
				*ret_bytes = f->hole_piece;
			return NULL;
		}
		if (hole->begin > address && hole->begin - address < *ret_bytes)
			*ret_bytes = hole->begin - address;
	}
	return (const void *)(uintptr_t)address;
}

static inline void fake_fetch(void *user, uint64_t address)
{
	(void)user;
	__builtin_prefetch((const void *)(uintptr_t)address);
}

static inline uint64_t fake_address(const void *at)
{
	return (uint64_t)(uintptr_t)at;
}

static inline void fake_hole(struct fake *f, uint64_t begin, uint64_t bytes)
{
	f->holes[f->hole_count++] = (struct scan_range){ begin, begin + bytes };
}

/* All of the list of leaves but for those of the arena: not to be looked through each time. */
static inline void fake_hide_leaves(struct fake *f)
{
	const uint64_t *arena = f->leaves + (fake_address(f->arena) >> LEDGER_LEAF_SHIFT);
	uint8_t *has_some = (uint8_t *)(f->leaves + LEDGER_LEAVES);
	size_t page = (fake_address(arena) - fake_address(f->leaves)) / LEDGER_PAGE_BYTES;

	memset(has_some, 0, LEDGER_LEAVES_PAGES);
	memset(has_some + page, 1, 2);
}

static inline struct fake *fake_new_with(unsigned granule_shift)
{
	const uint64_t leaf_bytes = UINT64_C(1) << LEDGER_LEAF_SHIFT;
	struct fake *f = calloc(1, sizeof(*f));
	uint8_t *arena = fake_map(FAKE_ARENA_BYTES + leaf_bytes);

	f->leaves = fake_map(LEDGER_LEAVES * sizeof(*f->leaves) + LEDGER_LEAVES_PAGES);
	f->words = fake_map(FAKE_ROOT_WORDS * sizeof(*f->words));
	if (!arena || !f->leaves || !f->words)
		abort();
	memset(f->leaves + LEDGER_LEAVES, 1, LEDGER_LEAVES_PAGES);
	f->arena = arena + (leaf_bytes - fake_address(arena) % leaf_bytes);
	f->used = 16;
	f->blocks.granule_shift = granule_shift;
	f->blocks.leaves = fake_address(f->leaves);
	f->memory = (struct scan_memory){ fake_view, fake_fetch, fake_allocate, f };
	f->options.blocks_max_bytes = UINT64_C(4) << 30;
	f->options.memory_max_bytes = UINT64_MAX;
	return f;
}

static inline struct fake *fake_new(void)
{
	return fake_new_with(LEDGER_GRANULE_SHIFT_GLIBC);
}

/* All that the scan took. */
static inline void fake_forget(struct fake *f)
{
	while (f->taken_count) {
		f->taken_count--;
		munmap(f->taken[f->taken_count].at, f->taken[f->taken_count].bytes);
	}
	memset(&f->scan, 0, sizeof(f->scan));
	memset(&f->result, 0, sizeof(f->result));
}

static inline uint64_t fake_leaf_bytes(const struct fake *f)
{
	uint64_t pages = ledger_leaf_pages(f->blocks.granule_shift);

	return pages * LEDGER_PAGE_BYTES + (pages | 4095) + 1;
}

static inline void fake_free(struct fake *f)
{
	fake_forget(f);
	while (f->leaf_count)
		munmap((void *)(uintptr_t)f->leaf_list[--f->leaf_count], fake_leaf_bytes(f));
	munmap(f->leaves, LEDGER_LEAVES * sizeof(*f->leaves) + LEDGER_LEAVES_PAGES);
	munmap(f->words, FAKE_ROOT_WORDS * sizeof(*f->words));
	munmap(f->arena, FAKE_ARENA_BYTES);
	free(f);
}

static inline int fake_set_up(void **state)
{
	*state = fake_new();
	return 0;
}

static inline int fake_tear_down(void **state)
{
	fake_free(*state);
	return 0;
}

/* With a fake in *state. */
#define FAKE_TEST(name) TEST_WITH(fake_set_up, name, fake_tear_down)

/* The leaf for @address, its page that holds @offset made real. */
static inline uint64_t *fake_leaf(struct fake *f, uint64_t address, uint64_t offset)
{
	uint64_t *leaf = &f->leaves[address >> LEDGER_LEAF_SHIFT];
	uint64_t pages = ledger_leaf_pages(f->blocks.granule_shift);

	if (!*leaf) {
		if (f->leaf_count == FAKE_LEAVES)
			abort();
		*leaf = fake_address(fake_map(fake_leaf_bytes(f)));
		f->leaf_list[f->leaf_count++] = *leaf;
	}
	((uint8_t *)(uintptr_t)*leaf)[pages * LEDGER_PAGE_BYTES + offset / LEDGER_PAGE_BYTES] = 1;
	return (uint64_t *)(uintptr_t)*leaf + offset / sizeof(uint64_t);
}

static inline uint64_t fake_cell(uint64_t address, uint32_t row, unsigned flags, unsigned marks,
				 uint64_t field)
{
	return row | (address >> 4 & 1) << LEDGER_CELL_HALF_SHIFT |
	       (uint64_t)LEDGER_CELL_LIVE << LEDGER_CELL_STATE_SHIFT |
	       (uint64_t)flags << LEDGER_CELL_FLAGS_SHIFT | field << LEDGER_CELL_SIZE_SHIFT |
	       (uint64_t)marks << LEDGER_CELL_MARKS_SHIFT;
}

static inline uint64_t *fake_small_cell(struct fake *f, uint64_t address)
{
	uint64_t in_leaf = address & ((UINT64_C(1) << LEDGER_LEAF_SHIFT) - 1);

	return fake_leaf(f, address, (in_leaf >> f->blocks.granule_shift) * sizeof(uint64_t));
}

static inline uint64_t *fake_large_cell(struct fake *f, uint64_t address)
{
	uint64_t in_leaf = address & ((UINT64_C(1) << LEDGER_LEAF_SHIFT) - 1);

	return fake_leaf(f, address,
			 ledger_leaf_cells(f->blocks.granule_shift) * sizeof(uint64_t) +
				 (in_leaf >> LEDGER_LARGE_SHIFT) * sizeof(struct ledger_large));
}

/* Note a block in the page map, wherever it is. */
static inline void fake_note(struct fake *f, uint64_t address, uint64_t size, uint32_t row,
			     unsigned flags, unsigned marks)
{
	if (size < LEDGER_LARGE_BYTES) {
		*fake_small_cell(f, address) = fake_cell(address, row, flags, marks, size);
	} else {
		uint64_t *item = fake_large_cell(f, address);
		uint64_t offset = address & (LEDGER_LARGE_BYTES - 1);

		item[0] = fake_cell(0, row, flags, marks, offset >> LEDGER_BLOCK_ALIGN_SHIFT);
		item[1] = size;
	}
}

/* A block of @size zeros. */
static inline uint64_t *fake_block(struct fake *f, uint64_t size, uint32_t row, unsigned flags)
{
	uint64_t chunk = size + 8 < 32 ? 32 : (size + 8 + 15) & ~UINT64_C(15);
	uint64_t address = fake_address(f->arena) + f->used;

	if (f->used + chunk > FAKE_ARENA_BYTES - (1 << 27))
		abort();
	*(uint64_t *)(uintptr_t)(address - 8) = chunk | 1;
	f->used += chunk;
	fake_note(f, address, size, row, flags, 0);
	return (uint64_t *)(uintptr_t)address;
}

/* Blocks read, roots marked, all gathered. What went wrong, or 0. */
static inline int fake_scan_roots(struct fake *f, const struct scan_root *roots, size_t count)
{
	int rc;

	fake_forget(f);
	rc = scan_read_blocks(&f->scan, &f->memory, &f->options, &f->blocks);
	if (rc)
		return rc;
	scan_mark(&f->scan, roots, count);
	return scan_finish(&f->scan, &f->result);
}

static inline struct scan_root fake_root(const struct fake *f, uint8_t kind)
{
	return (struct scan_root){ .begin = fake_address(f->words),
				   .end = fake_address(f->words + FAKE_ROOT_WORDS),
				   .kind = kind };
}

/* The same with f->words for a global. */
static inline int fake_scan(struct fake *f)
{
	struct scan_root root = fake_root(f, SCAN_ROOT_GLOBAL);

	return fake_scan_roots(f, &root, 1);
}

static inline const struct scan_block *fake_find(const struct fake *f, const void *block)
{
	return scan_find(&f->scan, fake_address(block));
}

static inline uint8_t fake_state(const struct fake *f, const void *block)
{
	return fake_find(f, block)->state;
}

static inline uint8_t fake_rule(const struct fake *f, const void *block)
{
	return fake_find(f, block)->rule;
}

#endif
