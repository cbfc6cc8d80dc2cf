/* SPDX-License-Identifier: MIT */
/* Bounds of the ledger's accessors: what a hostile header, count or word may not reach. */
#include "ledger/ledger_view.h"
#include "ledger_build.h"
#include "unit.h"

static struct built_ledger ledger;

static int setup(void **state)
{
	(void)state;
	built_init(&ledger, &built_small);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	built_done(&ledger);
	return 0;
}

static enum ledger_view_status view_it(void)
{
	struct ledger_view view;

	return ledger_view_init(&view, ledger.map, ledger.header->file_bytes);
}

TEST_WITH(setup, a_built_ledger_is_accepted, teardown)
{
	assert_int_equal(view_it(), LEDGER_VIEW_OK);
}

TEST_WITH(setup, short_files_are_refused, teardown)
{
	struct ledger_view view;

	for (uint64_t bytes = 0; bytes < 3 * 4096; bytes += 509)
		assert_int_equal(ledger_view_init(&view, ledger.map, bytes), LEDGER_VIEW_SHORT);
}

TEST_WITH(setup, of_a_cut_file_what_is_there_is_reached, teardown)
{
	const struct ledger_table *rows = &ledger.header->table[LEDGER_TABLE_ROWS];
	uint64_t marks_at = ledger.header->table[LEDGER_TABLE_MARKS].offset;
	struct ledger_view view;

	(void)built_row(&ledger, 0, 0);
	(void)built_row(&ledger, 0, 1);
	/* Without the marks, of which there are none, nothing is lost. */
	assert_int_equal(ledger_view_init(&view, ledger.map, marks_at), LEDGER_VIEW_TRUNCATED);
	assert_int_equal(view.lost, 0);
	assert_null(ledger_view_mark(&view, 0));
	assert_int_equal(
		ledger_view_init(&view, ledger.map, rows->offset + 2 * rows->item_bytes - 1),
		LEDGER_VIEW_TRUNCATED);
	assert_non_null(ledger_view_row(&view, 0));
	assert_null(ledger_view_row(&view, 1));
	assert_true(view.lost > 0);
	ledger_view_refresh(&view);
	assert_null(ledger_view_row(&view, 1));
}

TEST_WITH(setup, other_files_and_versions_are_refused, teardown)
{
	ledger.header->version = LEDGER_VERSION + 1;
	assert_int_equal(view_it(), LEDGER_VIEW_NEWER);
	ledger.header->magic[6] = 'X';
	assert_int_equal(view_it(), LEDGER_VIEW_FOREIGN);
}

TEST_WITH(setup, sizes_of_the_header_must_fit_the_version, teardown)
{
	ledger.header->header_bytes++;
	assert_int_equal(view_it(), LEDGER_VIEW_HEADER);
}

TEST_WITH(setup, tables_outside_the_file_are_refused, teardown)
{
	struct ledger_table *table = &ledger.header->table[LEDGER_TABLE_ROWS];
	static const struct {
		uint32_t item_bytes;
		uint64_t offset;
		uint64_t capacity;
	} cases[] = {
		{ 0, 1 << 20, 1 },
		{ sizeof(struct ledger_row) + 1, 1 << 20, 1 },
		{ sizeof(struct ledger_row), 4096, 1 },	    /* over the control page */
		{ sizeof(struct ledger_row), 3 * 4096, 1 }, /* over the caches */
		{ sizeof(struct ledger_row), 12345, 1 },    /* not at a page */
		{ sizeof(struct ledger_row), UINT64_MAX - 4095, 1 },
		{ sizeof(struct ledger_row), 1 << 20, UINT64_MAX },
		{ sizeof(struct ledger_row), 1 << 20, UINT64_MAX / sizeof(struct ledger_row) },
		{ sizeof(struct ledger_row), 1ull << 62, 1 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		table->item_bytes = cases[i].item_bytes;
		table->offset = cases[i].offset;
		table->capacity = cases[i].capacity;
		assert_int_equal(view_it(), LEDGER_VIEW_TABLE);
	}
}

TEST_WITH(setup, counts_end_at_the_smallest_bound, teardown)
{
	struct ledger_table_state *rows = &ledger.state->table[LEDGER_TABLE_ROWS];
	struct ledger_view view;

	assert_int_equal(ledger_view_init(&view, ledger.map, ledger.bytes), LEDGER_VIEW_OK);
	assert_int_equal(view.count[LEDGER_TABLE_ROWS], 2);
	rows->reserved = 10;
	rows->ready = 7;
	ledger_view_refresh(&view);
	assert_int_equal(view.count[LEDGER_TABLE_ROWS], 7);
	rows->ready = UINT64_MAX;
	rows->reserved = UINT64_MAX;
	ledger_view_refresh(&view);
	assert_int_equal(view.count[LEDGER_TABLE_ROWS], built_small.rows);
	assert_non_null(ledger_view_row(&view, built_small.rows - 1));
	assert_null(ledger_view_row(&view, built_small.rows));
	assert_null(ledger_view_row(&view, UINT64_MAX));
}

TEST_WITH(setup, a_changed_header_does_not_move_the_bounds, teardown)
{
	struct ledger_view view;

	assert_int_equal(ledger_view_init(&view, ledger.map, ledger.bytes), LEDGER_VIEW_OK);
	ledger.header->table[LEDGER_TABLE_ROWS].offset = 1ull << 40;
	ledger.header->table[LEDGER_TABLE_ROWS].capacity = 1ull << 40;
	ledger.state->table[LEDGER_TABLE_ROWS].reserved = UINT64_MAX;
	ledger.state->table[LEDGER_TABLE_ROWS].ready = UINT64_MAX;
	ledger_view_refresh(&view);
	assert_int_equal(view.count[LEDGER_TABLE_ROWS], built_small.rows);
	assert_ptr_equal(ledger_view_row(&view, 0), ledger.rows);
}

TEST_WITH(setup, strings_outside_the_table_are_null, teardown)
{
	struct ledger_string string = built_string(&ledger, "abc", 3);
	uint64_t end = ledger.state->table[LEDGER_TABLE_STRINGS].ready;
	struct ledger_view view;

	assert_int_equal(ledger_view_init(&view, ledger.map, ledger.bytes), LEDGER_VIEW_OK);
	assert_memory_equal(ledger_view_string(&view, string), "abc", 3);
	string.bytes = 4;
	assert_null(ledger_view_string(&view, string));
	string.bytes = UINT32_MAX;
	assert_null(ledger_view_string(&view, string));
	string.offset = (uint32_t)end;
	string.bytes = 1;
	assert_null(ledger_view_string(&view, string));
	string.offset = UINT32_MAX;
	assert_null(ledger_view_string(&view, string));
	string.offset = 0;
	string.bytes = 0;
	assert_null(ledger_view_string(&view, string));
}

TEST_WITH(setup, runs_of_slots_outside_the_table_are_empty, teardown)
{
	uint32_t cache = built_cache(&ledger, 6);
	struct ledger_view view;
	uint64_t first = 99;

	assert_int_equal(ledger_view_init(&view, ledger.map, ledger.bytes), LEDGER_VIEW_OK);
	assert_int_equal(ledger_view_cache_slots(&view, &ledger.caches[cache], &first), 64);
	assert_int_equal(first, 0);
	ledger.caches[cache].slots = 1ull << 8 | 6; /* one past the end */
	assert_int_equal(ledger_view_cache_slots(&view, &ledger.caches[cache], &first), 0);
	ledger.caches[cache].slots = 0xff;
	assert_int_equal(ledger_view_cache_slots(&view, &ledger.caches[cache], &first), 0);
	ledger.caches[cache].slots = UINT64_MAX;
	assert_int_equal(ledger_view_cache_slots(&view, &ledger.caches[cache], &first), 0);
	ledger.caches[cache].slots = 0;
	assert_int_equal(ledger_view_cache_slots(&view, &ledger.caches[cache], &first), 0);
}
