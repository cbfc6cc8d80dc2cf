/* SPDX-License-Identifier: MIT */
/* Bounds of the ledger's accessors: what a hostile header, count or word may not reach. */
#include "ledger/ledger_view.h"
#include "ledger_build.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

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

static void a_built_ledger_is_accepted(void **state)
{
	(void)state;
	assert_int_equal(view_it(), LEDGER_VIEW_OK);
}

static void short_files_are_refused(void **state)
{
	struct ledger_view view;

	(void)state;
	for (uint64_t bytes = 0; bytes < 3 * 4096; bytes += 509)
		assert_int_equal(ledger_view_init(&view, ledger.map, bytes), LEDGER_VIEW_SHORT);
}

static void of_a_cut_file_what_is_there_is_reached(void **state)
{
	const struct ledger_table *rows = &ledger.header->table[LEDGER_TABLE_ROWS];
	uint64_t marks_at = ledger.header->table[LEDGER_TABLE_MARKS].offset;
	struct ledger_view view;

	(void)state;
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

static void other_files_and_versions_are_refused(void **state)
{
	(void)state;
	ledger.header->version = LEDGER_VERSION + 1;
	assert_int_equal(view_it(), LEDGER_VIEW_NEWER);
	ledger.header->magic[6] = 'X';
	assert_int_equal(view_it(), LEDGER_VIEW_FOREIGN);
}

static void sizes_of_the_header_must_fit_the_version(void **state)
{
	(void)state;
	ledger.header->header_bytes++;
	assert_int_equal(view_it(), LEDGER_VIEW_HEADER);
}

static void tables_outside_the_file_are_refused(void **state)
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

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		table->item_bytes = cases[i].item_bytes;
		table->offset = cases[i].offset;
		table->capacity = cases[i].capacity;
		assert_int_equal(view_it(), LEDGER_VIEW_TABLE);
	}
}

static void counts_end_at_the_smallest_bound(void **state)
{
	struct ledger_table_state *rows = &ledger.state->table[LEDGER_TABLE_ROWS];
	struct ledger_view view;

	(void)state;
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

static void a_changed_header_does_not_move_the_bounds(void **state)
{
	struct ledger_view view;

	(void)state;
	assert_int_equal(ledger_view_init(&view, ledger.map, ledger.bytes), LEDGER_VIEW_OK);
	ledger.header->table[LEDGER_TABLE_ROWS].offset = 1ull << 40;
	ledger.header->table[LEDGER_TABLE_ROWS].capacity = 1ull << 40;
	ledger.state->table[LEDGER_TABLE_ROWS].reserved = UINT64_MAX;
	ledger.state->table[LEDGER_TABLE_ROWS].ready = UINT64_MAX;
	ledger_view_refresh(&view);
	assert_int_equal(view.count[LEDGER_TABLE_ROWS], built_small.rows);
	assert_ptr_equal(ledger_view_row(&view, 0), ledger.rows);
}

static void strings_outside_the_table_are_null(void **state)
{
	struct ledger_string string = built_string(&ledger, "abc", 3);
	uint64_t end = ledger.state->table[LEDGER_TABLE_STRINGS].ready;
	struct ledger_view view;

	(void)state;
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

static void runs_of_slots_outside_the_table_are_empty(void **state)
{
	uint32_t cache = built_cache(&ledger, 6);
	struct ledger_view view;
	uint64_t first = 99;

	(void)state;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_built_ledger_is_accepted, setup, teardown),
		cmocka_unit_test_setup_teardown(short_files_are_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(of_a_cut_file_what_is_there_is_reached, setup,
						teardown),
		cmocka_unit_test_setup_teardown(other_files_and_versions_are_refused, setup,
						teardown),
		cmocka_unit_test_setup_teardown(sizes_of_the_header_must_fit_the_version, setup,
						teardown),
		cmocka_unit_test_setup_teardown(tables_outside_the_file_are_refused, setup,
						teardown),
		cmocka_unit_test_setup_teardown(counts_end_at_the_smallest_bound, setup, teardown),
		cmocka_unit_test_setup_teardown(a_changed_header_does_not_move_the_bounds, setup,
						teardown),
		cmocka_unit_test_setup_teardown(strings_outside_the_table_are_null, setup,
						teardown),
		cmocka_unit_test_setup_teardown(runs_of_slots_outside_the_table_are_empty, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
