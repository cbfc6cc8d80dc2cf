/* SPDX-License-Identifier: MIT */
/*
 * Small random heaps, judged by the definition alone, in the slowest way there is, and by the scan:
 * states, edges, roles and leaders must agree.
 */
#include "scan/components.h"
#include "scan_fake.h"
#include "unit.h"

enum { SEEDS = 6000, BLOCKS_MAX = 24, ROOTS = 12 };

/* Whether a points to b: strongly, weakly. */
struct links {
	bool strong, weak;
};

struct naive {
	unsigned count;
	uint64_t *blocks[BLOCKS_MAX];
	uint64_t sizes[BLOCKS_MAX];
	bool ignored[BLOCKS_MAX];
	struct links from_root[BLOCKS_MAX], links[BLOCKS_MAX][BLOCKS_MAX];
	uint8_t states[BLOCKS_MAX];
	bool leads[BLOCKS_MAX][BLOCKS_MAX]; /* among lost ones, over any number of steps */
};

static uint32_t random_state;

static uint32_t pick(uint32_t below)
{
	random_state = random_state * 1664525 + 1013904223;
	return (uint32_t)((uint64_t)random_state * below >> 32);
}

/* A word that points to some block, or near one, or nowhere; @links: of the place it is for. */
static uint64_t random_word(struct naive *n, struct links *links)
{
	unsigned to = pick(n->count);
	uint64_t address = fake_address(n->blocks[to]);

	switch (pick(6)) {
	case 0:
	case 1:
		links[to].strong = true;
		return address;
	case 2:
		if (n->sizes[to] > 16)
			links[to].weak = true;
		return address + 16;
	case 3:
		if (n->sizes[to] > 3)
			links[to].weak = true;
		return address + 3;
	case 4:
		return address + n->sizes[to] + (n->sizes[to] == 0);
	default:
		return pick(1000);
	}
}

static void make(struct fake *f, struct naive *n)
{
	static const uint16_t sizes[] = { 0, 1, 17, 24, 40, 64, 200, 4095, 4096, 5000, 40000 };

	memset(n, 0, sizeof(*n));
	n->count = 1 + pick(BLOCKS_MAX);
	for (unsigned i = 0; i < n->count; i++) {
		n->sizes[i] = sizes[pick(sizeof(sizes) / sizeof(sizes[0]))];
		n->ignored[i] = pick(12) == 0;
		n->blocks[i] = fake_block(f, n->sizes[i], pick(4), 0);
		memset(n->blocks[i], 0, n->sizes[i]);
		fake_note(f, fake_address(n->blocks[i]), n->sizes[i], pick(4), 0,
			  n->ignored[i] ? LEDGER_CELL_IGNORED : 0);
	}
	/* Few enough that all kinds of states come up. */
	for (unsigned i = 0; i < ROOTS; i++)
		f->words[pick(FAKE_ROOT_WORDS / ROOTS) + i * (FAKE_ROOT_WORDS / ROOTS)] =
			pick(3) ? 0 : random_word(n, n->from_root);
	for (unsigned i = 0; i < n->count; i++)
		for (unsigned k = pick(4); n->sizes[i] >= 64 && k > 0; k--) {
			unsigned part = (unsigned)(n->sizes[i] / 8 / 4);

			/* Not at 8 or 16 from the begin, where rules would look. */
			n->blocks[i][k * part + pick(part)] = random_word(n, n->links[i]);
		}
}

/* All that one of @state leads to and has none; by strong links only, or by any. */
static void spread(struct naive *n, uint8_t state, bool any)
{
	for (bool more = true; more;) {
		more = false;
		for (unsigned a = 0; a < n->count; a++)
			for (unsigned b = 0; b < n->count; b++)
				if (n->states[a] == state && n->states[b] == SCAN_LOST &&
				    (n->links[a][b].strong || (any && n->links[a][b].weak))) {
					n->states[b] = state;
					more = true;
				}
	}
}

static void judge(struct naive *n)
{
	for (unsigned i = 0; i < n->count; i++)
		if (n->from_root[i].strong)
			n->states[i] = SCAN_REACHABLE;
	spread(n, SCAN_REACHABLE, false);
	for (unsigned i = 0; i < n->count; i++)
		if (n->ignored[i] && n->states[i] == SCAN_LOST)
			n->states[i] = SCAN_IGNORED;
	spread(n, SCAN_IGNORED, true);
	for (unsigned i = 0; i < n->count; i++) {
		bool weak = n->from_root[i].weak;

		for (unsigned k = 0; k < n->count; k++)
			weak |= n->states[k] == SCAN_REACHABLE && n->links[k][i].weak;
		if (weak && n->states[i] == SCAN_LOST)
			n->states[i] = SCAN_MAYBE;
	}
	spread(n, SCAN_MAYBE, true);
}

static void close_over(struct naive *n)
{
	for (unsigned a = 0; a < n->count; a++)
		for (unsigned b = 0; b < n->count; b++)
			n->leads[a][b] = n->states[a] == SCAN_LOST && n->states[b] == SCAN_LOST &&
					 (a == b || n->links[a][b].strong || n->links[a][b].weak);
	for (unsigned k = 0; k < n->count; k++)
		for (unsigned a = 0; a < n->count; a++)
			for (unsigned b = 0; b < n->count; b++)
				n->leads[a][b] |= n->leads[a][k] && n->leads[k][b];
}

/* By the definition: who leads nobody else does lead, unless it leads that one too. */
static void check_roles(struct naive *n, const struct fake *f, const uint32_t *result_of)
{
	struct seep_arena *arena = seep_arena_new();
	uint8_t *roles;
	uint32_t *leaders;

	scan_components(arena, &f->result, &roles, &leaders);
	for (unsigned i = 0; i < n->count; i++) {
		unsigned leader = 0, leaders_of_circle = 0;
		bool is_led = false, is_circle = false;
		uint8_t role;

		if (n->states[i] == SCAN_REACHABLE)
			continue;
		role = roles[result_of[i]];
		if (n->states[i] != SCAN_LOST) {
			assert_int_equal(role, SCAN_ROLE_NONE);
			continue;
		}
		while (result_of[leader] != leaders[result_of[i]] ||
		       n->states[leader] == SCAN_REACHABLE)
			leader++;
		assert_true(n->leads[leader][i]);
		for (unsigned k = 0; k < n->count; k++) {
			bool both = n->leads[k][i] && n->leads[i][k];

			is_led |= n->leads[k][i] && !n->leads[i][k];
			is_circle |= both && k != i;
			leaders_of_circle += both && n->states[k] == SCAN_LOST &&
					     roles[result_of[k]] != SCAN_ROLE_WITH;
		}
		assert_int_equal(leaders_of_circle, is_led ? 0 : 1);
		assert_int_equal(role != SCAN_ROLE_WITH, leader == i);
		if (!is_circle)
			assert_int_equal(role, is_led ? SCAN_ROLE_WITH : SCAN_ROLE_ROOT);
	}
	seep_arena_free(arena);
}

static void check_edges(const struct naive *n, const struct fake *f, const uint32_t *result_of)
{
	bool edges[BLOCKS_MAX][BLOCKS_MAX] = { 0 };
	uint32_t block_of[BLOCKS_MAX] = { 0 };

	for (unsigned i = 0; i < n->count; i++)
		if (n->states[i] != SCAN_REACHABLE)
			block_of[result_of[i]] = i;
	for (uint32_t k = 0; k < f->result.block_count; k++)
		for (uint64_t e = f->result.first_edge[k]; e < f->result.first_edge[k + 1]; e++)
			edges[block_of[k]][block_of[f->result.edges[e]]] = true;
	for (unsigned a = 0; a < n->count; a++)
		for (unsigned b = 0; b < n->count; b++)
			assert_int_equal(edges[a][b],
					 a != b && n->states[a] != SCAN_REACHABLE &&
						 n->states[b] != SCAN_REACHABLE &&
						 (n->links[a][b].strong || n->links[a][b].weak));
}

TEST(the_scan_agrees_with_the_definition)
{
	static struct naive n;
	uint64_t counts[SCAN_STATES] = { 0 };

	for (uint32_t seed = 1; seed <= SEEDS; seed++) {
		struct fake *f = fake_new();
		uint32_t result_of[BLOCKS_MAX] = { 0 }, results = 0;

		fake_hide_leaves(f);
		random_state = seed * 2654435761u;
		make(f, &n);
		judge(&n);
		assert_int_equal(fake_scan(f), 0);
		assert_int_equal(f->scan.block_count, n.count);
		for (unsigned i = 0; i < n.count; i++) {
			if (fake_state(f, n.blocks[i]) != n.states[i])
				fail_msg("seed %u: block %u of %u is %u, not %u", seed, i, n.count,
					 fake_state(f, n.blocks[i]), n.states[i]);
			counts[n.states[i]]++;
			result_of[i] = results;
			if (n.states[i] != SCAN_REACHABLE)
				assert_int_equal(scan_result_block(&f->result, results++)->address,
						 fake_address(n.blocks[i]));
		}
		assert_int_equal(f->result.block_count, results);
		close_over(&n);
		check_edges(&n, f, result_of);
		check_roles(&n, f, result_of);
		fake_free(f);
	}
	for (unsigned i = 0; i < SCAN_STATES; i++)
		assert_true(counts[i] > SEEDS / 2);
}
