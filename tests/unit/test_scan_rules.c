/* SPDX-License-Identifier: MIT */
/* What kind of pointer keeps a block alive, and what is none, as the block holds it. */
#include "scan_fake.h"
#include "unit.h"

#define A(pointer) fake_address(pointer)
#define HIGH_TAG(pointer) (A(pointer) | UINT64_C(0x8100) << 48)

enum { MALLOC = LEDGER_FAMILY_MALLOC, NEW = LEDGER_FAMILY_NEW, ARRAY = LEDGER_FAMILY_NEW_ARRAY };

/* One block of @size with these first words, and one pointer @offset bytes from its begin. */
struct rule_case {
	uint64_t size;
	unsigned family;
	uint64_t words[3];
	uint64_t offset;
	uint8_t rule;
};

static const struct rule_case cases[] = {
	{ 700, MALLOC, { 0 }, 16, SCAN_RULE_INTERIOR },
	{ 4000, NEW, { 0 }, 2000, SCAN_RULE_INTERIOR },
	{ 910, MALLOC, { 0 }, 1, SCAN_RULE_LOW_TAG },
	{ 910, MALLOC, { 0 }, 7, SCAN_RULE_LOW_TAG },
	{ 910, MALLOC, { 0 }, 9, SCAN_RULE_INTERIOR },
	{ 910, MALLOC, { 0 }, 909, SCAN_RULE_INTERIOR },
	{ 4, MALLOC, { 0 }, 3, SCAN_RULE_LOW_TAG },
	/* One past the end, which is nobody's. */
	{ 704, MALLOC, { 0 }, 704, SCAN_RULE_NONE },
	{ 4, MALLOC, { 0 }, 4, SCAN_RULE_NONE },
	{ 4, MALLOC, { 0 }, 5, SCAN_RULE_NONE },
	{ 0, MALLOC, { 0 }, 8, SCAN_RULE_NONE },
	/* new D[n]: 5 of 16 bytes; n that does not divide; other families. */
	{ 88, ARRAY, { 5 }, 8, SCAN_RULE_NEW_ARRAY },
	{ 88, ARRAY, { 3 }, 8, SCAN_RULE_INTERIOR },
	{ 88, ARRAY, { 0 }, 8, SCAN_RULE_INTERIOR },
	{ 88, ARRAY, { 81 }, 8, SCAN_RULE_INTERIOR },
	{ 88, ARRAY, { UINT64_MAX }, 8, SCAN_RULE_INTERIOR },
	{ 88, ARRAY, { 5 }, 24, SCAN_RULE_INTERIOR },
	{ 88, MALLOC, { 5 }, 8, SCAN_RULE_INTERIOR },
	{ 88, NEW, { 5 }, 8, SCAN_RULE_INTERIOR },
	/* Elements at multiples of 16: 5 of 16; not 10 of 8. */
	{ 96, ARRAY, { 0, 5 }, 16, SCAN_RULE_NEW_ARRAY },
	{ 96, ARRAY, { 0, 10 }, 16, SCAN_RULE_INTERIOR },
	/* new D[0], D aligned to 8 and 16. */
	{ 8, ARRAY, { 0 }, 8, SCAN_RULE_ZERO_ARRAY },
	{ 16, ARRAY, { 1, 0 }, 16, SCAN_RULE_ZERO_ARRAY },
	{ 8, ARRAY, { 1 }, 8, SCAN_RULE_NONE },
	{ 8, NEW, { 0 }, 8, SCAN_RULE_NONE },
	/* Length, capacity, users: of 1, 2 and 4 bytes a character. */
	{ 24 + 101, NEW, { 90, 100, 0 }, 24, SCAN_RULE_STRING },
	{ 24 + 202, NEW, { 100, 100, 0 }, 24, SCAN_RULE_STRING },
	{ 24 + 404, NEW, { 100, 100, 0 }, 24, SCAN_RULE_STRING },
	{ 24 + 101, NEW, { 101, 100, 0 }, 24, SCAN_RULE_INTERIOR },
	{ 24 + 101, NEW, { 90, 99, 0 }, 24, SCAN_RULE_INTERIOR },
	{ 24 + 101, NEW, { 0, UINT64_MAX, 0 }, 24, SCAN_RULE_INTERIOR },
	{ 24 + 101, NEW, { 90, 100, 0 }, 32, SCAN_RULE_INTERIOR },
	/*
	 * sds: length, room, which; the room may be more than was asked for. A short one; no
	 * zero behind it.
	 */
	{ 4 + 200, MALLOC, { 200 | 200 << 8 | 1 << 16 }, 3, SCAN_RULE_STRING },
	{ 4 + 60, MALLOC, { 30 | 76 << 8 | 1 << 16 }, 3, SCAN_RULE_STRING },
	{ 4, MALLOC, { 0 | 4 << 8 | 1 << 16 }, 3, SCAN_RULE_STRING },
	{ 4 + 200, MALLOC, { 200 | 199 << 8 | 1 << 16 }, 3, SCAN_RULE_LOW_TAG },
	{ 4 + 200, MALLOC, { 20 | 199 << 8 | 1 << 16 }, 3, SCAN_RULE_LOW_TAG },
	{ 4 + 200, MALLOC, { 200 | 200 << 8 | 2 << 16 }, 3, SCAN_RULE_LOW_TAG },
	{ 4 + 20, MALLOC, { 20 | 250 << 8 | 1 << 16 }, 3, SCAN_RULE_LOW_TAG },
	{ 4 + 20, MALLOC, { 2 | 20 << 8 | 1 << 16, UINT64_MAX }, 3, SCAN_RULE_STRING },
	{ 4 + 20, MALLOC, { 7 | 20 << 8 | 1 << 16, UINT64_MAX }, 3, SCAN_RULE_LOW_TAG },
	{ 6 + 600, MALLOC, { 600 | 634 << 16 | UINT64_C(2) << 32 }, 5, SCAN_RULE_STRING },
	{ 10 + 70000, MALLOC, { 9 | UINT64_C(70000) << 32, 3 }, 9, SCAN_RULE_STRING },
	{ 18 + 600, MALLOC, { 600, 600, 4 }, 17, SCAN_RULE_STRING },
	{ 18 + 600, MALLOC, { 600, UINT64_MAX, 4 }, 17, SCAN_RULE_INTERIOR },
	{ 2 + 9, MALLOC, { 9 << 3 }, 1, SCAN_RULE_STRING },
	{ 2 + 10, MALLOC, { 9 << 3 }, 1, SCAN_RULE_LOW_TAG },
	{ 2 + 9, MALLOC, { 9 << 3 | 1 }, 1, SCAN_RULE_LOW_TAG },
	/* A length in front of what is that long. */
	{ 508, MALLOC, { 500 }, 8, SCAN_RULE_LENGTH },
	{ 508, MALLOC, { 501 }, 8, SCAN_RULE_INTERIOR },
	{ 508, MALLOC, { 508 }, 8, SCAN_RULE_INTERIOR },
	{ 508, MALLOC, { 500, 492 }, 16, SCAN_RULE_INTERIOR },
};

static void check(struct fake *f, const struct rule_case *c)
{
	uint64_t *block, *child = fake_block(f, 48, 2, 0);
	uint8_t state = c->rule == SCAN_RULE_NONE  ? SCAN_LOST
			: c->rule < SCAN_RULE_WEAK ? SCAN_REACHABLE
						   : SCAN_MAYBE;

	block = fake_block(f, c->size, 1, c->family);
	memcpy(block, c->words, c->size < sizeof(c->words) ? c->size : sizeof(c->words));
	if (c->size >= 64)
		block[6] = A(child);
	f->words[0] = A(block) + c->offset;
	assert_int_equal(fake_scan(f), 0);
	assert_int_equal(fake_rule(f, block), c->rule);
	assert_int_equal(fake_state(f, block), state);
	/* Strong or weak, it is followed as such. */
	if (c->size >= 64)
		assert_int_equal(fake_state(f, child), state);
	/* From a lost block the same pointer drags the block along. */
	f->words[0] = 0;
	child[1] = A(block) + c->offset;
	if (c->size >= 64)
		block[6] = 0;
	assert_int_equal(fake_scan(f), 0);
	assert_int_equal(f->result.first_edge[f->result.block_count], c->rule != SCAN_RULE_NONE);
	*fake_small_cell(f, A(block)) = *fake_small_cell(f, A(child)) = 0;
}

FAKE_TEST(pointers_are_told_by_what_the_block_holds)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		check(*state, &cases[i]);
}

/* A table of @buckets of @bytes each, all but every third of which are full; where its bytes begin. */
static uint8_t *make_table(struct fake *f, uint64_t buckets, uint64_t bytes, uint64_t **ret_block)
{
	const uint64_t data = (buckets * bytes + 15) & ~UINT64_C(15);
	uint8_t *control;

	*ret_block = fake_block(f, data + buckets + 16, 1, MALLOC);
	control = (uint8_t *)*ret_block + data;
	memset(control, 0xff, buckets + 16);
	for (uint64_t i = 0; i < buckets; i++)
		if (i % 3)
			control[i] = i % 7 ? (uint8_t)(i % 128) : 0x80;
	memcpy(control + (buckets < 16 ? 16 : buckets), control, buckets < 16 ? buckets : 16);
	return control;
}

static uint8_t rule_behind(struct fake *f, const uint64_t *block, const uint8_t *control)
{
	f->words[0] = A(control);
	assert_int_equal(fake_scan(f), 0);
	return fake_rule(f, block);
}

FAKE_TEST(hash_tables_of_rust_are_known)
{
	static const uint64_t sizes[] = { 1, 3, 8, 16, 24, 100 };
	struct fake *f = *state;

	for (uint64_t buckets = 4; buckets <= 4096; buckets *= 2)
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			uint64_t *block;
			uint8_t *control = make_table(f, buckets, sizes[i], &block);

			assert_int_equal(rule_behind(f, block, control), SCAN_RULE_HASH_TABLE);
			assert_int_equal(rule_behind(f, block, control + 16), SCAN_RULE_INTERIOR);
			control[buckets < 16 ? 16 : buckets] ^= 1; /* it is not the first again */
			assert_int_equal(rule_behind(f, block, control), SCAN_RULE_INTERIOR);
			control[buckets < 16 ? 16 : buckets] ^= 1;
			control[1] = 0x81; /* there is no such byte */
			assert_int_equal(rule_behind(f, block, control), SCAN_RULE_INTERIOR);
			memset(control, 0, buckets + 16); /* none is full */
			assert_int_equal(rule_behind(f, block, control), SCAN_RULE_INTERIOR);
			*fake_small_cell(f, A(block)) = 0;
		}
}

/*
 * A program with its own operator new[] has blocks of malloc's instead; cells of 16 bytes say so.
 */
FAKE_TEST(arrays_of_a_replaced_new_are_known)
{
	static const struct rule_case replaced[] = {
		{ 88, MALLOC, { 5 }, 8, SCAN_RULE_NEW_ARRAY },
		{ 8, MALLOC, { 0 }, 8, SCAN_RULE_ZERO_ARRAY },
		{ 88, NEW, { 5 }, 8, SCAN_RULE_INTERIOR },
	};
	struct fake *f = fake_new_with(LEDGER_GRANULE_SHIFT_OTHER);

	for (size_t i = 0; i < sizeof(replaced) / sizeof(replaced[0]); i++)
		check(f, &replaced[i]);
	fake_free(f);
}

/* The end of a page is as good a place for a block as any. */
FAKE_TEST(an_empty_array_at_a_pages_end)
{
	struct fake *f = *state;
	uint64_t page = A(f->arena) + 4096, *block = (uint64_t *)(uintptr_t)(page - 16);

	fake_note(f, page - 16, 16, 1, ARRAY, 0);
	f->words[0] = page;
	assert_int_equal(fake_scan(f), 0);
	assert_int_equal(fake_rule(f, block), SCAN_RULE_ZERO_ARRAY);
}

/* Vtables: how far their part of the object is from its begin, type, functions. */
static uint64_t vtables[4][4];

FAKE_TEST(a_second_base_is_known_by_its_vtable)
{
	static const struct {
		unsigned at, word0; /* which vtables; 4: none */
		bool known;
	} tries[] = { { 1, 0, true },  { 0, 0, true },	{ 2, 0, false }, { 1, 1, false },
		      { 1, 4, false }, { 4, 0, false }, { 3, 0, false } };
	const struct scan_range ranges[] = { { 64, 128 },
					     { A(vtables), A(vtables + 1) + 8 * 3 },
					     { A(vtables + 2), A(vtables + 3) },
					     { UINT64_MAX - 64, UINT64_MAX } };
	struct fake *f = *state;

	/* The whole; its base at 24; a base of something larger; one outside all modules. */
	vtables[1][0] = (uint64_t)-24;
	vtables[2][0] = (uint64_t)-32;
	vtables[3][0] = (uint64_t)-24;
	f->options.vtables = ranges;
	f->options.vtable_count = 4;
	for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
		uint64_t *object = fake_block(f, 96, 1, NEW);

		object[0] = tries[i].word0 < 4 ? A(&vtables[tries[i].word0][2]) : A(object + 4);
		object[3] = tries[i].at < 4 ? A(&vtables[tries[i].at][2]) : A(object + 4);
		f->words[0] = A(object + 3);
		assert_int_equal(fake_scan(f), 0);
		assert_int_equal(fake_rule(f, object),
				 tries[i].known ? SCAN_RULE_SECOND_BASE : SCAN_RULE_INTERIOR);
		*fake_small_cell(f, A(object)) = 0;
	}
}

/* What is lost may have left a trace: in a root, or in a block that is reached. */
FAKE_TEST(lost_blocks_get_hints)
{
	struct fake *f = *state;
	uint64_t *holder = fake_block(f, 64, 1, 0), *tagged = fake_block(f, 64, 2, 0),
		 *unaligned = fake_block(f, 64, 3, 0), *past = fake_block(f, 704, 4, 0),
		 *plain = fake_block(f, 64, 5, 0), *dropped = fake_block(f, 64, 6, 0);
	uint64_t value = A(unaligned), in_register = HIGH_TAG(plain);
	struct scan_root roots[] = {
		fake_root(f, SCAN_ROOT_GLOBAL),
		{ .begin = 8, .end = 16, .words = &in_register, .kind = SCAN_ROOT_REGISTER },
	};

	f->words[0] = A(holder);
	f->words[1] = HIGH_TAG(tagged);
	memcpy((char *)holder + 13, &value, sizeof(value));
	holder[4] = A(past) + 704;
	dropped[0] = HIGH_TAG(dropped);
	assert_int_equal(fake_scan_roots(f, roots, 2), 0);
	assert_int_equal(fake_rule(f, tagged), SCAN_RULE_HIGH_TAG);
	assert_int_equal(fake_rule(f, unaligned), SCAN_RULE_UNALIGNED);
	assert_int_equal(fake_rule(f, past), SCAN_RULE_NONE);
	assert_int_equal(fake_rule(f, plain), SCAN_RULE_HIGH_TAG);
	assert_int_equal(fake_rule(f, dropped), SCAN_RULE_NONE);
	for (uint64_t i = 0; i < f->result.block_count; i++)
		assert_int_equal(scan_result_block(&f->result, i)->state, SCAN_LOST);
	assert_int_equal(f->result.block_count, 5);
	assert_int_equal(scan_result_from(&f->result, 0), A(&f->words[1]));
}

FAKE_TEST(a_hint_may_lie_at_any_byte)
{
	struct fake *f = *state;
	uint64_t *holder = fake_block(f, 200, 1, 0), *lost = fake_block(f, 64, 2, 0);
	uint64_t value = A(lost);

	f->words[0] = A(holder);
	for (unsigned at = 0; at + 8 <= 200; at++) {
		memset(holder, 0, 200);
		memcpy((char *)holder + at, &value, sizeof(value));
		assert_int_equal(fake_scan(f), 0);
		assert_int_equal(fake_rule(f, lost),
				 at % 8 ? SCAN_RULE_UNALIGNED : SCAN_RULE_START);
		assert_int_equal(fake_state(f, lost), at % 8 ? SCAN_LOST : SCAN_REACHABLE);
	}
}
