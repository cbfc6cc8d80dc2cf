/* SPDX-License-Identifier: MIT */
/* Which lost block is to blame: lists, trees, circles, and circles of circles. */
#include "scan/components.h"
#include "scan_fake.h"
#include "unit.h"

#define A(pointer) fake_address(pointer)

static struct seep_arena *arena;

struct judged {
	struct fake *f;
	uint8_t *roles;
	uint32_t *leaders;
};

static struct judged judge(struct fake *f)
{
	struct judged j = { .f = f };

	assert_int_equal(fake_scan(f), 0);
	scan_components(arena, &f->result, &j.roles, &j.leaders);
	return j;
}

static uint32_t index_of(const struct judged *j, const void *block)
{
	for (uint32_t i = 0; i < j->f->result.block_count; i++)
		if (scan_result_block(&j->f->result, i)->address == A(block))
			return i;
	fail();
	return 0;
}

/* The role of @block, whose leader must be @leader. */
static uint8_t role(const struct judged *j, const void *block, const void *leader)
{
	uint32_t i = index_of(j, block);

	assert_int_equal(scan_result_block(&j->f->result, j->leaders[i])->address, A(leader));
	return j->roles[i];
}

static void count_roles(const struct judged *j, uint64_t counts[4])
{
	memset(counts, 0, 4 * sizeof(counts[0]));
	for (uint64_t i = 0; i < j->f->result.block_count; i++)
		counts[j->roles[i]]++;
}

static int set_up(void **state)
{
	*state = fake_new();
	arena = seep_arena_new();
	return 0;
}

static int tear_down(void **state)
{
	fake_free(*state);
	seep_arena_free(arena);
	return 0;
}

TEST_WITH(set_up, a_list_goes_with_its_head, tear_down)
{
	struct fake *f = *state;
	uint64_t *nodes[5];
	struct judged j;

	for (unsigned i = 0; i < 5; i++)
		nodes[i] = fake_block(f, 64, 1, 0);
	/* The head is neither first nor last in memory. */
	nodes[2][0] = A(nodes[0]);
	nodes[0][0] = A(nodes[4]);
	nodes[4][1] = A(nodes[1]);
	nodes[1][0] = A(nodes[3]);
	j = judge(f);
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(role(&j, nodes[i], nodes[2]),
				 i == 2 ? SCAN_ROLE_ROOT : SCAN_ROLE_WITH);
}

TEST_WITH(set_up, a_tree_with_two_lost_branches, tear_down)
{
	enum { TREE_A, B, C, D, E, F, G, NODES };
	struct fake *f = *state;
	uint64_t *n[NODES];
	struct judged j;

	for (unsigned i = 0; i < NODES; i++)
		n[i] = fake_block(f, 16, i, 0);
	f->words[0] = A(n[TREE_A]);
	n[TREE_A][0] = A(n[B]); /* and no longer C */
	n[B][1] = A(n[E]);	/* and no longer D */
	n[C][0] = A(n[F]);
	n[C][1] = A(n[G]);
	j = judge(f);
	assert_int_equal(f->result.block_count, 4);
	assert_int_equal(role(&j, n[D], n[D]), SCAN_ROLE_ROOT);
	assert_int_equal(role(&j, n[C], n[C]), SCAN_ROLE_ROOT);
	assert_int_equal(role(&j, n[F], n[C]), SCAN_ROLE_WITH);
	assert_int_equal(role(&j, n[G], n[C]), SCAN_ROLE_WITH);
}

TEST_WITH(set_up, a_circle_is_led_by_its_first, tear_down)
{
	struct fake *f = *state;
	uint64_t *a = fake_block(f, 64, 2, 0), *b = fake_block(f, 64, 1, 0),
		 *c = fake_block(f, 64, 1, 0), *self = fake_block(f, 64, 3, 0);
	struct judged j;

	a[0] = A(b);
	b[0] = A(a);
	self[0] = A(self);
	j = judge(f);
	assert_int_equal(role(&j, b, b), SCAN_ROLE_CYCLE); /* its row is lower */
	assert_int_equal(role(&j, a, b), SCAN_ROLE_WITH);
	assert_int_equal(role(&j, c, c), SCAN_ROLE_ROOT);
	assert_int_equal(role(&j, self, self), SCAN_ROLE_ROOT);
}

/* A std::list: header and nodes point to each other both ways. */
TEST_WITH(set_up, a_circle_with_one_header_is_owned, tear_down)
{
	enum { NODES = 20 };
	struct fake *f = *state;
	uint64_t *nodes[NODES + 1], *text;
	struct judged j;

	for (unsigned i = 0; i < NODES; i++)
		nodes[i] = fake_block(f, 24, 1, 0);
	nodes[NODES] = fake_block(f, 24, 2, 0);
	for (unsigned i = 0; i <= NODES; i++) {
		nodes[i][0] = A(nodes[(i + 1) % (NODES + 1)]);
		nodes[i][1] = A(nodes[(i + NODES) % (NODES + 1)]);
	}
	text = fake_block(f, 31, 3, 0);
	nodes[7][2] = A(text);
	j = judge(f);
	assert_int_equal(role(&j, nodes[NODES], nodes[NODES]), SCAN_ROLE_ROOT);
	for (unsigned i = 0; i < NODES; i++)
		assert_int_equal(role(&j, nodes[i], nodes[NODES]), SCAN_ROLE_WITH);
	assert_int_equal(role(&j, text, nodes[NODES]), SCAN_ROLE_WITH);
}

TEST_WITH(set_up, circles_that_are_linked, tear_down)
{
	struct fake *f = *state;
	uint64_t *a = fake_block(f, 64, 1, 0), *b = fake_block(f, 64, 1, 0),
		 *c = fake_block(f, 64, 1, 0), *d = fake_block(f, 64, 1, 0);
	struct judged j;
	uint64_t counts[4];

	a[0] = A(b);
	b[0] = A(a);
	c[0] = A(d);
	d[0] = A(c);
	d[1] = A(a); /* one way, from the later to the earlier one */
	j = judge(f);
	assert_int_equal(role(&j, c, c), SCAN_ROLE_CYCLE);
	assert_int_equal(role(&j, d, c), SCAN_ROLE_WITH);
	assert_int_equal(role(&j, a, c), SCAN_ROLE_WITH);
	assert_int_equal(role(&j, b, c), SCAN_ROLE_WITH);
	b[1] = A(c) + 8; /* both ways, weakly */
	j = judge(f);
	count_roles(&j, counts);
	assert_int_equal(counts[SCAN_ROLE_CYCLE], 1);
	assert_int_equal(counts[SCAN_ROLE_WITH], 3);
	assert_int_equal(role(&j, d, a), SCAN_ROLE_WITH);
}

TEST_WITH(set_up, what_two_roots_lead_to_goes_with_the_first, tear_down)
{
	struct fake *f = *state;
	uint64_t *shared = fake_block(f, 64, 1, 0), *one = fake_block(f, 64, 1, 0),
		 *two = fake_block(f, 64, 1, 0), *ignored = fake_block(f, 64, 1, 0);
	struct judged j;

	fake_note(f, A(ignored), 64, 1, 0, LEDGER_CELL_IGNORED);
	one[0] = two[0] = A(shared);
	two[1] = A(ignored);
	j = judge(f);
	assert_int_equal(role(&j, shared, one), SCAN_ROLE_WITH);
	assert_int_equal(role(&j, two, two), SCAN_ROLE_ROOT);
	assert_int_equal(j.roles[index_of(&j, ignored)], SCAN_ROLE_NONE);
}

TEST_WITH(set_up, a_million_in_a_list_and_in_a_circle, tear_down)
{
	enum { NODES = 1000000 };
	struct fake *f = *state;
	uint64_t *first = fake_block(f, 24, 1, 0), *last = first, counts[4];
	struct judged j;

	for (unsigned i = 1; i < NODES; i++) {
		uint64_t *node = fake_block(f, 24, 1, 0);

		last[0] = A(node);
		last = node;
	}
	j = judge(f);
	count_roles(&j, counts);
	assert_int_equal(counts[SCAN_ROLE_ROOT], 1);
	assert_int_equal(counts[SCAN_ROLE_WITH], NODES - 1);
	last[0] = A(first);
	j = judge(f);
	count_roles(&j, counts);
	assert_int_equal(counts[SCAN_ROLE_CYCLE], 1);
	assert_int_equal(counts[SCAN_ROLE_WITH], NODES - 1);
}
