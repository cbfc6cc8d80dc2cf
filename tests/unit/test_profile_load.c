/* SPDX-License-Identifier: MIT */
/* Dead ledgers: the process, figures, stacks, and what cannot be known. */
#include "base/clock.h"
#include "base/procfs.h"
#include "profile_case.h"

#include "profile/context_hash.h"

#include <signal.h>

PROFILE_TEST(the_process_is_described)
{
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

PROFILE_TEST(a_process_gone_without_a_word_was_killed)
{
	load();
	assert_int_equal(profile->process.ended, SEEP_ENDED_KILLED);
	ledger.state->ended = LEDGER_ENDED_ABORT;
	load();
	assert_int_equal(profile->process.ended, SEEP_ENDED_SIGNAL);
	assert_int_equal(profile->process.status_signal, SIGABRT);
}

PROFILE_TEST(of_a_process_that_was_attached_to_it_says_what_is_missing)
{
	const uint64_t ran_ns = seep_clock_ns(CLOCK_BOOTTIME);

	ledger.header->origin = LEDGER_ORIGIN_ATTACH;
	ledger.control->filtered_once = LEDGER_FILTERED_ALL;
	ledger.state->ended = LEDGER_ENDED_DETACH;
	ledger.state->ended_ns = 5000;
	ledger.caches[built_cache(&ledger, 6)].untracked_frees = 12;
	load();
	assert_int_equal(profile->process.origin, SEEP_ORIGIN_ATTACH);
	assert_int_equal(profile->process.ended, SEEP_ENDED_DETACHED);
	assert_int_equal(profile->process.end_ns, 5000);
	assert_int_equal(profile->process.ran_before_ns, 0);
	assert_null(unseen("mode-changed"));
	assert_non_null(strstr(unseen("attached"), "it had run before"));
	assert_non_null(strstr(unseen("attached"), "12 frees"));
	/* One tick after the machine had started. */
	seep_procfs_boot_id(ledger.header->boot_id);
	ledger.header->start_ticks = 1;
	ledger.header->created_realtime_ns = seep_clock_ns(CLOCK_REALTIME);
	load();
	assert_true(profile->process.ran_before_ns > ran_ns - SEEP_NS_PER_S);
	assert_true(profile->process.ran_before_ns < ran_ns + 60 * SEEP_NS_PER_S);
	ledger.header->boot_id[0] ^= 1;
	load();
	assert_int_equal(profile->process.ran_before_ns, 0);
}

PROFILE_TEST(withheld_arguments_are_null)
{
	ledger.header->argv.bytes = 0;
	load();
	assert_null(profile->process.argv);
}

SIMPLE_TEST(rows_and_all_slots_add_up)
{
	uint32_t first = built_cache(&ledger, 6);
	uint32_t second = built_cache(&ledger, 7);
	const struct seep_profile_context *got;

	set_row(simple_row, 100, 10000, 40, 4000);
	set_slot(first, 0, simple_row, 5, 500, 0, 0);
	set_slot(first, 63, simple_row, 1, 50, 0, 0);
	/* Freed here, allocated elsewhere: more frees than allocations in one slot. */
	set_slot(second, 127, simple_row, 0, 0, 30, 3000)->temporaries = 2;
	ledger.caches[first].histogram[5] = 106;
	ledger.state->live_bytes = 3550;
	load();
	got = context_of(simple);
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

PROFILE_TEST(rows_of_ancestors_and_unknown_rows_are_left_out)
{
	uint32_t cache;

	ledger.header->first_row = 1000;
	add_simple();
	assert_int_equal(simple_row, 1002);
	cache = built_cache(&ledger, 6);
	set_slot(cache, 0, simple_row, 5, 500, 0, 0);
	set_slot(cache, 1, 999, 7, 700, 0, 0);
	set_slot(cache, 2, 1003, 7, 700, 0, 0);
	set_slot(cache, 3, UINT32_MAX, 7, 700, 0, 0);
	load();
	assert_int_equal(profile->totals.allocs, 5);
}

SIMPLE_TEST(a_cache_that_is_not_ready_is_left_out)
{
	uint32_t cache = built_cache(&ledger, 6);

	set_slot(cache, 0, simple_row, 5, 500, 0, 0);
	ledger.caches[cache].ready = 0;
	load();
	assert_int_equal(profile->context_count, 0);
}

SIMPLE_TEST(stacks_run_from_the_leaf_to_the_root)
{
	const struct seep_profile_context *got;

	set_row(simple_row, 1, 1, 0, 0);
	load();
	got = context_of(simple);
	assert_int_equal(got->stack_count, 3);
	assert_int_equal(profile->frames[got->stack[0].frame].address, 0x3000);
	assert_int_equal(profile->frames[got->stack[1].frame].address, 0x2000);
	assert_int_equal(profile->frames[got->stack[2].frame].address, 0x1000);
	assert_int_equal(profile->frames[got->stack[2].frame].module, 1);
	assert_string_equal(profile->modules[0].path, "/usr/bin/prog");
	assert_int_equal(profile->modules[0].build_id_bytes, 20);
}

PROFILE_TEST(one_frame_stands_once_however_many_stacks_have_it)
{
	uint16_t module = built_module(&ledger, "/usr/bin/prog", 0);
	uint32_t a = built_node(&ledger, 0, module, 0x1000);
	uint32_t b = built_node(&ledger, a, module, 0x1000);
	uint32_t c = built_node(&ledger, b, module, 0x1000);

	ledger.nodes[c].flags |= LEDGER_NODE_EXACT;
	ledger.nodes[b].period = 2;
	ledger.nodes[b].folded = 18;
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

PROFILE_TEST(a_stack_repeats_no_more_than_its_leaf_says)
{
	static const uint16_t folded[] = { 6, 9, 4, 4 };
	static const uint16_t wanted[] = { 0, 0, 0, 2 };
	uint16_t module = built_module(&ledger, "/usr/bin/prog", 0);
	uint32_t nodes[4] = { 0 };

	for (uint32_t i = 0; i < 4; i++) {
		nodes[i] = built_node(&ledger, i ? nodes[i - 1] : 0, module, 0x1000 * (i + 1));
		ledger.nodes[nodes[i]].period = i == 0 ? 2 : i == 3 ? 0 : 1;
		ledger.nodes[nodes[i]].folded = folded[i];
	}
	set_row(built_row(&ledger, built_context(&ledger, nodes[3], 0), 0), 1, 1, 0, 0);
	set_row(built_row(&ledger, built_context(&ledger, nodes[1], 0), 0), 1, 1, 0, 0);
	load();
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(profile->contexts[0].stack[i].repeats, wanted[i]);
	assert_int_equal(profile->contexts[1].stack[0].repeats, 3);
	assert_int_equal(profile->contexts[1].stack[1].repeats, 3);
}

/* Each thread that met it at the same time has added all of it; one of them folded more. */
PROFILE_TEST(what_was_added_twice_is_there_once)
{
	static const uint8_t kinds[] = { LEDGER_KIND_NEW, LEDGER_KIND_NEW, LEDGER_KIND_MALLOC };
	uint32_t contexts[3] = { 0 };
	const struct seep_profile_context *got;

	for (uint32_t i = 0; i < 3; i++) {
		uint16_t module = built_module(&ledger, "/usr/bin/prog", 7);
		uint32_t root = built_node(&ledger, 0, module, 0x1000);
		uint32_t leaf = built_node(&ledger, root, module, 0x2000);

		ledger.modules[i] = ledger.modules[0];
		ledger.nodes[leaf].period = 1;
		ledger.nodes[leaf].folded = (uint16_t)(2 + i);
		contexts[i] = built_context(&ledger, leaf, kinds[i]);
		ledger.contexts[contexts[i]].thread = built_string(&ledger, "worker", 6);
		ledger.contexts[contexts[i]].first_ns = 100 - i;
		for (uint32_t epoch = 0; epoch < 2; epoch++) {
			set_row(built_row(&ledger, contexts[i], epoch), 5, 50, 2, 20);
			set_row(built_row(&ledger, contexts[i], epoch), 1, 10, 0, 0);
		}
	}
	load();
	assert_int_equal(profile->module_count, 1);
	assert_int_equal(profile->frame_count, 2);
	assert_int_equal(profile->context_count, 2);
	got = context_of(contexts[0]);
	assert_int_equal(got->allocs, 24);
	assert_int_equal(got->live_bytes, 160);
	assert_int_equal(got->first_ns, 99);
	assert_int_equal(got->stack[0].repeats, 4);
	assert_int_equal(got->epoch_count, 2);
	assert_int_equal(got->epochs[1].blocks, 8);
	assert_ptr_equal(context_of(contexts[2]), got + 1);
	for (uint32_t row = 2; row < 10; row++)
		assert_int_equal(profile->rows[row].context, 1);
	assert_int_equal(seep_profile_context_of(profile, contexts[1] + 1), 1);
}

PROFILE_TEST(what_differs_in_anything_is_not_one)
{
	uint16_t modules[2] = { built_module(&ledger, "/lib/a.so", 7),
				built_module(&ledger, "/lib/a.so", 7) };
	uint32_t leaf = built_node(&ledger, 0, modules[0], 0x1000);
	uint32_t exact = built_node(&ledger, 0, modules[0], 0x1000);
	uint32_t folded = built_node(&ledger, 0, modules[0], 0x1000);
	uint32_t elsewhere = built_node(&ledger, 0, modules[1], 0x1000);
	uint32_t inside = built_node(&ledger, leaf, modules[0], 0x1000);
	const uint32_t leaves[] = { 0, leaf, exact, folded, elsewhere, inside, leaf, leaf, leaf };
	struct ledger_context *last;

	ledger.nodes[exact].flags |= LEDGER_NODE_EXACT;
	ledger.nodes[folded].period = 1;
	for (size_t i = 0; i < sizeof(leaves) / sizeof(leaves[0]); i++) {
		uint32_t context = built_context(&ledger, leaves[i], LEDGER_KIND_MEMALIGN);

		last = &ledger.contexts[context];
		set_row(built_row(&ledger, context, 0), 1, 10, 0, 0);
	}
	last[0].thread = built_string(&ledger, "a", 1);
	last[-1].flags |= LEDGER_CONTEXT_CUT;
	last[-2].align_log2 = 7;
	load();
	assert_int_equal(profile->module_count, 2);
	assert_int_equal(profile->context_count, sizeof(leaves) / sizeof(leaves[0]));
}

SIMPLE_TEST(epochs_ascend_and_add_up)
{
	const struct seep_profile_context *got;

	set_row(built_row(&ledger, simple, 7), 3, 300, 1, 100);
	set_row(simple_row, 10, 1000, 4, 400);
	set_row(built_row(&ledger, simple, 2), 5, 500, 5, 500);
	set_row(built_row(&ledger, simple, 7), 1, 10, 0, 0);
	built_mark(&ledger, "later", 7, 70);
	built_mark(&ledger, "", 2, 20);
	ledger.state->unexact_epoch = 7;
	load();
	got = context_of(simple);
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

PROFILE_TEST(fixed_contexts_appear_only_when_used)
{
	set_row(ledger.header->first_row + 1, 2, 20, 0, 0);
	load();
	assert_int_equal(profile->context_count, 1);
	assert_true(profile->contexts[0].other);
	assert_false(profile->contexts[0].no_stack);
	set_row(ledger.header->first_row, 2, 20, 0, 0);
	load();
	assert_int_equal(profile->context_count, 2);
	assert_true(profile->contexts[0].no_stack);
	seep_profile_hash_contexts(profile);
	assert_int_not_equal(profile->contexts[0].hash, profile->contexts[1].hash);
}

PROFILE_TEST(caches_are_summed)
{
	uint32_t first = built_cache(&ledger, 6);
	uint32_t second = built_cache(&ledger, 6);

	ledger.caches[first].usable_alloc_bytes = 100;
	ledger.caches[second].usable_freed_bytes = 30;
	ledger.caches[first].histogram[5] = 7;
	ledger.caches[second].histogram[5] = 4;
	ledger.caches[first].untracked_frees = 1;
	ledger.caches[second].abandoned = 2;
	ledger.state->threads_started = 9;
	ledger.state->real_bytes = 4096;
	ledger.state->private_bytes = 100;
	load();
	assert_int_equal(profile->totals.usable_bytes, 70);
	assert_int_equal(profile->totals.histogram[5], 11);
	assert_int_equal(profile->totals.untracked_frees, 1);
	assert_int_equal(profile->totals.abandoned, 2);
	assert_int_equal(profile->totals.threads, 9);
	assert_int_equal(profile->totals.own_bytes, 4196);
}

SIMPLE_TEST(what_was_counted_without_a_slot_belongs_to_its_row)
{
	uint32_t cache = built_cache(&ledger, 6);

	set_row(simple_row, 10, 1000, 3, 300);
	set_row(ledger.header->first_row, 3, 300, 0, 0);
	ledger.state->live_bytes = 700;
	ledger.state->peak_bytes = 900;
	ledger.control->peak_turn = 7;
	ledger.caches[cache].usable_alloc_bytes = 2000;
	load();
	assert_true(profile->totals.peak_error_bytes == 300 && !profile->totals.peak_exact);
	built_row_at(&ledger, simple_row)->direct_frees = 2;
	built_row_at(&ledger, simple_row)->direct_freed_bytes = 200;
	built_row_at(&ledger, ledger.header->first_row)->direct_frees = 1;
	built_row_at(&ledger, ledger.header->first_row)->direct_freed_bytes = 100;
	ledger.state->direct_usable_bytes = 240;
	load();
	assert_int_equal(context_of(simple)->frees, 5);
	assert_int_equal(context_of(simple)->freed_bytes, 500);
	assert_int_equal(context_of(simple)->live_bytes, 500);
	assert_int_equal(context_of(simple)->peak_bytes, 500);
	assert_int_equal(profile->totals.frees, 6);
	assert_int_equal(profile->totals.live_bytes, 700);
	assert_int_equal(profile->totals.peak_error_bytes, 300 + 200 + 100);
	assert_false(profile->totals.peak_exact);
	assert_int_equal(profile->totals.usable_bytes, 1760);
}

SIMPLE_TEST(the_peak_of_a_heap_that_only_grew_is_as_inexact_as_any)
{
	set_row(simple_row, 1, 1 << 20, 0, 0);
	ledger.state->live_bytes = 1 << 20;
	ledger.control->caches = 8;
	load();
	assert_int_equal(profile->totals.peak_bytes, 1 << 20);
	assert_int_equal(profile->totals.peak_error_bytes, 17 * 1024);
}

/* The histograms have every allocation, and the live total every operation, a second time. */
SIMPLE_TEST(operations_left_half_done_are_in_doubt)
{
	static const struct {
		uint64_t histogram;
		int64_t live_bytes;
		uint64_t in_doubt;
	} cases[] = {
		{ 10, 700, 0 },
		{ 9, 700, 1 },
		{ 13, 700, 3 },
		{ 10, 800, 1 }, /* a free that is in the live total not yet */
	};
	uint32_t cache = built_cache(&ledger, 6);

	set_row(simple_row, 10, 1000, 4, 400);
	set_row(ledger.header->first_row, 1, 100, 0, 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		ledger.caches[cache].histogram[5] = cases[i].histogram;
		ledger.state->live_bytes = cases[i].live_bytes;
		load();
		assert_int_equal(profile->totals.in_doubt, cases[i].in_doubt);
		assert_int_equal(unseen("in-doubt") != NULL, cases[i].in_doubt != 0);
	}
}

SIMPLE_TEST(the_time_of_a_peak_that_is_the_last_state_is_the_end)
{
	static const struct {
		uint64_t frees, ended_ns, at_ns;
	} cases[] = {
		{ 0, 9000, 9000 }, /* 1,000 bytes live, above the 600 captured */
		{ 0, 0, 0 },	   /* killed: nobody knows when */
		{ 5, 9000, 7000 }, /* 500 live: the captured peak, and its time */
	};

	ledger.state->peak_bytes = 600;
	ledger.state->peak_at_ns = 7000;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		set_row(simple_row, 10, 1000, cases[i].frees, 100 * cases[i].frees);
		ledger.state->live_bytes = (int64_t)(1000 - 100 * cases[i].frees);
		ledger.state->ended_ns = cases[i].ended_ns;
		load();
		assert_int_equal(profile->totals.peak_at_ns, cases[i].at_ns);
	}
}

SIMPLE_TEST(a_running_programs_peak_may_be_now)
{
	struct seep_error err = { 0 };
	uint64_t before;

	set_row(simple_row, 10, 1000, 0, 0);
	ledger.state->live_bytes = 1000;
	ledger.state->peak_bytes = 600;
	ledger.state->peak_at_ns = 1;
	before = seep_monotonic_ns();
	load();
	seep_profile_free(profile);
	assert_int_equal(
		seep_profile_load_ledger_memory(ledger.map, ledger.bytes, true, &profile, &err), 0);
	assert_in_range(profile->totals.peak_at_ns, before, seep_monotonic_ns());
}

PROFILE_TEST(every_unseen_bit_has_a_code_and_a_sentence)
{
	static const char *const codes[] = {
		"ledger-full",	 "rows-full",	   "no-space",	     "other-allocator",
		"caches-full",	 "modules-full",   "page-map",	     "by-frame-pointer",
		"thread-names",	 "unaligned",	   "ledger-refused", "no-memory",
		"arguments-cut", "findings-full",  "mismatches-off", "guards-ended",
		"guards-unread", "samples-missed",
	};

	ledger.state->unseen = (LEDGER_UNSEEN_SAMPLES << 1) - 1;
	ledger.state->unexact_epoch = 12;
	load();
	assert_int_equal(profile->unseen_count, sizeof(codes) / sizeof(codes[0]));
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		assert_non_null(unseen(codes[i]));
	assert_non_null(strstr(unseen("rows-full"), "12"));
}

SIMPLE_TEST(a_full_table_is_named)
{
	set_row(simple_row, 75, 75, 0, 0);
	ledger.state->unseen = LEDGER_UNSEEN_FULL;
	ledger.header->ledger_max_bytes = 1; /* else it was made small by a limit of the kernel's */
	load();
	assert_non_null(strstr(unseen("ledger-full"), "reached its limit"));
	ledger.state->table[LEDGER_TABLE_NODES].reserved =
		ledger.header->table[LEDGER_TABLE_NODES].capacity;
	load();
	assert_non_null(strstr(unseen("ledger-full"), "no more room for frames"));
}

SIMPLE_TEST(truncated_stacks_are_told_with_share_and_module)
{
	uint16_t jit = built_module(&ledger, "/usr/lib/jit.so", 3);
	uint32_t leaf = built_node(&ledger, 0, jit, 0x10);
	uint32_t other = built_context(&ledger, leaf, 0);

	set_row(simple_row, 75, 75, 0, 0);
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
