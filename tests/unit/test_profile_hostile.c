/* SPDX-License-Identifier: MIT */
/* Ledgers with tables that lead astray, and files that are damaged or no ledgers. */
#include "base/idtable.h"
#include "profile_case.h"

#include "profile/kind_name.h"
#include "profile/profile_check.h"
#include "profile/total_fields.h"

static char directory[] = "/tmp/seep_test_XXXXXX";
static char path[64];

static int make_directory(void **state)
{
	(void)state;
	if (!mkdtemp(directory))
		return -1;
	(void)snprintf(path, sizeof(path), "%s/ledger", directory);
	return 0;
}

static int remove_directory(void **state)
{
	(void)state;
	(void)unlink(path);
	return rmdir(directory);
}

static int load_file(struct seep_error *err)
{
	seep_profile_free(profile);
	profile = NULL;
	return seep_profile_load_ledger(path, false, &profile, err);
}

SIMPLE_TEST(a_loop_of_nodes_is_cut)
{
	set_row(simple_row, 1, 1, 0, 0);
	ledger.nodes[1].parent_ready = 3 + 1; /* the root's parent is the leaf */
	load();
	assert_int_equal(context_of(simple)->stack_count, 3);
	assert_true(context_of(simple)->in_doubt);
	ledger.nodes[3].parent_ready = 3 + 1; /* its own parent */
	load();
	assert_int_equal(context_of(simple)->stack_count, 1);
}

SIMPLE_TEST(nodes_out_of_bounds_end_the_stack)
{
	static const uint32_t parents[] = { 5, 513, 0x7fffffff, UINT32_MAX };

	set_row(simple_row, 1, 1, 0, 0);
	for (size_t i = 0; i < sizeof(parents) / sizeof(parents[0]); i++) {
		ledger.nodes[2].parent_ready = parents[i];
		load();
		assert_int_equal(context_of(simple)->stack_count, 2);
		assert_true(context_of(simple)->truncated);
	}
	ledger.nodes[2].parent_ready = 0; /* it says nothing yet, not even its address */
	load();
	assert_int_equal(context_of(simple)->stack_count, 1);
	assert_true(context_of(simple)->truncated);
	ledger.contexts[simple].leaf = UINT32_MAX;
	load();
	assert_int_equal(context_of(simple)->stack_count, 0);
	assert_true(context_of(simple)->in_doubt);
}

SIMPLE_TEST(rows_of_no_context_are_kept_without_a_stack)
{
	struct ledger_row *row = built_row_at(&ledger, simple_row);

	set_row(simple_row, 3, 30, 0, 0);
	row->context_ready = 0;
	load();
	assert_int_equal(profile->totals.live_bytes, 30);
	assert_true(profile->contexts[0].no_stack);
	assert_true(profile->contexts[0].in_doubt);
	row->context_ready = UINT32_MAX;
	load();
	assert_int_equal(profile->totals.live_bytes, 30);
}

SIMPLE_TEST(hostile_items_are_replaced)
{
	set_row(simple_row, 3, 30, 0, 0);
	ledger.contexts[simple].kind = 200;
	ledger.contexts[simple].align_log2 = 255;
	ledger.contexts[simple].thread.offset = 5;
	ledger.contexts[simple].thread.bytes = UINT32_MAX;
	ledger.modules[0].build_id_bytes = UINT32_MAX;
	ledger.modules[0].path.offset = UINT32_MAX;
	ledger.nodes[1].module = UINT16_MAX;
	load();
	assert_int_equal(context_of(simple)->kind, 200);
	assert_string_equal(seep_profile_kind_name(200), "unknown kind 200");
	assert_int_equal(context_of(simple)->align_log2, 0);
	assert_null(context_of(simple)->thread);
	assert_int_equal(profile->modules[0].build_id_bytes, 0);
	assert_string_equal(profile->modules[0].path, "");
	assert_int_equal(profile->frames[context_of(simple)->stack[2].frame].module, 0);
}

/* The profile agrees with itself, whatever the ledger says. */
static void load_and_check(void)
{
	struct seep_error err = { 0 };

	load();
	if (seep_profile_check(profile, &err) != 0)
		fail_msg("%s", err.text);
	for (size_t i = 0; i < seep_total_field_count; i++)
		assert_true(seep_total_get(&profile->totals, &seep_total_fields[i]) <= INT64_MAX);
}

SIMPLE_TEST(more_freed_than_allocated_is_lifted_and_in_doubt)
{
	set_row(simple_row, 3, 10, 5, 40);
	load_and_check();
	assert_int_equal(profile->totals.allocs, 5);
	assert_int_equal(profile->totals.alloc_bytes, 40);
	assert_int_equal(profile->totals.live_blocks, 0);
	assert_int_equal(context_of(simple)->live_blocks, 0);
	assert_int_equal(context_of(simple)->live_bytes, 0);
	assert_int_equal(context_of(simple)->peak_bytes, 0);
	assert_true(context_of(simple)->in_doubt);
	assert_null(unseen("ledger-damaged"));
}

/* Or a ledger of a few MB takes minutes. */
PROFILE_TEST(names_chosen_against_the_hash_do_not_share_one)
{
	static const char a[] = "worker-a\xdb\x28\xb4\xa0\xd1\x7e\x03\xe7";
	static const char b[] = "worker-b\xdb\x28\xb4\xa0\xd1\x7e\x03\xe7";

	assert_int_not_equal(seep_hash_text(0, a), seep_hash_text(0, b));
}

/* A death explains that operations are half done, as many as there were threads, and few more. */
SIMPLE_TEST(what_contradicts_itself_was_damaged)
{
	const struct {
		uint64_t allocs, frees, walks;
		uint32_t context_ready, parent_ready;
		const char *says;
	} cases[] = {
		{ 200, 70, 200, 0, 0, NULL },
		{ 3, 70, 3, 0, 0, "more frees than allocations" },
		{ 3, 50, 3, 0, 0, NULL },
		{ 200, 70, 100, 0, 0, "sums that contradict each other" },
		{ 200, 70, 180, 0, 0, NULL },
		{ 200, 70, 200, 77, 0, "call stacks that are not there" },
		{ 200, 70, 200, 0, 400, "call stacks that lead nowhere" },
	};
	uint32_t cache = built_cache(&ledger, 6);

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		set_row(simple_row, cases[i].allocs, cases[i].allocs * 10, cases[i].frees,
			cases[i].frees * 10);
		built_row_at(&ledger, simple_row)->context_ready = cases[i].context_ready
									   ? cases[i].context_ready
									   : simple + 1;
		ledger.nodes[2].parent_ready = cases[i].parent_ready ? cases[i].parent_ready : 2;
		ledger.caches[cache].histogram[5] = cases[i].walks;
		ledger.state->live_bytes = (int64_t)(cases[i].allocs - cases[i].frees) * 10;
		load_and_check();
		if (!cases[i].says)
			assert_null(unseen(SEEP_UNSEEN_DAMAGED));
		else if (!unseen(SEEP_UNSEEN_DAMAGED) ||
			 !strstr(unseen(SEEP_UNSEEN_DAMAGED), cases[i].says))
			fail_msg("case %zu does not say \"%s\"", i, cases[i].says);
	}
}

SIMPLE_TEST(figures_that_no_program_reaches_count_as_nothing)
{
	uint32_t other = built_row(&ledger, simple, 1);
	uint32_t cache = built_cache(&ledger, 8);

	set_row(simple_row, 3, 30, 1, 10);
	set_row(other, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX);
	load_and_check();
	assert_int_equal(profile->totals.allocs, 3);
	assert_int_equal(profile->totals.live_bytes, 20);
	assert_non_null(unseen("ledger-damaged"));
	/* Each may be, their sum may not. */
	set_row(other, INT64_MAX, INT64_MAX, 0, 0);
	load_and_check();
	assert_int_equal(profile->totals.allocs, 3);
	set_row(other, 0, 0, 0, 0);
	load_and_check();
	assert_null(unseen("ledger-damaged"));
	built_row_at(&ledger, simple_row)->temporaries = UINT64_MAX;
	built_row_at(&ledger, simple_row)->at_bytes = INT64_MAX;
	ledger.caches[cache].temporary_bytes = 1000;
	ledger.caches[cache].usable_freed_bytes = 1000;
	ledger.caches[cache].walks_truncated = 1000;
	load_and_check();
	assert_null(unseen("ledger-damaged"));
	ledger.caches[cache].histogram[3] = UINT64_MAX;
	ledger.state->dropped = UINT64_MAX;
	load_and_check();
	assert_int_equal(profile->totals.dropped, 0);
	assert_non_null(unseen("ledger-damaged"));
}

SIMPLE_TEST(a_file_is_read_like_memory)
{
	struct seep_error err = { 0 };

	set_row(simple_row, 3, 30, 0, 0);
	built_save(&ledger, path, ledger.bytes);
	assert_int_equal(load_file(&err), 0);
	assert_int_equal(context_of(simple)->live_bytes, 30);
	assert_int_equal(context_of(simple)->stack_count, 3);
	assert_int_equal(profile->process.ended, SEEP_ENDED_KILLED);
}

PROFILE_TEST(a_sparse_giant_is_read_in_its_real_parts)
{
	static const struct built_sizes giant = {
		.caches = 1 << 16,
		.slots = 1 << 26,
		.rows = 1 << 25,
		.contexts = 1 << 25,
		.nodes = 1 << 28,
		.modules = 65535,
		.strings = 1ull << 32,
		.marks = 1 << 20,
	};
	struct seep_error err = { 0 };
	struct ledger_header header;
	int fd;

	built_done(&ledger);
	built_init(&ledger, &giant);
	add_simple();
	set_row(simple_row, 3, 30, 0, 0);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)ledger.header->file_bytes), 0);
	header = *ledger.header;
	assert_int_equal(pwrite(fd, ledger.map, 3 * 4096, 0), 3 * 4096);
	for (int t = 0; t < LEDGER_TABLE_COUNT; t++)
		assert_int_equal(pwrite(fd, ledger.map + header.table[t].offset, 4096,
					(off_t)header.table[t].offset),
				 4096);
	(void)close(fd);
	assert_int_equal(load_file(&err), 0);
	assert_int_equal(profile->totals.live_bytes, 30);
}

SIMPLE_TEST(of_a_cut_file_what_is_there_is_read)
{
	struct seep_error err = { 0 };
	uint64_t contexts_at = ledger.header->table[LEDGER_TABLE_CONTEXTS].offset;
	uint64_t marks_at = ledger.header->table[LEDGER_TABLE_MARKS].offset;

	set_row(simple_row, 3, 30, 0, 0);
	built_save(&ledger, path, marks_at);
	assert_int_equal(load_file(&err), 0);
	assert_null(unseen("ledger-cut"));
	assert_int_equal(context_of(simple)->live_bytes, 30);
	/* The rows are there, who they are of is not. */
	built_save(&ledger, path, contexts_at);
	assert_int_equal(load_file(&err), 0);
	assert_non_null(unseen("ledger-cut"));
	assert_int_equal(profile->totals.live_bytes, 30);
	assert_true(profile->contexts[0].in_doubt);
	for (uint64_t bytes = LEDGER_FIXED_BYTES; bytes < ledger.bytes; bytes += 509) {
		built_save(&ledger, path, bytes);
		assert_int_equal(load_file(&err), 0);
	}
}

PROFILE_TEST(damaged_files_are_refused_in_words)
{
	struct seep_error err = { 0 };

	assert_int_equal(seep_profile_load_ledger("/nonexistent/x", false, &profile, &err),
			 -SEEP_ENOTFOUND);
	built_save(&ledger, path, 0);
	assert_int_equal(load_file(&err), -SEEP_ETRUNC);
	built_save(&ledger, path, 500);
	assert_int_equal(load_file(&err), -SEEP_ETRUNC);
	ledger.header->version = LEDGER_VERSION + 1;
	built_save(&ledger, path, ledger.bytes);
	assert_int_equal(load_file(&err), -SEEP_EVERSION);
	ledger.header->magic[0] = 'x';
	built_save(&ledger, path, ledger.bytes);
	assert_int_equal(load_file(&err), -SEEP_ECORRUPT);
	assert_non_null(strstr(err.text, "not a ledger"));
	assert_int_equal(seep_profile_load_ledger("/proc", false, &profile, &err),
			 -SEEP_EUNSUPPORTED);
}

int main(void)
{
	return unit_run(make_directory, remove_directory);
}
