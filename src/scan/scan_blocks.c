/* SPDX-License-Identifier: MIT */
/*
 * Reads the page map, twice: to count, then to keep. Cells that make no sense are counted and
 * passed over; of two blocks that overlap one is a missed free and is left out.
 */
#include "core/bits.h"
#include "scan/scan_private.h"

enum { CELLS_PER_PAGE = LEDGER_PAGE_BYTES / sizeof(uint64_t) };
enum { LARGE_PER_PAGE = LEDGER_PAGE_BYTES / sizeof(struct ledger_large) };
enum {
	PAGES_MAX = (8 << (LEDGER_LEAF_SHIFT - LEDGER_GRANULE_SHIFT_OTHER)) / LEDGER_PAGE_BYTES + 64
};

/* Of address space: no leaf is smaller. */
enum { LEAF_PART_SHIFT = 24, SEEN_WORDS = 1 << (LEDGER_ADDRESS_BITS - LEAF_PART_SHIFT - 6) };

struct large {
	uint64_t cell;
	uint64_t size;
	uint64_t address;
};

struct reader {
	struct scan *scan;
	unsigned shift;
	bool counts; /* the first time */
	uint64_t left_bytes;
	uint64_t *seen; /* a bit for each part of address space that a leaf begins in */
	uint64_t block_max;
	uint64_t index_leaves, index_records; /* that the index needs, or a few more */
	uint64_t last_leaf, last_record;
	uint64_t end; /* of the last block */
	uint64_t overlaps;
	struct large *large; /* of one leaf, by address */
	uint32_t large_count, large_next;
	uint8_t real[PAGES_MAX];
	uint8_t page[LEDGER_PAGE_BYTES];
};

/* What is there to read at @address, a page at least; NULL: not even that. */
static const uint8_t *view(struct reader *r, uint64_t address, uint64_t bytes, uint64_t *ret_bytes)
{
	const uint64_t unit = LEDGER_PAGE_BYTES;
	const uint8_t *data;

	bytes = core_smaller(bytes, core_larger(r->left_bytes, unit));
	data = scan_view(r->scan, address, bytes, ret_bytes);
	if (*ret_bytes < unit) {
		*ret_bytes = unit;
		data = data && scan_copy(r->scan, address, r->page, unit) ? r->page : NULL;
	}
	*ret_bytes &= ~(unit - 1);
	r->left_bytes -= core_smaller(*ret_bytes, r->left_bytes);
	return data;
}

/* What the index needs for it. */
static void index_block(struct reader *r, uint64_t address, uint64_t end)
{
	if (address >> LEDGER_LARGE_SHIFT != r->last_record) {
		r->last_record = address >> LEDGER_LARGE_SHIFT;
		r->index_records++;
	}
	if (address >> LEDGER_LEAF_SHIFT != r->last_leaf)
		r->index_leaves++;
	if (end >> LEDGER_LEAF_SHIFT != address >> LEDGER_LEAF_SHIFT)
		r->index_leaves++;
	r->last_leaf = end >> LEDGER_LEAF_SHIFT;
}

static void count(struct reader *r, uint64_t address, uint64_t size)
{
	r->block_max++;
	index_block(r, address, address + size);
}

static void keep(struct reader *r, uint64_t address, uint64_t size, uint64_t cell)
{
	struct scan *scan = r->scan;
	struct scan_block *block;
	uint64_t end = address + size;

	if (scan->block_count >= r->block_max) /* more of them than a moment ago */
		return;
	if (scan->block_count && address < r->end)
		r->overlaps++;
	block = &scan->blocks[scan->block_count++];
	block->address = address;
	block->size = size;
	block->row = ledger_cell_row(cell);
	block->flags = ledger_cell_flags(cell) & LEDGER_CELL_FLAGS;
	block->marks = ledger_cell_marks(cell) & LEDGER_CELL_MARKS;
	block->lost = ledger_cell_lost(cell);
	if (block->marks & LEDGER_CELL_IGNORED)
		scan->private->ignored_count++;
	if (block->lost)
		scan->private->lost_count++;
	r->end = core_larger(r->end, end + !size);
	index_block(r, address, end);
}

static bool fits(uint64_t address, uint64_t size)
{
	return size < (UINT64_C(1) << LEDGER_ADDRESS_BITS) - address;
}

/* Large blocks that begin before @address; they lie apart from the small ones in a leaf. */
static void keep_large_below(struct reader *r, uint64_t address)
{
	for (; r->large_next < r->large_count; r->large_next++) {
		const struct large *large = &r->large[r->large_next];

		if (large->address > address)
			break;
		keep(r, large->address, large->size, large->cell);
	}
}

static void read_small(struct reader *r, const uint8_t *data, uint64_t bytes, uint64_t address)
{
	for (uint64_t i = 0; i < bytes / sizeof(uint64_t); i++) {
		uint64_t granule = address + (i << r->shift), cell, begin;

		__builtin_memcpy(&cell, data + i * sizeof(cell), sizeof(cell));
		if (ledger_cell_state(cell) != LEDGER_CELL_LIVE)
			continue;
		begin = ledger_cell_begin(cell, granule);
		if (begin >> r->shift != granule >> r->shift ||
		    !fits(begin, ledger_cell_size(cell))) {
			r->scan->strange += r->counts;
		} else if (r->counts) {
			count(r, begin, ledger_cell_size(cell));
		} else {
			keep_large_below(r, begin);
			keep(r, begin, ledger_cell_size(cell), cell);
		}
	}
}

static void read_large(struct reader *r, const uint8_t *data, uint64_t bytes, uint64_t address)
{
	for (uint64_t i = 0; i < bytes / sizeof(struct ledger_large); i++) {
		uint64_t page = address + (i << LEDGER_LARGE_SHIFT), item[2], begin;

		__builtin_memcpy(item, data + i * sizeof(item), sizeof(item));
		if (ledger_cell_state(item[0]) != LEDGER_CELL_LIVE)
			continue;
		begin = ledger_large_begin(item[0], page);
		if (begin - page >= LEDGER_LARGE_BYTES || !fits(begin, item[1]))
			r->scan->strange += r->counts;
		else if (r->counts)
			count(r, begin, item[1]);
		else
			r->large[r->large_count++] = (struct large){ item[0], item[1], begin };
	}
}

/* Pages @from to @to of a leaf, those that were ever written. */
static void read_pages(struct reader *r, const struct scan_leaf *leaf, uint64_t from, uint64_t to)
{
	const uint64_t small_pages = ledger_leaf_cells(r->shift) / CELLS_PER_PAGE;
	uint64_t some;

	for (uint64_t i = from; i < to && r->left_bytes;) {
		uint64_t end = i, at = leaf->at + i * LEDGER_PAGE_BYTES;
		const uint8_t *data;

		while (end < to && r->real[end])
			end++;
		if (end == i) {
			i++;
			continue;
		}
		data = view(r, at, (end - i) * LEDGER_PAGE_BYTES, &some);
		if (!data)
			r->scan->strange += r->counts;
		else if (i < small_pages)
			read_small(r, data, some, leaf->address + (i * CELLS_PER_PAGE << r->shift));
		else
			read_large(r, data, some,
				   leaf->address + ((i - small_pages) * LARGE_PER_PAGE
						    << LEDGER_LARGE_SHIFT));
		i += some / LEDGER_PAGE_BYTES;
	}
}

static void read_leaf(struct reader *r, const struct scan_leaf *leaf)
{
	const uint64_t pages = ledger_leaf_pages(r->shift);
	const uint64_t small_pages = ledger_leaf_cells(r->shift) / CELLS_PER_PAGE;

	if (pages > r->left_bytes) {
		r->left_bytes = 0;
		return;
	}
	r->left_bytes -= pages;
	if (!scan_copy(r->scan, leaf->at + pages * LEDGER_PAGE_BYTES, r->real, pages)) {
		r->scan->strange += r->counts;
		return;
	}
	r->large_count = r->large_next = 0;
	read_pages(r, leaf, small_pages, pages);
	read_pages(r, leaf, 0, small_pages);
	if (!r->counts)
		keep_large_below(r, UINT64_MAX);
}

static void read_all(struct reader *r, bool counts)
{
	r->counts = counts;
	r->last_leaf = r->last_record = UINT64_MAX;
	r->index_leaves = r->index_records = 0;
	for (uint64_t i = 0; i < r->scan->leaf_count && r->left_bytes; i++)
		read_leaf(r, &r->scan->leaves[i]);
}

/* No two leaves begin in the same 16 MB, or a few real pages could pass for millions. */
static void add_leaf(struct reader *r, uint64_t at, uint64_t number)
{
	uint64_t part = at >> LEAF_PART_SHIFT, *seen = &r->seen[part / 64 % SEEN_WORDS];

	if (!at)
		return;
	if (at >> LEDGER_ADDRESS_BITS || *seen >> part % 64 & 1) {
		r->scan->strange++;
		return;
	}
	*seen |= UINT64_C(1) << part % 64;
	r->scan->leaves[r->scan->leaf_count++] = (struct scan_leaf){ number << LEDGER_LEAF_SHIFT,
								     at };
}

/* The list of leaves there are. False: none of it can be read. */
static bool read_leaves(struct reader *r, uint64_t address)
{
	const uint64_t bytes = LEDGER_LEAVES * sizeof(uint64_t);
	uint8_t *has_some = r->real; /* which is read later */
	bool wanted = false, any = false;

	if (!scan_copy(r->scan, address + bytes, has_some, LEDGER_LEAVES_PAGES))
		return false;
	for (uint64_t at = 0; at < bytes && r->left_bytes;) {
		uint64_t some = LEDGER_PAGE_BYTES, leaf;
		const uint8_t *data = NULL;

		wanted |= has_some[at / LEDGER_PAGE_BYTES];
		if (has_some[at / LEDGER_PAGE_BYTES])
			data = view(r, address + at, LEDGER_PAGE_BYTES, &some);
		any |= data != NULL;
		for (uint64_t i = 0; data && i < some; i += sizeof(leaf)) {
			__builtin_memcpy(&leaf, data + i, sizeof(leaf));
			add_leaf(r, leaf, (at + i) / sizeof(leaf));
		}
		at += some;
	}
	return any || !wanted;
}
_Static_assert((int)PAGES_MAX >= (int)LEDGER_LEAVES_PAGES, "room for which pages have leaves");

/* Whether the chunk header before a block of glibc's has a size that fits the block's. */
static bool chunk_fits(const struct reader *r, const struct scan_block *block)
{
	enum {
		MMAPPED = 2,
		HEADER_BITS = 7,
		ROUNDED = 64,
		ROUNDED_MMAPPED = 2 * LEDGER_PAGE_BYTES
	};
	uint64_t header, usable;

	if (r->shift != LEDGER_GRANULE_SHIFT_GLIBC || block->flags & LEDGER_CELL_FOREIGN)
		return true;
	if (!scan_read_word(r->scan, block->address - sizeof(header), &header))
		return false;
	usable = (header & ~(uint64_t)HEADER_BITS) - (header & MMAPPED ? 16 : 8);
	return usable >= block->size &&
	       usable - block->size <= (header & MMAPPED ? ROUNDED_MMAPPED : ROUNDED);
}

/*
 * Of two that overlap the one goes whose size its chunk denies; else the smaller one, so that no
 * pointer in either is passed over.
 */
static void drop_overlaps(struct reader *r)
{
	struct scan *scan = r->scan;
	uint64_t kept = 0;

	for (uint64_t i = 0; i < scan->block_count; i++) {
		const struct scan_block *block = &scan->blocks[i], *before = block - i + kept - 1;

		if (kept && before->address + before->size + !before->size > block->address) {
			const bool fits_before = chunk_fits(r, before);

			/* Of a chunk that is a pool from its first byte on nothing is left. */
			scan->overlaps += before->size || before->address != block->address;
			if (fits_before == chunk_fits(r, block) ? before->size >= block->size
								: fits_before)
				continue;
			kept--;
		}
		scan->blocks[kept++] = *block;
	}
	scan->block_count = kept;
}

static int make_arrays(struct scan *scan, uint64_t count)
{
	struct scan_private *own = scan->private;

	scan->blocks = scan_take(scan, count, sizeof(*scan->blocks));
	own->fates = scan_take(scan, count, sizeof(*own->fates));
	own->from = scan_take(scan, count, sizeof(*own->from));
	own->todo = scan_take(scan, count, sizeof(*own->todo));
	own->parts = scan_take(scan, count + 1, sizeof(*own->parts));
	own->weak = scan_take(scan, count, sizeof(*own->weak));
	if (!scan->blocks || !own->fates || !own->from || !own->todo || !own->parts || !own->weak)
		return -SCAN_ENOMEM;
	return 0;
}

/* Of the work list, and of the list of what weak pointers point to, little is touched. */
static uint64_t need_of(const struct reader *r)
{
	const uint64_t of_block = sizeof(*r->scan->blocks) + sizeof(union scan_fate) +
				  sizeof(*r->scan->private->from) +
				  sizeof(uint32_t) /* of those that are not reached */;

	return r->block_max * of_block + r->index_records * sizeof(struct scan_page) +
	       r->index_leaves * LEDGER_LEAF_LARGE * sizeof(uint32_t);
}

int scan_read_blocks(struct scan *scan, const struct scan_memory *memory,
		     const struct scan_options *options, const struct ledger_blocks *blocks)
{
	struct reader *r;

	*scan = (struct scan){ .memory = *memory, .options = *options };
	scan->private = scan_take(scan, 1, sizeof(*scan->private));
	r = scan_take(scan, 1, sizeof(*r));
	if (!scan->private || !r)
		return -SCAN_ENOMEM;
	scan->private->holes_left = SCAN_HOLES_MAX;
	r->scan = scan;
	r->shift = scan->private->granule_shift = blocks->granule_shift;
	scan->leaves = scan_take(scan, LEDGER_LEAVES, sizeof(*scan->leaves));
	r->large = scan_take(scan, LEDGER_LEAF_LARGE, sizeof(*r->large));
	r->seen = scan_take(scan, SEEN_WORDS, sizeof(*r->seen));
	if (!scan->leaves || !r->large || !r->seen)
		return -SCAN_ENOMEM;
	r->left_bytes = scan->options.blocks_max_bytes;
	if (r->shift != LEDGER_GRANULE_SHIFT_GLIBC && r->shift != LEDGER_GRANULE_SHIFT_OTHER)
		return -SCAN_EBLOCKS;
	scan->private->replaced_new = r->shift == LEDGER_GRANULE_SHIFT_OTHER;
	if (!read_leaves(r, blocks->leaves))
		return -SCAN_EBLOCKS;
	read_all(r, true);
	if (!r->left_bytes || r->block_max >= SCAN_COVERED)
		return -SCAN_EBLOCKS;
	scan->need_bytes = need_of(r);
	if (scan->need_bytes > options->memory_max_bytes)
		return -SCAN_EROOM;
	/* The process may go on: a few more can be there the second time. */
	r->block_max += r->block_max / 64 + 64;
	if (make_arrays(scan, r->block_max))
		return -SCAN_ENOMEM;
	r->left_bytes = scan->options.blocks_max_bytes;
	read_all(r, false);
	if (r->overlaps)
		drop_overlaps(r);
	return scan_index_make(&scan->private->index, scan, r->index_leaves, r->index_records);
}
