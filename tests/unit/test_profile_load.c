/* SPDX-License-Identifier: MIT */
/* Dead ledgers: figures, stacks, unfinished flushes, what cannot be known, hostile files. */
#include "ledger_build.h"
#include "ledger_sim.h"
#include "profile/ledger_load.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/wait.h>

#include <cmocka.h>

static struct built_ledger ledger;
static struct seep_profile *profile;
static char directory[] = "/tmp/seep_test_XXXXXX";
static char path[64];

static int setup(void **state)
{
	(void)state;
	built_init(&ledger, &built_small);
	profile = NULL;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	seep_profile_free(profile);
	built_done(&ledger);
	return 0;
}

static void load(void)
{
	struct seep_error err = { 0 };

	seep_profile_free(profile);
	profile = NULL;
	if (seep_profile_load_ledger_memory(ledger.map, ledger.bytes, false, &profile, &err) != 0)
		fail_msg("%s", err.text);
}

static const struct seep_profile_context *context_of(uint32_t index)
{
	for (uint32_t i = 0; i < profile->context_count; i++)
		if (profile->contexts[i].id == index + 1)
			return &profile->contexts[i];
	fail_msg("context %u is not there", index);
	return NULL;
}

static const char *unseen(const char *code)
{
	for (uint32_t i = 0; i < profile->unseen_count; i++)
		if (strcmp(profile->unseen[i].code, code) == 0)
			return profile->unseen[i].detail;
	return NULL;
}

/* One context of three frames with one row; gives the row's id. */
static uint32_t add_simple(uint32_t *ret_context)
{
	uint16_t module = built_module(&ledger, "/usr/bin/prog", 7);
	uint32_t root = built_node(&ledger, 0, module, 0x1000);
	uint32_t middle = built_node(&ledger, root, module, 0x2000);
	uint32_t leaf = built_node(&ledger, middle, module, 0x3000);

	*ret_context = built_context(&ledger, leaf, LEDGER_KIND_NEW);
	return built_row(&ledger, *ret_context, 0);
}

static void set_row(uint32_t id, uint64_t allocs, uint64_t bytes, uint64_t frees, uint64_t freed)
{
	struct ledger_row *row = built_row_at(&ledger, id);

	row->allocs = allocs;
	row->alloc_bytes = bytes;
	row->frees = frees;
	row->freed_bytes = freed;
}

static struct ledger_slot *set_slot(uint32_t cache, uint32_t i, uint32_t id, uint64_t allocs,
				    uint64_t bytes, uint64_t frees, uint64_t freed)
{
	struct ledger_slot *slot = built_slot(&ledger, cache, i);

	slot->row = id;
	slot->allocs = allocs;
	slot->alloc_bytes = bytes;
	slot->frees = frees;
	slot->freed_bytes = freed;
	return slot;
}

static void the_process_is_described(void **state)
{
	(void)state;
	ledger.state->ended = LEDGER_ENDED_EXIT;
	ledger.state->exit_status = 3;
	ledger.state->exit_status_known = 1;
	ledger.state->ended_ns = 5000;
	load();
	assert_int_equal(profile->process.pid, 4242);
	assert_string_equal(profile->process.exe, "/bin/prog");
	assert_string_equal(profile->process.cwd, "/home");
	assert_string_equal(profile->process.allocator, "glibc");
	assert_string_equal(profile->process.argv[0], "prog");
	assert_string_equal(profile->process.argv[1], "--flag");
	assert_null(profile->process.argv[2]);
	assert_int_equal(profile->process.ended, SEEP_ENDED_EXIT);
	assert_true(profile->process.has_status);
	assert_int_equal(profile->process.status_code, 3);
	assert_int_equal(profile->process.end_ns, 5000);
	assert_int_equal(profile->context_count, 0);
}

static void a_process_gone_without_a_word_was_killed(void **state)
{
	(void)state;
	load();
	assert_int_equal(profile->process.ended, SEEP_ENDED_KILLED);
	ledger.state->ended = LEDGER_ENDED_ABORT;
	load();
	assert_int_equal(profile->process.ended, SEEP_ENDED_SIGNAL);
	assert_int_equal(profile->process.status_signal, SIGABRT);
}

static void withheld_arguments_are_null(void **state)
{
	(void)state;
	ledger.header->argv.bytes = 0;
	load();
	assert_null(profile->process.argv);
}

static void rows_and_all_slots_add_up(void **state)
{
	uint32_t context;
	uint32_t id = add_simple(&context);
	uint32_t first = built_cache(&ledger, 6);
	uint32_t second = built_cache(&ledger, 7);
	const struct seep_profile_context *got;

	(void)state;
	set_row(id, 100, 10000, 40, 4000);
	set_slot(first, 0, id, 5, 500, 0, 0);
	set_slot(first, 63, id, 1, 50, 0, 0);
	/* Freed here, allocated elsewhere: more frees than allocations in one slot. */
	set_slot(second, 127, id, 0, 0, 30, 3000)->temporaries = 2;
	load();
	got = context_of(context);
	assert_int_equal(got->allocs, 106);
	assert_int_equal(got->alloc_bytes, 10550);
	assert_int_equal(got->frees, 70);
	assert_int_equal(got->freed_bytes, 7000);
	assert_int_equal(got->live_blocks, 36);
	assert_int_equal(got->live_bytes, 3550);
	assert_int_equal(got->temporary, 2);
	assert_int_equal(got->kind, LEDGER_KIND_NEW);
	assert_false(got->in_doubt);
	assert_int_equal(profile->totals.allocs, 106);
	assert_int_equal(profile->totals.live_bytes, 3550);
	assert_int_equal(profile->totals.in_doubt, 0);
}

static void rows_of_ancestors_and_unknown_rows_are_left_out(void **state)
{
	uint32_t context;
	uint32_t cache;
	uint32_t id;

	(void)state;
	ledger.header->first_row = 1000;
	id = add_simple(&context);
	assert_int_equal(id, 1002);
	cache = built_cache(&ledger, 6);
	set_slot(cache, 0, id, 5, 500, 0, 0);
	set_slot(cache, 1, 999, 7, 700, 0, 0);
	set_slot(cache, 2, 1003, 7, 700, 0, 0);
	set_slot(cache, 3, UINT32_MAX, 7, 700, 0, 0);
	load();
	assert_int_equal(profile->totals.allocs, 5);
}

static void a_cache_that_is_not_ready_is_left_out(void **state)
{
	uint32_t context;
	uint32_t id = add_simple(&context);
	uint32_t cache = built_cache(&ledger, 6);

	(void)state;
	set_slot(cache, 0, id, 5, 500, 0, 0);
	ledger.caches[cache].ready = 0;
	load();
	assert_int_equal(profile->context_count, 0);
}

static void stacks_run_from_the_leaf_to_the_root(void **state)
{
	uint32_t context;
	uint32_t id = add_simple(&context);
	const struct seep_profile_context *got;

	(void)state;
	set_row(id, 1, 1, 0, 0);
	load();
	got = context_of(context);
	assert_int_equal(got->stack_count, 3);
	assert_int_equal(profile->frames[got->stack[0].frame].address, 0x3000);
	assert_int_equal(profile->frames[got->stack[1].frame].address, 0x2000);
	assert_int_equal(profile->frames[got->stack[2].frame].address, 0x1000);
	assert_int_equal(profile->frames[got->stack[2].frame].module, 1);
	assert_string_equal(profile->modules[0].path, "/usr/bin/prog");
	assert_int_equal(profile->modules[0].build_id_bytes, 20);
}

static void one_frame_stands_once_however_many_stacks_have_it(void **state)
{
	uint16_t module = built_module(&ledger, "/usr/bin/prog", 0);
	uint32_t a = built_node(&ledger, 0, module, 0x1000);
	uint32_t b = built_node(&ledger, a, module, 0x1000);
	uint32_t c = built_node(&ledger, b, module, 0x1000);

	(void)state;
	ledger.nodes[c].flags |= LEDGER_NODE_EXACT;
	ledger.nodes[b].period = 2;
	ledger.nodes[b].repeats = 9;
	set_row(built_row(&ledger, built_context(&ledger, b, 0), 0), 1, 1, 0, 0);
	set_row(built_row(&ledger, built_context(&ledger, c, 0), 0), 1, 1, 0, 0);
	load();
	assert_int_equal(profile->frame_count, 2);
	assert_int_equal(profile->contexts[0].stack_count, 2);
	assert_int_equal(profile->contexts[0].stack[0].period, 2);
	assert_int_equal(profile->contexts[0].stack[0].repeats, 9);
	assert_int_equal(profile->contexts[0].stack[1].period, 0);
	assert_true(profile->frames[profile->contexts[1].stack[0].frame].exact);
	assert_false(profile->frames[profile->contexts[1].stack[1].frame].exact);
}

static void epochs_ascend_and_add_up(void **state)
{
	uint32_t context;
	uint32_t id = add_simple(&context);
	const struct seep_profile_context *got;

	(void)state;
	set_row(built_row(&ledger, context, 7), 3, 300, 1, 100);
	set_row(id, 10, 1000, 4, 400);
	set_row(built_row(&ledger, context, 2), 5, 500, 5, 500);
	set_row(built_row(&ledger, context, 7), 1, 10, 0, 0);
	built_mark(&ledger, "later", 7, 70);
	built_mark(&ledger, "", 2, 20);
	ledger.state->unexact_epoch = 7;
	load();
	got = context_of(context);
	assert_int_equal(got->epoch_count, 2);
	assert_int_equal(got->epochs[0].epoch, 0);
	assert_int_equal(got->epochs[0].blocks, 6);
	assert_int_equal(got->epochs[1].epoch, 7);
	assert_int_equal(got->epochs[1].blocks, 3);
	assert_int_equal(got->epochs[1].bytes, 210);
	assert_int_equal(got->live_bytes, 810);
	assert_int_equal(profile->mark_count, 2);
	assert_null(profile->marks[0].name);
	assert_true(profile->marks[0].exact);
	assert_string_equal(profile->marks[1].name, "later");
	assert_false(profile->marks[1].exact);
}

static void fixed_contexts_appear_only_when_used(void **state)
{
	(void)state;
	set_row(ledger.header->first_row + 1, 2, 20, 0, 0);
	load();
	assert_int_equal(profile->context_count, 1);
	assert_true(profile->contexts[0].other);
	assert_false(profile->contexts[0].no_stack);
	set_row(ledger.header->first_row, 2, 20, 0, 0);
	load();
	assert_int_equal(profile->context_count, 2);
	assert_true(profile->contexts[0].no_stack);
	assert_int_not_equal(profile->contexts[0].hash, profile->contexts[1].hash);
}

static void caches_are_summed(void **state)
{
	uint32_t first = built_cache(&ledger, 6);
	uint32_t second = built_cache(&ledger, 6);

	(void)state;
	ledger.caches[first].usable_alloc_bytes = 100;
	ledger.caches[second].usable_freed_bytes = 30;
	ledger.caches[first].histogram[5] = 7;
	ledger.caches[second].histogram[5] = 4;
	ledger.caches[first].untracked_frees = 1;
	ledger.caches[second].abandoned = 2;
	ledger.caches[second].busy = 0x7fff0000;
	ledger.state->threads_started = 9;
	ledger.state->real_bytes = 4096;
	ledger.state->private_bytes = 100;
	load();
	assert_int_equal(profile->totals.usable_bytes, 70);
	assert_int_equal(profile->totals.histogram[5], 11);
	assert_int_equal(profile->totals.untracked_frees, 1);
	assert_int_equal(profile->totals.abandoned, 2);
	assert_int_equal(profile->totals.in_doubt, 1);
	assert_int_equal(profile->totals.threads, 9);
	assert_int_equal(profile->totals.own_bytes, 4196);
	assert_non_null(unseen("in-doubt"));
}

static void impossible_figures_are_lifted_and_in_doubt(void **state)
{
	uint32_t context;
	uint32_t id = add_simple(&context);

	(void)state;
	set_row(id, 1, 10, 2, 30);
	load();
	assert_int_equal(context_of(context)->live_blocks, 0);
	assert_int_equal(context_of(context)->live_bytes, 0);
	assert_int_equal(context_of(context)->peak_bytes, 0);
	assert_true(context_of(context)->in_doubt);
}

static void every_unseen_bit_has_a_code_and_a_sentence(void **state)
{
	static const char *const codes[] = {
		"ledger-full",	   "rows-full",	   "no-space",	       "other-allocator",
		"double-free-off", "mismatch-off", "unrecorded-child", "caches-full",
		"modules-full",	   "page-map",	   "verify-off",
	};

	(void)state;
	ledger.state->unseen = (LEDGER_UNSEEN_VERIFY_OFF << 1) - 1;
	ledger.state->unexact_epoch = 12;
	load();
	assert_int_equal(profile->unseen_count, sizeof(codes) / sizeof(codes[0]));
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		assert_non_null(unseen(codes[i]));
	assert_non_null(strstr(unseen("rows-full"), "12"));
	assert_true(profile->totals.verify.asked);
}

static void truncated_stacks_are_told_with_share_and_module(void **state)
{
	uint32_t context;
	uint32_t id = add_simple(&context);
	uint16_t jit = built_module(&ledger, "/usr/lib/jit.so", 3);
	uint32_t leaf = built_node(&ledger, 0, jit, 0x10);
	uint32_t other = built_context(&ledger, leaf, 0);

	(void)state;
	set_row(id, 75, 75, 0, 0);
	set_row(built_row(&ledger, other, 0), 25, 25, 0, 0);
	load();
	assert_null(unseen("truncated-stacks"));
	ledger.contexts[other].flags |= LEDGER_CONTEXT_TRUNCATED;
	load();
	assert_true(context_of(other)->truncated);
	assert_non_null(strstr(unseen("truncated-stacks"), "25.00 %"));
	assert_non_null(strstr(unseen("truncated-stacks"), "/usr/lib/jit.so"));
	/* The flag tells neither from the other. */
	assert_non_null(strstr(unseen("truncated-stacks"), "no unwind information"));
	assert_non_null(strstr(unseen("truncated-stacks"), "too deep"));
}

/* ---- unfinished flushes -------------------------------------------------------------------- */

static void operate(void)
{
	struct sim_thread thread = {
		.ledger = &ledger,
		.cache = &ledger.caches[0],
		.slots = built_slot(&ledger, 0, 0),
	};

	/* One slot only: the second row throws the first out. */
	sim_alloc(&thread, ledger.header->first_row + 2, 100);
	sim_alloc(&thread, ledger.header->first_row + 2, 100);
	sim_free(&thread, ledger.header->first_row + 2, 100);
	sim_slot(&thread, ledger.header->first_row + 3);
}

static void a_flush_may_end_at_any_store(void **state)
{
	uint16_t module = built_module(&ledger, "/usr/bin/prog", 0);
	uint32_t leaf = built_node(&ledger, 0, module, 0x1000);
	uint32_t context = built_context(&ledger, leaf, 0);
	uint32_t id = built_row(&ledger, context, 0);
	static unsigned char before[1 << 20];
	uint64_t first = 0;
	int status = 9 << 8;

	(void)state;
	(void)built_row(&ledger, context, 1);
	built_cache(&ledger, 0);
	/* A run of one slot at index 0 would read as none. */
	ledger.state->table[LEDGER_TABLE_SLOTS].reserved = 2;
	ledger.state->table[LEDGER_TABLE_SLOTS].ready = 2;
	ledger.caches[0].slots = 1ull << 8;
	set_row(id, 10, 1000, 3, 300);
	assert_true(ledger.bytes <= sizeof(before));
	memcpy(before, ledger.map, ledger.bytes);
	/* Steps before the flush belong to the operations, which may tear. */
	for (uint64_t step = 1; status == 9 << 8; step++) {
		pid_t pid;

		memcpy(ledger.map, before, ledger.bytes);
		pid = fork();
		if (pid == 0) {
			sim_kill_at = step;
			operate();
			_exit(0);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		load();
		if (ledger.caches[0].busy || built_row_at(&ledger, id)->sequence == 0)
			continue;
		first = first ? first : step;
		assert_int_equal(context_of(context)->allocs, 12);
		assert_int_equal(context_of(context)->alloc_bytes, 1200);
		assert_int_equal(context_of(context)->frees, 4);
		assert_int_equal(context_of(context)->freed_bytes, 400);
		assert_int_equal(context_of(context)->live_bytes, 800);
		assert_false(context_of(context)->in_doubt);
	}
	assert_true(first > 0);
}

/* The flush is over, only the flag still stands; the row has been changed since. */
static void a_redo_record_of_a_finished_flush_is_not_repeated(void **state)
{
	uint32_t context;
	uint32_t id = add_simple(&context);
	uint32_t cache = built_cache(&ledger, 6);
	struct ledger_redo *redo = &ledger.caches[cache].redo;

	(void)state;
	redo->active = 1;
	redo->row = id;
	redo->slot = 0;
	redo->sequence_after = 1ull << LEDGER_SEQ_COUNT_SHIFT;
	redo->values.allocs = 5;
	redo->values.alloc_bytes = 50;
	set_row(id, 9, 90, 0, 0);
	built_row_at(&ledger, id)->sequence = 2ull << LEDGER_SEQ_COUNT_SHIFT;
	load();
	assert_int_equal(context_of(context)->allocs, 9);
}

static void the_flush_of_another_cache_is_not_repeated(void **state)
{
	uint32_t context;
	uint32_t id = add_simple(&context);
	uint32_t cache = built_cache(&ledger, 6);
	uint32_t other = built_cache(&ledger, 6);
	struct ledger_redo *redo = &ledger.caches[cache].redo;

	(void)state;
	redo->active = 1;
	redo->row = id;
	redo->values.allocs = 5;
	set_row(id, 9, 90, 0, 0);
	built_row_at(&ledger, id)->sequence = 2ull << LEDGER_SEQ_COUNT_SHIFT |
					      (uint64_t)other << LEDGER_SEQ_CACHE_SHIFT |
					      LEDGER_SEQ_ODD;
	load();
	assert_int_equal(context_of(context)->allocs, 9);
	assert_false(context_of(context)->in_doubt);
}

static void hostile_redo_records_are_harmless(void **state)
{
	uint32_t context;
	uint32_t id = add_simple(&context);
	uint32_t cache = built_cache(&ledger, 6);
	struct ledger_redo *redo = &ledger.caches[cache].redo;

	(void)state;
	set_row(id, 9, 90, 0, 0);
	redo->active = 1;
	redo->row = UINT32_MAX;
	redo->slot = UINT64_MAX;
	built_row_at(&ledger, id)->sequence = UINT64_MAX;
	load();
	assert_int_equal(context_of(context)->allocs, 9);
	assert_true(context_of(context)->in_doubt);
	redo->row = id;
	built_row_at(&ledger, id)->sequence = (uint64_t)cache << LEDGER_SEQ_CACHE_SHIFT | 1;
	redo->values.allocs = 11;
	redo->values.alloc_bytes = 11;
	load();
	assert_int_equal(context_of(context)->allocs, 11);
}

/* ---- hostile tables ------------------------------------------------------------------------ */

static void a_loop_of_nodes_is_cut(void **state)
{
	uint32_t context;
	uint32_t id = add_simple(&context);

	(void)state;
	set_row(id, 1, 1, 0, 0);
	ledger.nodes[1].parent_ready = 3 + 1; /* the root's parent is the leaf */
	load();
	assert_int_equal(context_of(context)->stack_count, 3);
	assert_true(context_of(context)->in_doubt);
	ledger.nodes[3].parent_ready = 3 + 1; /* its own parent */
	load();
	assert_int_equal(context_of(context)->stack_count, 1);
}

static void nodes_out_of_bounds_end_the_stack(void **state)
{
	static const uint32_t parents[] = { 0, 5, 513, 0x7fffffff, UINT32_MAX };
	uint32_t context;
	uint32_t id = add_simple(&context);

	(void)state;
	set_row(id, 1, 1, 0, 0);
	for (size_t i = 0; i < sizeof(parents) / sizeof(parents[0]); i++) {
		ledger.nodes[2].parent_ready = parents[i];
		load();
		assert_int_equal(context_of(context)->stack_count, 2);
		assert_true(context_of(context)->truncated);
	}
	ledger.contexts[context].leaf = UINT32_MAX;
	load();
	assert_int_equal(context_of(context)->stack_count, 0);
	assert_true(context_of(context)->in_doubt);
}

static void rows_of_no_context_are_kept_without_a_stack(void **state)
{
	uint32_t context;
	uint32_t id = add_simple(&context);
	struct ledger_row *row = built_row_at(&ledger, id);

	(void)state;
	set_row(id, 3, 30, 0, 0);
	row->context_ready = 0;
	load();
	assert_int_equal(profile->totals.live_bytes, 30);
	assert_true(profile->contexts[0].no_stack);
	assert_true(profile->contexts[0].in_doubt);
	row->context_ready = UINT32_MAX;
	load();
	assert_int_equal(profile->totals.live_bytes, 30);
}

static void hostile_items_are_replaced(void **state)
{
	uint32_t context;
	uint32_t id = add_simple(&context);

	(void)state;
	set_row(id, 3, 30, 0, 0);
	ledger.contexts[context].kind = 200;
	ledger.contexts[context].align_log2 = 255;
	ledger.contexts[context].thread.offset = 5;
	ledger.contexts[context].thread.bytes = UINT32_MAX;
	ledger.modules[0].build_id_bytes = UINT32_MAX;
	ledger.modules[0].path.offset = UINT32_MAX;
	ledger.nodes[1].module = UINT16_MAX;
	load();
	assert_int_equal(context_of(context)->kind, LEDGER_KIND_MALLOC);
	assert_int_equal(context_of(context)->align_log2, 0);
	assert_null(context_of(context)->thread);
	assert_int_equal(profile->modules[0].build_id_bytes, 0);
	assert_string_equal(profile->modules[0].path, "");
	assert_int_equal(profile->frames[context_of(context)->stack[2].frame].module, 0);
}

/* ---- files --------------------------------------------------------------------------------- */

static int load_file(struct seep_error *err)
{
	seep_profile_free(profile);
	profile = NULL;
	return seep_profile_load_ledger(path, NULL, &profile, err);
}

static void a_file_is_read_like_memory(void **state)
{
	uint32_t context;
	uint32_t id = add_simple(&context);
	struct seep_error err = { 0 };

	(void)state;
	set_row(id, 3, 30, 0, 0);
	built_save(&ledger, path, ledger.bytes);
	assert_int_equal(load_file(&err), 0);
	assert_int_equal(context_of(context)->live_bytes, 30);
	assert_int_equal(context_of(context)->stack_count, 3);
	assert_int_equal(profile->process.ended, SEEP_ENDED_KILLED);
}

static void a_sparse_giant_is_read_in_its_real_parts(void **state)
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
	uint32_t context;
	uint32_t id;
	int fd;

	(void)state;
	built_done(&ledger);
	built_init(&ledger, &giant);
	id = add_simple(&context);
	set_row(id, 3, 30, 0, 0);
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

static void damaged_files_are_refused_in_words(void **state)
{
	struct seep_error err = { 0 };

	(void)state;
	assert_int_equal(seep_profile_load_ledger("/nonexistent/x", NULL, &profile, &err),
			 -SEEP_ENOTFOUND);
	built_save(&ledger, path, 0);
	assert_int_equal(load_file(&err), -SEEP_ETRUNC);
	built_save(&ledger, path, 500);
	assert_int_equal(load_file(&err), -SEEP_ETRUNC);
	built_save(&ledger, path, 3 * 4096);
	assert_int_equal(load_file(&err), -SEEP_ETRUNC);
	assert_non_null(strstr(err.text, "its header says"));
	ledger.header->version = 2;
	built_save(&ledger, path, ledger.bytes);
	assert_int_equal(load_file(&err), -SEEP_EVERSION);
	ledger.header->magic[0] = 'x';
	built_save(&ledger, path, ledger.bytes);
	assert_int_equal(load_file(&err), -SEEP_ECORRUPT);
	assert_non_null(strstr(err.text, "not a ledger"));
	assert_int_equal(seep_profile_load_ledger("/proc", NULL, &profile, &err), -SEEP_ECORRUPT);
}

static void a_sample_has_totals_only(void **state)
{
	struct seep_profile_sample sample = { .rss_bytes = 5 };
	struct seep_error err = { 0 };
	uint32_t context;
	uint32_t id = add_simple(&context);
	uint32_t cache = built_cache(&ledger, 6);

	(void)state;
	set_row(id, 10, 1000, 2, 200);
	set_slot(cache, 0, id, 5, 500, 1, 100);
	ledger.caches[cache].sum = 700;
	ledger.state->live_bytes = 500;
	assert_int_equal(seep_profile_sample_ledger(ledger.map, ledger.bytes, &sample, &err), 0);
	assert_int_equal(sample.allocs, 15);
	assert_int_equal(sample.frees, 3);
	assert_int_equal(sample.live_bytes, 1200);
	assert_int_equal(sample.rss_bytes, 5);
	assert_true(sample.at_ns > 0);
}

/* ---- alive? -------------------------------------------------------------------------------- */

static uint64_t own_start_ticks(pid_t pid)
{
	char name[64];
	char text[1024];
	char *field;
	FILE *file;
	size_t got;

	(void)snprintf(name, sizeof(name), "/proc/%d/stat", (int)pid);
	file = fopen(name, "r");
	assert_non_null(file);
	got = fread(text, 1, sizeof(text) - 1, file);
	(void)fclose(file);
	text[got] = '\0';
	field = strrchr(text, ')') + 2;
	for (int i = 3; i < 22; i++)
		field = strchr(field, ' ') + 1;
	return strtoull(field, NULL, 10);
}

static void a_process_is_alive_by_pid_start_and_state(void **state)
{
	struct ledger_header header = { 0 };
	uint32_t found = 0;
	pid_t pid = fork();
	siginfo_t info;

	(void)state;
	if (pid == 0) {
		(void)pause();
		_exit(0);
	}
	header.pid = (uint32_t)pid;
	header.start_ticks = own_start_ticks(pid);
	assert_true(seep_profile_is_process_alive(&header, &found));
	assert_int_equal(found, pid);
	header.start_ticks++;
	assert_false(seep_profile_is_process_alive(&header, NULL));
	header.start_ticks--;
	header.boot_id[3] = 1;
	assert_false(seep_profile_is_process_alive(&header, NULL));
	header.boot_id[3] = 0;
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_false(seep_profile_is_process_alive(&header, NULL)); /* a zombie */
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_false(seep_profile_is_process_alive(&header, NULL));
}

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

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_process_is_described),
		TEST(a_process_gone_without_a_word_was_killed),
		TEST(withheld_arguments_are_null),
		TEST(rows_and_all_slots_add_up),
		TEST(rows_of_ancestors_and_unknown_rows_are_left_out),
		TEST(a_cache_that_is_not_ready_is_left_out),
		TEST(stacks_run_from_the_leaf_to_the_root),
		TEST(one_frame_stands_once_however_many_stacks_have_it),
		TEST(epochs_ascend_and_add_up),
		TEST(fixed_contexts_appear_only_when_used),
		TEST(caches_are_summed),
		TEST(impossible_figures_are_lifted_and_in_doubt),
		TEST(every_unseen_bit_has_a_code_and_a_sentence),
		TEST(truncated_stacks_are_told_with_share_and_module),
		TEST(a_flush_may_end_at_any_store),
		TEST(a_redo_record_of_a_finished_flush_is_not_repeated),
		TEST(the_flush_of_another_cache_is_not_repeated),
		TEST(hostile_redo_records_are_harmless),
		TEST(a_loop_of_nodes_is_cut),
		TEST(nodes_out_of_bounds_end_the_stack),
		TEST(rows_of_no_context_are_kept_without_a_stack),
		TEST(hostile_items_are_replaced),
		TEST(a_file_is_read_like_memory),
		TEST(a_sparse_giant_is_read_in_its_real_parts),
		TEST(damaged_files_are_refused_in_words),
		TEST(a_sample_has_totals_only),
		TEST(a_process_is_alive_by_pid_start_and_state),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
