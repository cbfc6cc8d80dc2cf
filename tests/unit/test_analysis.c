/* SPDX-License-Identifier: MIT */
/* Groups, trees, flat tables and top lists over a profile built by hand. */
#include <stdlib.h>
#include <string.h>

#include "analysis/flat.h"
#include "analysis/fold.h"
#include "analysis/group.h"
#include "analysis/rank.h"
#include "analysis/tree.h"
#include "sample_profile.h"
#include "unit.h"

/* ---- rank ---------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
	const struct seep_ranked *x = a;
	const struct seep_ranked *y = b;

	return (x->value < y->value) - (x->value > y->value);
}

TEST(top_agrees_with_sorting_all)
{
	enum { COUNT = 3000 };
	static struct seep_ranked items[COUNT];
	static struct seep_ranked sorted[COUNT];
	uint32_t random = 12345;

	for (size_t top = 0; top < COUNT + 5; top = top * 3 + 1) {
		for (uint32_t i = 0; i < COUNT; i++) {
			random = random * 1664525 + 1013904223;
			/* Few values, so that many are equal. */
			items[i] = (struct seep_ranked){ random >> 20, 0, i };
		}
		memcpy(sorted, items, sizeof(items));
		qsort(sorted, COUNT, sizeof(sorted[0]), by_value);
		assert_int_equal(seep_rank_top(items, COUNT, top), top < COUNT ? top : COUNT);
		for (size_t i = 0; i < top && i < COUNT; i++)
			assert_int_equal(items[i].value, sorted[i].value);
		for (size_t i = 1; i < top && i < COUNT; i++)
			assert_true(items[i - 1].value > items[i].value ||
				    items[i - 1].index < items[i].index);
	}
}

TEST(equal_values_are_ordered_by_tie_then_index)
{
	struct seep_ranked items[] = { { 5, 9, 0 }, { 5, 3, 2 }, { 5, 3, 1 }, { 6, 99, 3 } };

	assert_int_equal(seep_rank_top(items, 4, 3), 3);
	assert_int_equal(items[0].index, 3);
	assert_int_equal(items[1].index, 1);
	assert_int_equal(items[2].index, 2);
}

/* ---- groups -------------------------------------------------------------------------------- */

static struct seep_profile *profile;
static struct seep_sites *sites;

static int setup(void **state)
{
	(void)state;
	profile = sample_profile();
	sites = seep_sites_new(profile);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	seep_sites_free(sites);
	seep_profile_free(profile);
	return 0;
}

#define WITH_SAMPLE(name) TEST_WITH(setup, name, teardown)

WITH_SAMPLE(frames_of_one_line_share_a_site_and_others_do_not)
{
	const struct seep_site *site = sites->of_frame;

	assert_int_equal(site[S_LOAD_120].line, site[S_LOAD_120B].line);
	assert_int_not_equal(site[S_LOAD_120].line, site[S_LOAD_131].line);
	assert_int_equal(site[S_LOAD_120].function, site[S_LOAD_131].function);
	assert_int_not_equal(site[S_UNNAMED].function, site[S_JIT].function);
}

WITH_SAMPLE(contexts_that_look_alike_are_one_group)
{
	struct seep_groups *groups = seep_groups_new(sites, true, true);
	uint32_t top[16];

	assert_int_equal(groups->count, profile->context_count - 1);
	assert_true(seep_groups_top(groups, profile, SEEP_BY_LIVE, 1, top) > 0);
	assert_int_equal(groups->items[top[0]].context_count, 2);
	assert_int_equal(groups->items[top[0]].counts.live_bytes, (4 << 20) + 400000);
	seep_groups_free(groups);
}

WITH_SAMPLE(a_merged_profile_has_a_context_for_each_group)
{
	struct seep_profile_growth growth[] = {
		{ .verdict = SEEP_GROWTH_GROWING, .since_ns = 5, .until_ns = 9, .bytes = 100 },
		{ .verdict = SEEP_GROWTH_GROWING, .since_ns = 7, .until_ns = 8, .bytes = 30 },
	};
	struct seep_profile_epoch epochs[][2] = { { { 1, 2, 20 }, { 4, 1, 10 } },
						  { { 0, 1, 5 }, { 4, 3, 30 } } };
	const uint32_t count = profile->context_count, last = count - 1;
	const uint64_t live = profile->contexts[0].live_bytes + profile->contexts[1].live_bytes;
	const uint32_t last_id = profile->contexts[last].id;
	struct seep_profile_leak leaks[] = { { .context = 0 },
					     { .context = 1 },
					     { .context = 2 },
					     { .context = count },
					     { .context = count + 1 } };
	struct seep_profile_context *c = profile->contexts;

	/* The first two read alike; one behind the others was not asked for. */
	for (int i = 0; i < 2; i++) {
		c[i].growth = &growth[i];
		c[i].epochs = epochs[i];
		c[i].epoch_count = 2;
	}
	profile->contexts = seep_profile_calloc(profile, count + 1, sizeof(*c));
	memcpy(profile->contexts, c, count * sizeof(*c));
	profile->contexts[count] = (struct seep_profile_context){ .id = 1000 };
	profile->left_out_count = 1;
	profile->leaks = leaks;
	profile->leak_count = 5;
	seep_groups_merge(profile, sites);
	c = profile->contexts;
	assert_int_equal(profile->context_count, count - 1);
	assert_int_equal(c[0].live_bytes, live);
	assert_int_equal(c[0].epoch_count, 3);
	assert_int_equal(c[0].epochs[0].epoch, 0);
	assert_int_equal(c[0].epochs[2].blocks, 4);
	assert_int_equal(c[0].epochs[2].bytes, 40);
	assert_int_equal(c[0].growth->bytes, 130);
	assert_int_equal(c[0].growth->until_ns, 9);
	assert_non_null(c[0].growth->evidence);
	assert_int_equal(c[last - 1].id, last_id);
	assert_int_equal(c[last].id, 1000);
	assert_int_equal(leaks[0].context, 0);
	assert_int_equal(leaks[1].context, 1);
	assert_int_equal(leaks[2].context, 1);
	assert_int_equal(leaks[3].context, count - 1);
	assert_int_equal(leaks[4].context, count);
	profile->leak_count = 0;
}

WITH_SAMPLE(kind_and_thread_keep_groups_apart)
{
	struct seep_profile_context *c = profile->contexts;
	const struct {
		uint8_t kind;
		const char *thread;
	} changes[] = { { 1, NULL }, { 4, "io" } };

	for (size_t i = 0; i < 2; i++) {
		struct seep_groups *groups;

		c[1].kind = changes[i].kind;
		c[1].thread = (char *)changes[i].thread;
		groups = seep_groups_new(sites, true, true);
		assert_int_equal(groups->count, profile->context_count);
		seep_groups_free(groups);
	}
}

WITH_SAMPLE(top_leaves_out_what_is_zero)
{
	struct seep_groups *groups = seep_groups_new(sites, true, true);
	uint32_t top[16];

	assert_int_equal(seep_groups_top(groups, profile, SEEP_BY_LIVE, 16, top),
			 groups->count - 1);
	assert_int_equal(seep_groups_top(groups, profile, SEEP_BY_ALLOCS, 16, top), groups->count);
	seep_groups_free(groups);
}

WITH_SAMPLE(groups_sum_to_the_totals)
{
	struct seep_groups *groups = seep_groups_new(sites, true, true);
	struct seep_counts sum = { 0 };

	for (uint32_t i = 0; i < groups->count; i++)
		seep_counts_add(&sum, &groups->items[i].counts);
	assert_int_equal(sum.live_bytes, profile->totals.live_bytes);
	assert_int_equal(sum.allocs, profile->totals.allocs);
	assert_int_equal(sum.peak_bytes, profile->totals.peak_bytes);
	seep_groups_free(groups);
}

/* ---- folding ------------------------------------------------------------------------------- */

/* @folded: room for @count. */
static uint32_t fold(enum seep_fold_by by, const struct seep_profile_stack_entry *stack,
		     uint32_t count, struct seep_profile_stack_entry *folded)
{
	const struct seep_profile_stack_entry *at = stack;
	struct seep_folder folder;
	uint32_t kept;

	folder = (struct seep_folder){ .sites = sites, .by = by };
	(void)seep_fold(&folder, &at, count);
	/* What was folded before is of no consequence. */
	at = stack;
	kept = seep_fold(&folder, &at, count);
	assert_int_equal(at == stack, kept == count);
	memcpy(folded, at, kept * sizeof(*at));
	seep_folder_done(&folder);
	return kept;
}

WITH_SAMPLE(recursion_is_folded_by_line_and_counted_in_all)
{
	/* A ledger would have folded by address: two of visit, one of them ×17, around descend. */
	static const struct seep_profile_stack_entry stack[] = {
		{ S_LOAD_120, 0, 0 }, { S_LOAD_120B, 1, 16 }, { S_LOAD_120, 0, 0 },
		{ S_DESCEND, 0, 0 },  { S_VISIT, 0, 0 },      { S_DESCEND, 2, 4 },
		{ S_VISIT, 0, 0 },    { S_MAIN, 0, 0 },
	};
	struct seep_profile_stack_entry folded[8];

	assert_int_equal(fold(SEEP_FOLD_BY_LINE, stack, 8, folded), 4);
	assert_int_equal(folded[0].frame, S_LOAD_120);
	assert_int_equal(folded[0].period, 1);
	assert_int_equal(folded[0].repeats, 18);
	assert_int_equal(folded[1].frame, S_DESCEND);
	assert_int_equal(folded[1].period, 2);
	assert_int_equal(folded[1].repeats, 5);
	assert_int_equal(folded[2].period, 0);
	assert_int_equal(folded[3].frame, S_MAIN);
}

WITH_SAMPLE(folding_nothing_changes_nothing_and_saturation_stays)
{
	static const struct seep_profile_stack_entry stack[] = {
		{ S_LOAD_120, 0, 0 },
		{ S_LOAD_131, 1, 65535 },
		{ S_LOAD_131, 0, 0 },
	};
	struct seep_profile_stack_entry folded[3];

	assert_int_equal(fold(SEEP_FOLD_BY_LINE, stack, 2, folded), 2);
	assert_memory_equal(folded, stack, 2 * sizeof(stack[0]));
	assert_int_equal(fold(SEEP_FOLD_BY_LINE, stack, 3, folded), 2);
	assert_int_equal(folded[1].repeats, 65535);
	assert_int_equal(fold(SEEP_FOLD_BY_FUNCTION, stack, 3, folded), 1);
	assert_int_equal(folded[0].repeats, 65535);
	assert_int_equal(fold(SEEP_FOLD_BY_LINE, stack, 0, folded), 0);
}

WITH_SAMPLE(folds_of_one_function_add_up_to_the_depth)
{
	static const struct seep_profile_stack_entry stack[] = {
		{ S_LOAD_120, 1, 3 },
		{ S_LOAD_120B, 1, 4 },
		{ S_LOAD_120, 2, 0 }, /* folded in other stacks only */
	};
	struct seep_profile_stack_entry folded[3];

	assert_int_equal(fold(SEEP_FOLD_BY_LINE, stack, 3, folded), 1);
	assert_int_equal(folded[0].period, 1);
	assert_int_equal(folded[0].repeats, 3 + 1 + 4 + 1);
}

WITH_SAMPLE(depth_of_recursion_does_not_keep_groups_apart)
{
	struct seep_profile_context *c = profile->contexts;
	struct seep_groups *groups;
	uint32_t top[1];

	/* The fourth is xmalloc, visit, visit ×17, descend; make the fifth xmalloc, visit, ... */
	c[4].kind = c[3].kind;
	c[4].stack = c[3].stack + 1;
	c[4].stack_count = c[3].stack_count - 1;
	c[4].stack = sample_array(profile, c[4].stack, c[4].stack_count, sizeof(*c[4].stack));
	c[4].stack[0] = c[3].stack[0];
	c[4].stack[1].repeats = 40;
	groups = seep_groups_new(sites, true, true);
	assert_true(seep_groups_top(groups, profile, SEEP_BY_ALLOCS, 1, top) > 0);
	assert_int_equal(groups->items[top[0]].context_count, 2);
	assert_int_equal(groups->items[top[0]].stack_count, 6);
	assert_int_equal(groups->items[top[0]].stack[1].period, 1);
	assert_int_equal(groups->items[top[0]].stack[1].repeats, 40);
	seep_groups_free(groups);
	groups = seep_groups_new(sites, false, true);
	assert_int_equal(groups->count, profile->context_count - 1);
	seep_groups_free(groups);
}

/* ---- trimming ------------------------------------------------------------------------------ */

WITH_SAMPLE(stacks_are_trimmed_to_what_is_worth_reading)
{
	const struct seep_profile_context *c = profile->contexts;
	struct seep_stack_part part;

	part = seep_sites_trim(sites, c[0].stack, c[0].stack_count);
	assert_int_equal(part.first, 3);
	assert_int_equal(part.end, 6);
	part = seep_sites_trim(sites, c[5].stack, c[5].stack_count); /* a thread */
	assert_int_equal(part.first, 0);
	assert_int_equal(part.end, 1);
	part = seep_sites_trim(sites, c[9].stack, c[9].stack_count); /* no frames */
	assert_int_equal(part.first, 0);
	assert_int_equal(part.end, 0);
}

WITH_SAMPLE(a_stack_of_plumbing_alone_stays_whole)
{
	struct seep_profile_context *c = &profile->contexts[0];
	struct seep_stack_part part;

	c->stack_count = 3;
	part = seep_sites_trim(sites, c->stack, c->stack_count);
	assert_int_equal(part.first, 0);
	assert_int_equal(part.end, 3);
}

static struct seep_stack_part trim_with(enum sample_frame changed, const char *function,
					const char *file)
{
	struct seep_profile_context *c = &profile->contexts[0];

	profile->frames[changed].function = function;
	profile->frames[changed].file = file;
	seep_sites_free(sites);
	sites = seep_sites_new(profile);
	return seep_sites_trim(sites, c->stack, c->stack_count);
}

/* The first context: new, allocate, push_back, load_rows, read_file, main. */
WITH_SAMPLE(a_callable_that_was_inlined_into_the_library_is_to_blame)
{
	static const char invoker[] = "std::_Function_handler<void (), main::{lambda()#2}>::"
				      "_M_invoke(std::_Any_data const&)";
	struct seep_stack_part part = trim_with(S_LOAD_120, invoker, NULL);

	assert_int_equal(part.first, 3);
	assert_int_equal(part.end, 6);
	assert_true(sites->of_frame[S_LOAD_120].own);
	/* Not where the program's own function stands inside, and where lines are known. */
	assert_int_equal(trim_with(S_READ_FILE, invoker, NULL).first, 3);
	assert_int_equal(trim_with(S_LOAD_120, invoker, "/usr/include/c++/12/functional").first, 4);
	assert_int_equal(trim_with(S_READ_FILE, invoker, "/usr/include/c++/12/functional").first,
			 5);
}

WITH_SAMPLE(a_thread_whose_function_was_inlined_into_the_library_keeps_its_end)
{
	struct seep_profile_context *c = &profile->contexts[5];
	struct seep_stack_part part;

	profile->frames[S_WORKER] = (struct seep_profile_frame){
		.module = 1,
		.address = 0x2900,
		.function = "std::thread::_State_impl<std::thread::_Invoker<std::tuple<"
			    "main::{lambda()#5}> > >::_M_run()",
	};
	seep_sites_free(sites);
	sites = seep_sites_new(profile);
	part = seep_sites_trim(sites, c->stack, c->stack_count);
	assert_int_equal(part.first, 0);
	assert_int_equal(part.end, 1);
}

WITH_SAMPLE(closures_that_names_do_not_tell_apart_are_functions_of_their_own)
{
	static const char shim[] = "core::ops::function::FnOnce::call_once{{vtable.shim}}";
	struct seep_profile_context *c = &profile->contexts[0];

	profile->frames[S_LOAD_131].function = shim;
	profile->frames[S_LOAD_131].file = NULL;
	assert_int_equal(trim_with(S_LOAD_120, shim, NULL).first, 4);
	assert_int_not_equal(sites->of_frame[S_LOAD_120].function,
			     sites->of_frame[S_LOAD_131].function);
	c->stack_count = 4;
	assert_int_equal(seep_sites_trim(sites, c->stack, c->stack_count).first, 3);
}

/* ---- flat ---------------------------------------------------------------------------------- */

static const struct seep_flat_row *row_of(const struct seep_flat *flat, enum sample_frame frame)
{
	return &flat->rows[sites->of_frame[frame].function];
}

WITH_SAMPLE(self_belongs_to_the_first_function_outside_the_plumbing)
{
	for (int inclusive = 0; inclusive < 2; inclusive++) {
		struct seep_flat *flat = seep_flat_new(sites, SEEP_BY_LIVE, inclusive);

		assert_int_equal(row_of(flat, S_LOAD_120)->self, (4 << 20) + 1100000);
		assert_int_equal(row_of(flat, S_NEW)->self, 0);
		assert_int_equal(row_of(flat, S_XMALLOC)->self, 0);
		assert_int_equal(row_of(flat, S_VISIT)->self, (2 << 20) + 900000);
		free(flat);
	}
}

WITH_SAMPLE(recursion_counts_once_in_inclusive_figures)
{
	for (enum seep_measure by = 0; by < SEEP_MEASURE_COUNT; by++) {
		struct seep_flat *flat = seep_flat_new(sites, by, true);
		struct seep_counts all = { 0 };
		int64_t self = flat->unnamed.self;

		if (by == SEEP_BY_LIVE)
			assert_int_equal(row_of(flat, S_VISIT)->inclusive,
					 (2 << 20) + 900000 + 120000);
		assert_int_equal(row_of(flat, S_VISIT)->stacks, 3);
		assert_int_equal(row_of(flat, S_START)->stacks, 0);
		for (uint32_t i = 0; i < flat->count; i++)
			self += flat->rows[i].self;
		for (uint32_t i = 0; i < profile->context_count; i++)
			seep_counts_add_context(&all, &profile->contexts[i]);
		assert_int_equal(self, seep_counts_value(&all, by));
		free(flat);
	}
}

WITH_SAMPLE(flat_top_hides_plumbing_unless_asked)
{
	struct seep_flat *flat = seep_flat_new(sites, SEEP_BY_LIVE, true);
	uint32_t top[64];
	const uint32_t brief = seep_flat_top(flat, false, 64, top);

	assert_int_equal(top[0], sites->of_frame[S_LOAD_120].function);
	assert_int_equal(seep_flat_top(flat, true, 64, top), brief + 4);
	free(flat);
}

/* ---- tree ---------------------------------------------------------------------------------- */

static uint32_t child(const struct seep_tree *tree, uint32_t parent, uint32_t frame)
{
	for (uint32_t i = tree->nodes[parent].first_child; i != 0; i = tree->nodes[i].next) {
		if (tree->nodes[i].entry.frame == frame)
			return i;
		if (frame < SEEP_TREE_SPECIAL && tree->nodes[i].entry.frame < SEEP_TREE_SPECIAL &&
		    sites->of_frame[tree->nodes[i].entry.frame].function ==
			    sites->of_frame[frame].function)
			return i;
	}
	fail_msg("node %u has no child for frame %u", parent, frame);
	return 0;
}

WITH_SAMPLE(tree_starts_at_main_and_sums_upwards)
{
	struct seep_tree *tree = seep_tree_new(sites, false, SEEP_BY_LIVE, 0);
	const uint32_t node = child(tree, 0, S_MAIN);
	const uint32_t read = child(tree, node, S_READ_FILE);
	const uint32_t load = child(tree, read, S_LOAD_120);

	assert_int_equal(tree->nodes[load].value, (4 << 20) + 1100000);
	assert_true(tree->nodes[load].several_lines);
	assert_int_equal(tree->nodes[load].first_child, 0);
	assert_int_equal(tree->nodes[0].value, profile->totals.live_bytes);
	seep_tree_free(tree);
	tree = seep_tree_new(sites, false, SEEP_BY_ALLOCS, 0);
	assert_int_equal(tree->nodes[0].value, profile->totals.allocs);
	seep_tree_free(tree);
}

WITH_SAMPLE(whole_tree_ends_at_the_allocator)
{
	struct seep_tree *tree = seep_tree_new(sites, true, SEEP_BY_ALLOCS, 0);
	const uint32_t read = child(tree, child(tree, 0, S_MAIN), S_READ_FILE);
	const uint32_t push = child(tree, child(tree, read, S_LOAD_120), S_PUSH_BACK);

	assert_int_not_equal(child(tree, child(tree, push, S_ALLOCATE), S_NEW), 0);
	seep_tree_free(tree);
}

WITH_SAMPLE(stacks_without_an_outer_end_have_a_root_of_their_own)
{
	struct seep_tree *tree = seep_tree_new(sites, false, SEEP_BY_LIVE, 0);
	const uint32_t truncated = child(tree, 0, SEEP_TREE_TRUNCATED);
	const uint32_t none = child(tree, 0, SEEP_TREE_NO_STACK);

	assert_int_equal(tree->nodes[child(tree, truncated, S_JIT)].value, 250000);
	assert_int_equal(tree->nodes[none].value, 4096);
	seep_tree_free(tree);
}

WITH_SAMPLE(the_deepest_recursion_stands_at_the_node)
{
	struct seep_tree *tree = seep_tree_new(sites, false, SEEP_BY_ALLOCS, 0);
	const uint32_t descend = child(tree, child(tree, 0, S_MAIN), S_DESCEND);

	assert_int_equal(tree->nodes[descend].entry.period, 2);
	assert_int_equal(tree->nodes[descend].entry.repeats, 65535);
	seep_tree_free(tree);
}

static uint32_t child_count(const struct seep_tree *tree)
{
	uint32_t count = 0;

	for (uint32_t i = tree->nodes[0].first_child; i != 0; i = tree->nodes[i].next)
		count++;
	return count;
}

WITH_SAMPLE(children_come_largest_first)
{
	struct seep_tree *tree = seep_tree_new(sites, false, SEEP_BY_LIVE, 0);

	assert_int_equal(child_count(tree), 4);
	for (uint32_t i = tree->nodes[0].first_child, next; i != 0; i = next) {
		next = tree->nodes[i].next;
		assert_true(next == 0 || tree->nodes[i].value >= tree->nodes[next].value);
	}
	seep_tree_free(tree);
}

WITH_SAMPLE(small_branches_are_left_out_and_summed)
{
	struct seep_tree *tree = seep_tree_new(sites, false, SEEP_BY_LIVE, 250000);

	assert_int_equal(child_count(tree), 3);
	for (uint32_t i = 0; i < tree->count; i++)
		assert_true(tree->nodes[i].value >= 250000);
	/* No stack, the hostile one, and the template's, which leaves read_file with descend. */
	assert_int_equal(tree->pruned_value, 4096 + 50000 + 120000);
	assert_int_equal(tree->pruned_count, 3);
	seep_tree_free(tree);
	tree = seep_tree_new(sites, false, SEEP_BY_LIVE, INT64_MAX);
	assert_int_equal(tree->count, 1);
	seep_tree_free(tree);
}

WITH_SAMPLE(order_of_contexts_does_not_change_the_tree)
{
	struct seep_tree *before = seep_tree_new(sites, false, SEEP_BY_ALLOCS, 0);
	struct seep_profile_context *c = profile->contexts;
	struct seep_tree *after;

	for (uint32_t i = 0, j = profile->context_count - 1; i < j; i++, j--) {
		const struct seep_profile_context kept = c[i];

		c[i] = c[j];
		c[j] = kept;
	}
	after = seep_tree_new(sites, false, SEEP_BY_ALLOCS, 0);
	assert_int_equal(before->count, after->count);
	assert_int_equal(before->nodes[0].value, after->nodes[0].value);
	seep_tree_free(before);
	seep_tree_free(after);
}
