/* SPDX-License-Identifier: MIT */
/* A page map that lies: a reader meets what can be, passes over the rest, and comes to an end. */
#include "../programs/block_walk.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

enum { LEAVES_AT = 1 << 30, LEAF_AT = 2 << 20, MEMORY_BYTES = 40 << 20, SHIFT = 5 };
enum { FOUND_MAX = 16 };

/* One leaf's memory, and a first level that says so for the first address ranges. */
struct process {
	uint8_t *leaf; /* at LEAF_AT */
	uint64_t leaves[LEDGER_LEAVES];
	struct walk_block found[FOUND_MAX];
	uint64_t count;
};

static bool copy_from(const void *part, uint64_t begin, uint64_t size, uint64_t address, void *to,
		      uint64_t bytes)
{
	if (address < begin || address - begin > size || bytes > size - (address - begin))
		return false;
	memcpy(to, (const uint8_t *)part + (address - begin), bytes);
	return true;
}

static bool read_fake(void *user, uint64_t address, void *to, uint64_t bytes)
{
	struct process *p = user;

	return copy_from(p->leaf, LEAF_AT, MEMORY_BYTES, address, to, bytes) ||
	       copy_from(p->leaves, LEAVES_AT, sizeof(p->leaves), address, to, bytes);
}

static void note(void *user, const struct walk_block *block)
{
	struct process *p = user;

	if (p->count < FOUND_MAX)
		p->found[p->count] = *block;
	p->count++;
}

static uint64_t live(uint32_t row, uint64_t address, uint64_t field)
{
	return row | (address >> 4 & 1) << LEDGER_CELL_HALF_SHIFT |
	       (uint64_t)LEDGER_CELL_LIVE << LEDGER_CELL_STATE_SHIFT |
	       field << LEDGER_CELL_SIZE_SHIFT;
}

static int set_up(void **state)
{
	struct process *p = calloc(1, sizeof(*p));

	p->leaf = calloc(1, MEMORY_BYTES);
	p->leaves[3] = LEAF_AT;
	*state = p;
	return 0;
}

static int tear_down(void **state)
{
	struct process *p = *state;

	free(p->leaf);
	free(p);
	return 0;
}

static uint64_t *cells(struct process *p, unsigned i)
{
	p->leaf[ledger_leaf_pages(SHIFT) * LEDGER_PAGE_BYTES + i / 512] = 1;
	return (uint64_t *)p->leaf + i;
}

static uint64_t *large(struct process *p, unsigned i)
{
	return cells(p, (unsigned)ledger_leaf_cells(SHIFT) + 2 * i);
}

static struct walk walk(struct process *p, uint32_t shift)
{
	struct walk walk = { read_fake, note, p, UINT64_C(64) << 20, 0 };
	struct ledger_blocks blocks = { .leaves = LEAVES_AT, .granule_shift = shift };

	if (!walk_blocks(&walk, &blocks))
		walk.strange = UINT64_MAX;
	return walk;
}

TEST_WITH(set_up, blocks_have_their_address_size_and_row, tear_down)
{
	struct process *p = *state;
	const uint64_t base = UINT64_C(3) << LEDGER_LEAF_SHIFT;

	*cells(p, 1) = live(7, 16, 100);
	*cells(p, 600) = live(8, 0, 4095) ^ (uint64_t)3 << LEDGER_CELL_STATE_SHIFT; /* freed */
	*cells(p, (1 << 21) - 1) = live(9, 0, 0);
	large(p, 2)[0] = live(10, 0x550, 0x55);
	large(p, 2)[1] = UINT64_C(1) << 40;
	assert_int_equal(walk(p, SHIFT).strange, 0);
	assert_int_equal(p->count, 3);
	assert_true(p->found[0].address == base + 48 && p->found[0].size == 100);
	assert_true(p->found[0].row == 7);
	assert_true(p->found[1].address == base + (1 << 26) - 32 && p->found[1].size == 0);
	assert_true(p->found[2].address == base + 0x2550 && p->found[2].size == UINT64_C(1) << 40);
}

TEST_WITH(set_up, what_cannot_be_is_passed_over, tear_down)
{
	struct process *p = *state;

	/* Begins behind its 4 KB, ends beyond all addresses. */
	large(p, 2)[0] = live(10, 0, 0x100);
	large(p, 3)[0] = live(10, 0, 0);
	large(p, 3)[1] = UINT64_MAX;
	/* Nothing can be read there. */
	p->leaves[5] = UINT64_MAX / 2;
	assert_int_equal(walk(p, SHIFT).strange, 3);
	assert_int_equal(p->count, 0);
}

TEST_WITH(set_up, with_a_granule_of_16_bytes_a_cell_is_of_one_address, tear_down)
{
	struct process *p = *state;

	p->leaf[ledger_leaf_pages(4) * LEDGER_PAGE_BYTES] = 1;
	((uint64_t *)p->leaf)[0] = live(7, 0, 1);
	((uint64_t *)p->leaf)[1] = live(7, 16, 1);
	((uint64_t *)p->leaf)[2] = live(7, 16, 1);
	assert_int_equal(walk(p, 4).strange, 1);
	assert_int_equal(p->count, 2);
}

TEST_WITH(set_up, the_same_leaf_everywhere_does_not_take_for_ever, tear_down)
{
	struct process *p = *state;

	for (unsigned i = 0; i < LEDGER_LEAVES; i++)
		p->leaves[i] = LEAF_AT;
	*cells(p, 1) = live(7, 0, 100);
	assert_int_equal(walk(p, SHIFT).left_bytes, 0);
	assert_in_range(p->count, 1, LEDGER_LEAVES / 2);
}

TEST_WITH(set_up, an_unknown_granule_is_refused, tear_down)
{
	for (uint32_t shift = 0; shift < 70; shift++)
		if (shift != 4 && shift != 5)
			assert_true(walk(*state, shift).strange == UINT64_MAX);
}
