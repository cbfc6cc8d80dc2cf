/* SPDX-License-Identifier: MIT */
/* What is reachable, may be, or is lost: by the shape of the graph, and by what kind of pointer. */
#include "scan_fake.h"
#include "unit.h"

#define A(pointer) fake_address(pointer)

FAKE_TEST(a_dropped_block_is_lost)
{
	struct fake *f = *state;
	uint64_t *lost = fake_block(f, 1001, 7, 0), *held = fake_block(f, 1002, 8, 0);

	f->words[3] = A(held);
	assert_int_equal(fake_scan(f), 0);
	assert_int_equal(fake_state(f, lost), SCAN_LOST);
	assert_int_equal(fake_state(f, held), SCAN_REACHABLE);
	assert_int_equal(fake_rule(f, held), SCAN_RULE_START);
	assert_int_equal(fake_find(f, held)->root, SCAN_ROOT_GLOBAL);
	assert_int_equal(f->result.block_count, 1);
	assert_int_equal(scan_result_block(&f->result, 0)->size, 1001);
	assert_int_equal(scan_result_block(&f->result, 0)->row, 7);
	assert_int_equal(f->scan.marked_bytes, FAKE_ROOT_WORDS * 8 + 1000);
}

/* Two blocks and a root; links: '>' to the begin, '?' into it, '-' none. */
struct chain {
	const char *links; /* root to a, root to b, a to b */
	uint8_t a, b;
};

static uint64_t link_to(char link, const uint64_t *block)
{
	return link == '>' ? A(block) : link == '?' ? A(block) + 24 : 0;
}

FAKE_TEST(the_nine_chains_of_two_blocks)
{
	static const struct chain chains[] = {
		{ "->-", SCAN_LOST, SCAN_REACHABLE },	   /* 1 */
		{ ">->", SCAN_REACHABLE, SCAN_REACHABLE }, /* 2 */
		{ "---", SCAN_LOST, SCAN_LOST },	   /* 3 */
		{ "-->", SCAN_LOST, SCAN_LOST },	   /* 4 */
		{ "-?-", SCAN_LOST, SCAN_MAYBE },	   /* 5 */
		{ ">-?", SCAN_REACHABLE, SCAN_MAYBE },	   /* 6 */
		{ "?->", SCAN_MAYBE, SCAN_MAYBE },	   /* 7 */
		{ "?-?", SCAN_MAYBE, SCAN_MAYBE },	   /* 8 */
		{ "--?", SCAN_LOST, SCAN_LOST },	   /* 9 */
		/* The stronger of two ways. */
		{ "?>-", SCAN_MAYBE, SCAN_REACHABLE },
		{ ">?>", SCAN_REACHABLE, SCAN_REACHABLE },
		{ "-?>", SCAN_LOST, SCAN_MAYBE },
	};
	struct fake *f = *state;
	uint64_t *a = fake_block(f, 64, 1, 0), *b = fake_block(f, 80, 2, 0);

	for (size_t i = 0; i < sizeof(chains) / sizeof(chains[0]); i++) {
		const struct chain *chain = &chains[i];
		bool linked = chain->links[2] != '-';

		f->words[0] = link_to(chain->links[0], a);
		f->words[1] = link_to(chain->links[1], b);
		a[2] = link_to(chain->links[2], b);
		assert_int_equal(fake_scan(f), 0);
		assert_int_equal(fake_state(f, a), chain->a);
		assert_int_equal(fake_state(f, b), chain->b);
		/* Whichever kind, a lost block's pointer is kept as an edge. */
		if (chain->a != SCAN_REACHABLE && chain->b != SCAN_REACHABLE) {
			assert_int_equal(f->result.first_edge[f->result.block_count], linked);
			assert_int_equal(f->result.first_edge[1], linked);
			assert_int_equal(f->result.first_edge[2], linked);
			if (linked)
				assert_int_equal(f->result.edges[0], 1);
		}
	}
}

FAKE_TEST(a_pointer_to_itself_saves_nothing)
{
	struct fake *f = *state;
	uint64_t *self = fake_block(f, 64, 1, 0), *inner = fake_block(f, 64, 1, 0);

	self[0] = A(self);
	inner[0] = A(inner + 2);
	assert_int_equal(fake_scan(f), 0);
	assert_int_equal(fake_state(f, self), SCAN_LOST);
	assert_int_equal(fake_state(f, inner), SCAN_LOST);
	assert_int_equal(f->result.first_edge[f->result.block_count], 0);
}

FAKE_TEST(ignored_blocks_lead_to_ignored_ones)
{
	struct fake *f = *state;
	uint64_t *ignored = fake_block(f, 64, 1, 0), *child = fake_block(f, 64, 2, 0),
		 *inner = fake_block(f, 64, 3, 0), *held = fake_block(f, 64, 4, 0),
		 *lost = fake_block(f, 64, 5, 0), *also = fake_block(f, 64, 6, 0);

	fake_note(f, A(ignored), 64, 1, 0, LEDGER_CELL_IGNORED);
	fake_note(f, A(held), 64, 4, 0, LEDGER_CELL_IGNORED | LEDGER_CELL_REPORTED);
	f->words[0] = A(held);
	f->words[1] = A(inner + 1); /* weak: being ignored wins */
	ignored[0] = A(child);
	ignored[1] = A(held);
	child[3] = A(inner + 2);
	lost[0] = A(ignored);
	lost[1] = A(also);
	assert_int_equal(fake_scan(f), 0);
	assert_int_equal(fake_state(f, ignored), SCAN_IGNORED);
	assert_int_equal(fake_find(f, ignored)->root, SCAN_ROOT_IGNORED);
	assert_int_equal(fake_state(f, child), SCAN_IGNORED);
	assert_int_equal(fake_state(f, inner), SCAN_IGNORED);
	assert_int_equal(fake_state(f, held), SCAN_REACHABLE);
	assert_int_equal(fake_find(f, held)->marks, LEDGER_CELL_IGNORED | LEDGER_CELL_REPORTED);
	assert_int_equal(fake_state(f, lost), SCAN_LOST);
	assert_int_equal(fake_state(f, also), SCAN_LOST);
}

FAKE_TEST(a_block_of_no_bytes_has_its_begin)
{
	struct fake *f = *state;
	uint64_t *held = fake_block(f, 0, 1, 0), *lost = fake_block(f, 0, 1, 0);

	f->words[0] = A(held);
	f->words[1] = A(lost) + 1;
	f->words[2] = A(lost) + 8;
	assert_int_equal(fake_scan(f), 0);
	assert_int_equal(fake_state(f, held), SCAN_REACHABLE);
	assert_int_equal(fake_state(f, lost), SCAN_LOST);
	assert_null(scan_find(&f->scan, A(lost) + 1));
}

/* The first reason wins: roots in the order given, whatever else leads there. */
FAKE_TEST(reasons_win_in_order)
{
	struct fake *f = *state;
	uint64_t *head = fake_block(f, 64, 1, 0), *next = fake_block(f, 64, 1, 0),
		 *own = fake_block(f, 64, 1, 0);
	uint64_t registers[] = { A(next), A(own) };
	struct scan_root roots[] = {
		fake_root(f, SCAN_ROOT_GLOBAL),
		{ .begin = 8, .end = 24, .words = registers, .kind = SCAN_ROOT_REGISTER },
	};

	f->words[0] = A(head);
	head[1] = A(next);
	assert_int_equal(fake_scan_roots(f, roots, 2), 0);
	assert_int_equal(fake_find(f, next)->root, SCAN_ROOT_GLOBAL);
	assert_int_equal(fake_find(f, own)->root, SCAN_ROOT_REGISTER);
	assert_int_equal(fake_state(f, own), SCAN_REACHABLE);
}

FAKE_TEST(a_root_may_say_what_its_inner_pointers_are)
{
	struct fake *f = *state;
	uint64_t *stack = fake_block(f, 8192, 1, 0), *on_it = fake_block(f, 64, 2, 0);
	struct scan_root root = fake_root(f, SCAN_ROOT_REGISTER);

	root.rule = SCAN_RULE_STACK_POINTER;
	f->words[0] = A(stack + 700);
	stack[710] = A(on_it);
	assert_int_equal(fake_scan_roots(f, &root, 1), 0);
	assert_int_equal(fake_state(f, stack), SCAN_REACHABLE);
	assert_int_equal(fake_rule(f, stack), SCAN_RULE_STACK_POINTER);
	assert_int_equal(fake_rule(f, on_it), SCAN_RULE_START);
}

FAKE_TEST(large_blocks_are_found_from_anywhere_in_them)
{
	struct fake *f = *state;
	const uint64_t bytes = UINT64_C(300) << 20;
	uint64_t *large = fake_block(f, bytes, 1, 0), *last = fake_block(f, 64, 2, 0);

	f->words[0] = A(large) + bytes / 2;
	large[bytes / 8 - 1] = A(last);
	assert_int_equal(fake_scan(f), 0);
	assert_int_equal(fake_state(f, large), SCAN_MAYBE);
	assert_int_equal(fake_state(f, last), SCAN_MAYBE);
	for (uint64_t at = 0; at < bytes; at += 4096 * 5)
		assert_int_equal(scan_find(&f->scan, A(large) + at)->address, A(large));
	assert_null(scan_find(&f->scan, A(large) + bytes));
	f->words[0] = A(large);
	assert_int_equal(fake_scan(f), 0);
	assert_int_equal(fake_state(f, last), SCAN_REACHABLE);
}

FAKE_TEST(holes_are_skipped_and_noted)
{
	struct fake *f = *state;
	uint64_t *block = fake_block(f, 4096 * 4, 1, 0), *before = fake_block(f, 64, 1, 0),
		 *behind = fake_block(f, 64, 1, 0), *hidden = fake_block(f, 64, 1, 0);
	uint64_t page = (A(block) + 4095) & ~UINT64_C(4095);

	fake_hole(f, page, 4096);
	fake_hole(f, A(f->words) + 800, 16);
	((uint64_t *)(uintptr_t)page)[-1] = A(before);
	((uint64_t *)(uintptr_t)page)[5] = A(hidden);
	((uint64_t *)(uintptr_t)page)[512] = A(behind);
	f->words[99] = A(block);
	f->words[100] = A(hidden);
	assert_int_equal(fake_scan(f), 0);
	assert_int_equal(fake_state(f, before), SCAN_REACHABLE);
	assert_int_equal(fake_state(f, behind), SCAN_REACHABLE);
	assert_int_equal(fake_state(f, hidden), SCAN_LOST);
	assert_int_equal(f->scan.skipped_count, 2);
	assert_int_equal(f->scan.skipped[0].begin, A(f->words) + 800);
	assert_int_equal(f->scan.skipped[1].begin, page);
	assert_int_equal(f->scan.skipped[1].end, page + 4096);
}

/* 4 GB of which the begin and the end were ever written. */
FAKE_TEST(what_was_never_touched_is_not_looked_at)
{
	struct fake *f = *state;
	const uint64_t bytes = UINT64_C(4) << 30;
	uint64_t *sparse = fake_block(f, bytes, 1, 0), *first = fake_block(f, 64, 1, 0),
		 *last = fake_block(f, 64, 1, 0);

	f->words[0] = A(sparse);
	sparse[1] = A(first);
	sparse[bytes / 8 - 1] = A(last);
	f->piece = 65536;
	f->options.untouched = fake_untouched;
	f->options.untouched_user = f;
	f->untouched = (struct scan_range){ (A(sparse) + 65536) & ~UINT64_C(4095),
					    (A(sparse) + bytes) & ~UINT64_C(4095) };
	assert_int_equal(fake_scan(f), 0);
	assert_int_equal(fake_state(f, first), SCAN_REACHABLE);
	assert_int_equal(fake_state(f, last), SCAN_REACHABLE);
	assert_int_equal(f->scan.skipped_count, 0);
	assert_in_range(f->scan.marked_bytes, 65536, 200000);
}

/* Whatever pieces memory comes in, down to a byte. */
FAKE_TEST(pieces_do_not_matter)
{
	struct fake *f = *state;
	uint64_t *block = fake_block(f, 600, 1, 0), *held = fake_block(f, 64, 1, 0);

	f->words[99] = A(block);
	for (f->piece = 4096; f->piece; f->piece /= 2) {
		block[70] = A(held);
		assert_int_equal(fake_scan(f), 0);
		assert_int_equal(fake_state(f, held), SCAN_REACHABLE);
	}
}

FAKE_TEST(a_list_of_a_million_is_followed)
{
	enum { NODES = 1000000 };
	struct fake *f = *state;
	uint64_t *head = NULL;

	for (unsigned i = 0; i < NODES; i++) {
		uint64_t *node = fake_block(f, 24, 1, 0);

		node[0] = A(head);
		head = node;
	}
	assert_int_equal(fake_scan(f), 0);
	assert_int_equal(f->result.block_count, NODES);
	assert_int_equal(f->result.first_edge[f->result.block_count], NODES - 1);
	f->words[0] = A(head);
	assert_int_equal(fake_scan(f), 0);
	assert_int_equal(f->result.block_count, 0);
	assert_int_equal(f->result.all_count, NODES);
}

FAKE_TEST(chains_lead_from_a_block_to_its_root)
{
	struct fake *f = *state;
	uint64_t *head = fake_block(f, 64, 1, 0), *middle = fake_block(f, 64, 1, 0),
		 *last = fake_block(f, 64, 1, 0), *lost = fake_block(f, 64, 1, 0);
	struct scan_link links[4];

	f->options.want_chains = true;
	f->words[5] = A(head);
	head[2] = A(middle);
	middle[3] = A(last + 1);
	assert_int_equal(fake_scan(f), 0);
	assert_int_equal(scan_chain(&f->scan, A(last), links, 2), 3);
	assert_int_equal(links[0].from, A(&middle[3]));
	assert_int_equal(links[0].block, A(middle));
	assert_int_equal(links[0].rule, SCAN_RULE_INTERIOR);
	assert_int_equal(links[1].from, A(&head[2]));
	assert_int_equal(links[1].rule, SCAN_RULE_START);
	assert_int_equal(links[2].from, A(&f->words[5]));
	assert_int_equal(links[2].block, 0);
	assert_int_equal(links[2].root, SCAN_ROOT_GLOBAL);
	/* Of a longer one its two ends. */
	assert_int_equal(scan_chain(&f->scan, A(last), links, 1), 3);
	assert_int_equal(links[0].from, A(&middle[3]));
	assert_int_equal(links[1].from, A(&f->words[5]));
	assert_int_equal(scan_chain(&f->scan, A(lost), links, 2), 0);
	assert_int_equal(scan_chain(&f->scan, 64, links, 2), 0);
	assert_int_equal(f->result.block_count, 2);
	assert_int_equal(scan_result_from(&f->result, 0), A(&middle[3]));
	assert_int_equal(scan_result_from(&f->result, 1), 0);
}

FAKE_TEST(without_memory_a_scan_says_so)
{
	struct fake *f = *state;
	uint64_t *block = fake_block(f, 64, 1, 0);
	int rc = -SCAN_ENOMEM;

	f->words[0] = A(block);
	fake_block(f, 64, 1, 0);
	for (unsigned i = 1; rc; i++) {
		fake_forget(f);
		f->refuse_from = i;
		assert_in_range(i, 1, 64);
		rc = fake_scan(f);
		assert_true(rc == 0 || rc == -SCAN_ENOMEM);
	}
	assert_in_range(f->refuse_from, 10, 64);
}

/* As the tool does, in our own memory. */
static void note_lost(struct fake *f, const uint64_t *block)
{
	const struct scan_block *found = fake_find(f, block);
	uint64_t *cell = (uint64_t *)(uintptr_t)scan_cell_at(&f->scan, found);
	const uint64_t lost = scan_cell_lost(&f->scan, found);

	*cell = (*cell & UINT64_MAX >> 16) | lost << LEDGER_CELL_LOST_SHIFT;
	assert_int_equal(ledger_cell_lost(*cell), lost);
}

FAKE_TEST(what_was_lost_comes_back_only_where_that_is_no_old_word)
{
	static const struct {
		uint8_t root; /* that points to it; 0: a block does that the root points to */
		bool inside, changes;
		uint8_t state, rule;
	} cases[] = {
		{ 0, false, false, SCAN_LOST, SCAN_RULE_LOST_BEFORE },
		{ 0, true, false, SCAN_LOST, SCAN_RULE_NONE },
		{ 0, false, true, SCAN_REACHABLE, SCAN_RULE_START },
		{ 0, true, true, SCAN_MAYBE, SCAN_RULE_INTERIOR },
		{ SCAN_ROOT_STACK, false, false, SCAN_LOST, SCAN_RULE_LOST_BEFORE },
		{ SCAN_ROOT_STACK, true, false, SCAN_LOST, SCAN_RULE_NONE },
		{ SCAN_ROOT_REGISTER, false, false, SCAN_LOST, SCAN_RULE_LOST_BEFORE },
		{ SCAN_ROOT_GLOBAL, false, false, SCAN_REACHABLE, SCAN_RULE_START },
		{ SCAN_ROOT_GLOBAL, true, false, SCAN_LOST, SCAN_RULE_NONE },
		{ SCAN_ROOT_MAPPING, false, false, SCAN_REACHABLE, SCAN_RULE_START },
		{ SCAN_ROOT_EPOLL, false, false, SCAN_REACHABLE, SCAN_RULE_START },
	};
	struct fake *f = *state;
	uint64_t *blocks[] = { fake_block(f, 900, 7, 0), fake_block(f, 100000, 7, 0) };
	uint64_t *with = fake_block(f, 64, 7, 0), *holder = fake_block(f, 64, 8, 0);

	for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t *block = blocks[i % 2], *other = blocks[1 - i % 2];
		const uint64_t pointer = A(block) + (cases[i / 2].inside ? 320 : 0);
		struct scan_root root = fake_root(f, SCAN_ROOT_GLOBAL);

		f->words[0] = f->words[1] = holder[1] = 0;
		block[3] = A(with);
		other[3] = 0;
		assert_int_equal(fake_scan(f), 0);
		assert_int_equal(fake_state(f, block), SCAN_LOST);
		assert_int_equal(fake_state(f, with), SCAN_LOST);
		note_lost(f, block);
		note_lost(f, with);
		f->words[0] = cases[i / 2].root ? pointer : A(holder);
		holder[1] = pointer;
		block[2] += cases[i / 2].changes;
		f->words[1] = A(other);
		root.kind = cases[i / 2].root ? cases[i / 2].root : SCAN_ROOT_GLOBAL;
		assert_int_equal(fake_scan_roots(f, &root, 1), 0);
		assert_int_equal(fake_state(f, block), cases[i / 2].state);
		assert_int_equal(fake_rule(f, block), cases[i / 2].rule);
		assert_int_equal(fake_state(f, with), cases[i / 2].state);
		assert_true(fake_find(f, block)->was_lost);
		assert_int_equal(!scan_cell_lost(&f->scan, fake_find(f, block)),
				 cases[i / 2].state != SCAN_LOST);
	}
}
