/* SPDX-License-Identifier: MIT */
/*
 * Blocks as the page map has them, one that is damaged, and one made to keep a reader busy for
 * ever.
 */
#include "scan_fake.h"
#include "unit.h"

#define A(pointer) fake_address(pointer)

static int read_blocks(struct fake *f)
{
	fake_forget(f);
	return scan_read_blocks(&f->scan, &f->memory, &f->options, &f->blocks);
}

FAKE_TEST(blocks_come_by_address)
{
	enum { COUNT = 20000 };
	static const uint32_t sizes[] = { 0, 24, 4095, 4096, 70, 100000, 5000, 4096, 16, 9000000 };
	struct fake *f = *state;
	static uint64_t *blocks[COUNT];
	unsigned used = 0;

	/* Some over the bounds of a leaf, and one over several. */
	for (; used < COUNT - 1 && f->used < (UINT64_C(7) << 30); used++)
		blocks[used] = fake_block(f, sizes[used * 7 % 10] * (used % 1000 ? 1ul : 16ul),
					  used % 3, used % 5);
	blocks[used++] = fake_block(f, UINT64_C(200) << 20, 1, 0);
	assert_int_equal(read_blocks(f), 0);
	assert_int_equal(f->scan.block_count, used);
	assert_int_equal(f->scan.strange, 0);
	assert_int_equal(f->scan.overlaps, 0);
	for (unsigned i = 0; i < used; i++) {
		const struct scan_block *block = &f->scan.blocks[i];
		uint64_t size = block->size;

		assert_int_equal(block->address, A(blocks[i]));
		assert_ptr_equal(scan_find(&f->scan, block->address), block);
		assert_ptr_equal(scan_find(&f->scan, block->address + size / 2), block);
		assert_ptr_equal(scan_find(&f->scan, block->address + (size ? size - 1 : 0)),
				 block);
		assert_null(scan_find(&f->scan, block->address + size + !size));
		assert_null(scan_find(&f->scan, block->address - 1));
		if (i + 1 < used) {
			assert_int_equal(block->row, i % 3);
			assert_int_equal(block->flags, i % 5);
			assert_int_equal(size, sizes[i * 7 % 10] * (i % 1000 ? 1ul : 16ul));
		}
	}
	assert_null(scan_find(&f->scan, 0));
	assert_null(scan_find(&f->scan, UINT64_MAX));
}

FAKE_TEST(no_blocks_are_no_error)
{
	struct fake *f = *state;

	f->words[0] = A(f->arena);
	assert_int_equal(fake_scan(f), 0);
	assert_int_equal(f->scan.block_count, 0);
	assert_int_equal(f->result.block_count, 0);
	assert_int_equal(f->result.all_count, 0);
	assert_int_equal(f->result.first_edge[0], 0);
	assert_null(scan_find(&f->scan, A(f->arena)));
}

FAKE_TEST(cells_that_make_no_sense_are_passed_over)
{
	struct fake *f = *state;
	uint64_t base = A(f->arena);

	fake_note(f, base + 16, 100, 1, 0, 0);
	/* Begins behind its 4 KB; ends beyond all addresses; is freed; is of no state. */
	fake_large_cell(f, base + 0x2000)[0] = fake_cell(0, 1, 0, 0, 0x100);
	fake_large_cell(f, base + 0x3000)[0] = fake_cell(0, 1, 0, 0, 0);
	fake_large_cell(f, base + 0x3000)[1] = UINT64_MAX;
	fake_large_cell(f, base + 0x4000)[0] = fake_cell(0, 1, 0, 0, 0);
	fake_large_cell(f, base + 0x4000)[1] = (UINT64_C(1) << 47) - base - 0x4000;
	*fake_small_cell(f, base + 0x5000) = fake_cell(base, 1, 0, 0, 100) ^
					     UINT64_C(3) << LEDGER_CELL_STATE_SHIFT;
	*fake_small_cell(f, base + 0x6000) = fake_cell(base, 1, 0, 0, 100) ^
					     UINT64_C(2) << LEDGER_CELL_STATE_SHIFT;
	assert_int_equal(read_blocks(f), 0);
	assert_int_equal(f->scan.block_count, 1);
	assert_int_equal(f->scan.strange, 3);
}

FAKE_TEST(a_cell_of_16_bytes_is_of_one_address)
{
	struct fake *f = fake_new_with(LEDGER_GRANULE_SHIFT_OTHER);
	uint64_t base = A(f->arena);

	*fake_small_cell(f, base) = fake_cell(base, 1, 0, 0, 1);
	*fake_small_cell(f, base + 16) = fake_cell(base + 16, 1, 0, 0, 1);
	*fake_small_cell(f, base + 32) = fake_cell(base + 16, 1, 0, 0, 1); /* of the wrong half */
	assert_int_equal(read_blocks(f), 0);
	assert_int_equal(f->scan.block_count, 2);
	assert_int_equal(f->scan.strange, 1);
	fake_free(f);
}

FAKE_TEST(leaves_to_nowhere_are_passed_over)
{
	struct fake *f = *state;
	uint64_t *block = fake_block(f, 100, 1, 0);

	f->leaves[5] = UINT64_MAX / 2;
	f->leaves[LEDGER_LEAVES - 1] = UINT64_MAX - 4095;
	fake_hole(f, UINT64_C(1) << 47, UINT64_MAX - (UINT64_C(1) << 47));
	fake_hole(f, 0, UINT64_C(1) << 30);
	assert_int_equal(read_blocks(f), 0);
	assert_int_equal(f->scan.block_count, 1);
	assert_int_equal(f->scan.strange, 2);
	/* A page of cells that went away. */
	fake_hole(f, A(fake_small_cell(f, A(block))) & ~UINT64_C(4095), 4096);
	assert_int_equal(read_blocks(f), 0);
	assert_int_equal(f->scan.block_count, 0);
	assert_int_equal(f->scan.strange, 3);
}

FAKE_TEST(a_leaf_is_of_one_place)
{
	struct fake *f = *state;

	fake_block(f, 100, 1, 0);
	for (unsigned i = 0; i < LEDGER_LEAVES; i++)
		f->leaves[i] = f->leaf_list[0];
	assert_int_equal(read_blocks(f), 0);
	assert_int_equal(f->scan.block_count, 1);
	assert_int_equal(f->scan.strange, LEDGER_LEAVES - 1);
}

FAKE_TEST(no_more_is_read_than_the_bound)
{
	struct fake *f = *state;
	const uint64_t bound = (LEDGER_LEAVES_PAGES + 4) * (uint64_t)LEDGER_PAGE_BYTES;

	for (unsigned i = 0; i < 1000000; i++)
		fake_block(f, 24, 1, 0);
	f->options.blocks_max_bytes = bound;
	assert_int_equal(read_blocks(f), -SCAN_EBLOCKS);
	f->options.blocks_max_bytes = bound + 8 * (UINT64_C(1) << 20);
	assert_int_equal(read_blocks(f), 0);
}

FAKE_TEST(a_page_map_that_cannot_be_is_refused)
{
	struct fake *f = *state;

	fake_block(f, 100, 1, 0);
	for (uint32_t shift = 0; shift < 70; shift++) {
		f->blocks.granule_shift = shift;
		assert_int_equal(read_blocks(f), shift == 4 || shift == 5 ? 0 : -SCAN_EBLOCKS);
	}
	f->blocks.granule_shift = 5;
	fake_hole(f, A(f->leaves), LEDGER_LEAVES * sizeof(*f->leaves));
	assert_int_equal(read_blocks(f), -SCAN_EBLOCKS);
}

/* Sizes that would take for ever to look through, where almost nothing can be read. */
FAKE_TEST(huge_blocks_of_nothing_come_to_an_end)
{
	struct fake *f = *state;
	uint64_t *held = fake_block(f, 64, 1, 0);
	const uint64_t nothing = UINT64_C(1) << 36, bytes = UINT64_C(1) << 44;

	fake_note(f, nothing, bytes, 1, 0, 0);
	f->words[0] = nothing;
	f->words[1] = A(held);
	fake_hole(f, nothing - 4096, bytes + 8192);
	f->hole_piece = 4096;
	assert_int_equal(fake_scan(f), 0);
	assert_int_equal(fake_state(f, held), SCAN_REACHABLE);
	assert_true(f->scan.skipped_count > 0);
}

struct overlap {
	uint64_t offset, size;
	bool has_chunk; /* its header tells its size */
	bool stays;
};

/* The second begins in the first; which stays is told by the chunks, else the larger one. */
FAKE_TEST(of_blocks_that_overlap_one_stays)
{
	static const struct overlap tries[][2] = {
		{ { 0, 1000, true, true }, { 512, 64, false, false } },
		{ { 0, 1000, false, false }, { 512, 64, true, true } },
		{ { 0, 1000, true, true }, { 512, 64, true, false } },
		{ { 0, 128, true, false }, { 64, 3000, true, true } },
		{ { 0, 100000, false, false }, { 4096, 5000, true, true } },
		{ { 0, 4096, true, true }, { 0, 100, false, false } },
		{ { 0, 64, true, true }, { 64, 64, true, true } },
	};
	struct fake *f = *state;

	for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
		uint64_t base = A(f->arena) + 4096 * 16, kept = 0;

		for (unsigned k = 0; k < 2; k++) {
			uint64_t at = base + tries[i][k].offset;

			fake_note(f, at, tries[i][k].size, k, 0, 0);
			*(uint64_t *)(uintptr_t)(at - 8) =
				tries[i][k].has_chunk
					? ((tries[i][k].size + 23) & ~UINT64_C(15)) | 1
					: UINT64_MAX;
			kept += tries[i][k].stays;
		}
		assert_int_equal(read_blocks(f), 0);
		assert_int_equal(f->scan.block_count, kept);
		assert_int_equal(f->scan.overlaps, 2 - kept);
		for (unsigned k = 0; k < 2; k++) {
			uint64_t at = base + tries[i][k].offset;

			if (tries[i][k].stays)
				assert_int_equal(scan_find(&f->scan, at)->row, k);
			*fake_small_cell(f, at) = fake_large_cell(f, at)[0] = 0;
		}
	}
}

/* Any bits at all: nothing is read outside, the blocks are in order, and the marker ends. */
FAKE_TEST(random_page_maps_do_no_harm)
{
	uint32_t random = 1;

	for (unsigned seed = 0; seed < 300; seed++) {
		struct fake *f = fake_new_with(seed % 2 ? 4 : 5);
		uint64_t base = A(f->arena);

		fake_hide_leaves(f);
		for (unsigned i = 0; i < 3000; i++) {
			uint64_t cell, at, *to;

			random = random * 1664525 + 1013904223;
			at = base + (random >> 6) % (UINT32_C(3) << (seed % 3 ? 26 : 14));
			cell = (uint64_t)random * random ^ (uint64_t)random << 40;
			cell |= UINT64_C(1) << LEDGER_CELL_STATE_SHIFT;
			to = i % 3 ? fake_small_cell(f, at) : fake_large_cell(f, at);
			to[0] = cell;
			if (i % 3 == 0)
				to[1] = (random >> 3) % (UINT64_C(1) << (random >> 27) % 28);
			f->words[i % FAKE_ROOT_WORDS] = at & ~UINT64_C(15);
			if (i % 5 == 0)
				*(uint64_t *)(uintptr_t)(at & ~UINT64_C(7)) = base + random % 65536;
		}
		assert_int_equal(fake_scan(f), 0);
		for (uint64_t i = 1; i < f->scan.block_count; i++)
			assert_true(f->scan.blocks[i - 1].address + f->scan.blocks[i - 1].size <=
					    f->scan.blocks[i].address &&
				    f->scan.blocks[i - 1].address < f->scan.blocks[i].address);
		fake_free(f);
	}
}
