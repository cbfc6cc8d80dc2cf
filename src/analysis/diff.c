/* SPDX-License-Identifier: MIT */
#include "analysis/diff.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/leak_sums.h"
#include "base/idtable.h"
#include "base/search.h"
#include "base/xalloc.h"
#include "core/bits.h"
#include "profile/counted.h"
#include "profile/estimate.h"

enum { BEFORE, AFTER };

const char *const seep_diff_verdict_names[SEEP_DIFF_VERDICTS] = {
	[SEEP_DIFF_SAME] = "SAME",     [SEEP_DIFF_NEW] = "NEW",	  [SEEP_DIFF_GROWN] = "GROWN",
	[SEEP_DIFF_SHRUNK] = "SHRUNK", [SEEP_DIFF_GONE] = "GONE", [SEEP_DIFF_HELD] = "HELD",
};

int64_t seep_diff_change(const struct seep_diff *diff, const struct seep_counts counts[2])
{
	return seep_counts_value(&counts[AFTER], diff->measure) -
	       seep_counts_value(&counts[BEFORE], diff->measure);
}

static uint64_t size_of(int64_t change)
{
	return change < 0 ? 0 - (uint64_t)change : (uint64_t)change;
}

uint64_t seep_diff_error(const struct seep_diff *diff, const struct seep_counts counts[2])
{
	return seep_error_join(seep_counts_error(&counts[BEFORE], diff->measure),
			       seep_counts_error(&counts[AFTER], diff->measure));
}

bool seep_diff_is_within_error(const struct seep_diff *diff, const struct seep_counts counts[2])
{
	return size_of(seep_diff_change(diff, counts)) <= seep_diff_error(diff, counts) &&
	       seep_diff_error(diff, counts) > 0;
}

/* The same of the blocks that belong to it. */
static int64_t block_change(const struct seep_diff *diff, const struct seep_counts counts[2])
{
	return seep_counts_blocks(&counts[AFTER], diff->measure) -
	       seep_counts_blocks(&counts[BEFORE], diff->measure);
}

static bool has_any(const struct seep_diff *diff, const struct seep_counts *counts)
{
	return seep_counts_value(counts, diff->measure) != 0 ||
	       seep_counts_blocks(counts, diff->measure) != 0;
}

static struct seep_diff_row *row_of(struct seep_diff *diff, struct seep_idtable *table,
				    uint64_t key)
{
	size_t at = SEEP_IDTABLE_START;
	const uint32_t id = seep_idtable_find(table, key, &at);

	if (id != SEEP_IDTABLE_NONE)
		return &diff->rows[id];
	seep_idtable_add(table, key, diff->count);
	*SEEP_APPEND(diff->rows, diff->count) = (struct seep_diff_row){ .key = key };
	return &diff->rows[diff->count - 1];
}

/* Add what context @index has of a row to one side of it. */
static void add(struct seep_diff *diff, struct seep_diff_row *row, int side, uint32_t index,
		const struct seep_counts *counts)
{
	const int64_t value = seep_counts_value(counts, diff->measure);

	if (row->context[side] == 0 || value > row->most) {
		row->context[side] = index + 1;
		row->most = value;
	}
	seep_counts_add(&row->counts[side], counts);
	seep_counts_add(&diff->counts[side], counts);
}

static enum seep_diff_verdict judge(const struct seep_diff *diff, const struct seep_diff_row *row)
{
	int64_t change = seep_diff_change(diff, row->counts);

	if (!has_any(diff, &row->counts[BEFORE]))
		return has_any(diff, &row->counts[AFTER]) ? SEEP_DIFF_NEW : SEEP_DIFF_SAME;
	if (!has_any(diff, &row->counts[AFTER]))
		return SEEP_DIFF_GONE;
	if (change == 0)
		change = block_change(diff, row->counts);
	return change == 0 ? SEEP_DIFF_SAME : change > 0 ? SEEP_DIFF_GROWN : SEEP_DIFF_SHRUNK;
}

/* Keys last, so that two runs list the same. */
static int by_change(const void *left, const void *right, void *user)
{
	const struct seep_diff_row *a = left, *b = right;
	const struct seep_diff *diff = user;

	return seep_search_order(size_of(seep_diff_change(diff, b->counts)),
				 size_of(seep_diff_change(diff, a->counts)))
		       ?: seep_search_order(size_of(block_change(diff, b->counts)),
					    size_of(block_change(diff, a->counts)))
		       ?: seep_search_order(a->key, b->key);
}

static void keep_changed(struct seep_diff *diff)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < diff->count; i++)
		if (diff->rows[i].verdict != SEEP_DIFF_SAME)
			diff->rows[kept++] = diff->rows[i];
	diff->same_count = diff->count - kept;
	diff->count = kept;
	if (kept > 1)
		qsort_r(diff->rows, kept, sizeof(*diff->rows), by_change, diff);
}

static void judge_all(struct seep_diff *diff)
{
	for (uint32_t i = 0; i < diff->count; i++)
		diff->rows[i].verdict = judge(diff, &diff->rows[i]);
	keep_changed(diff);
}

static void add_leaks(struct seep_diff *diff, const struct seep_leak_sums sums[2], uint64_t hash)
{
	struct seep_diff_row row = { .key = hash };

	for (int side = BEFORE; side <= AFTER; side++) {
		const struct seep_leak_sum *sum = seep_leak_sums_find(&sums[side], hash);

		if (!sum)
			continue;
		row.context[side] = sum->leak ? sum->leak->context : 0;
		row.counts[side].live_blocks = (int64_t)core_smaller(sum->blocks, INT64_MAX);
		row.counts[side].live_bytes = (int64_t)core_smaller(sum->bytes, INT64_MAX);
		if (sum->leak)
			seep_counts_set_errors(&row.counts[side], sum->leak->blocks_error,
					       sum->leak->bytes_error);
		seep_counts_add(&diff->counts[side], &row.counts[side]);
	}
	*SEEP_APPEND(diff->rows, diff->count) = row;
}

/* What leads in one run may go with something in the other: a row is what leads after, or did. */
static struct seep_diff *diff_leaks(const struct seep_profile *before,
				    const struct seep_profile *after)
{
	struct seep_diff *diff = seep_xcalloc(1, sizeof(*diff));
	struct seep_leak_sums sums[2];

	*diff = (struct seep_diff){ .profiles = { before, after } };
	seep_leak_sums_init(&sums[BEFORE], before);
	seep_leak_sums_init(&sums[AFTER], after);
	for (int side = BEFORE; side <= AFTER; side++)
		for (size_t i = 0; i < sums[side].count; i++) {
			const struct seep_leak_sum *sum = &sums[side].items[i];

			if (sum->leak &&
			    (side == AFTER || !seep_leak_sums_find(&sums[AFTER], sum->hash)))
				add_leaks(diff, sums, sum->hash);
		}
	seep_leak_sums_done(&sums[BEFORE]);
	seep_leak_sums_done(&sums[AFTER]);
	judge_all(diff);
	return diff;
}

/* Sums are exact where their parts need not be. */
static void sum_up(struct seep_diff *diff, int side)
{
	const struct seep_profile *profile = diff->profiles[side];
	struct seep_counts *sum = &diff->counts[side];
	uint64_t errors[SEEP_FIGURE_COUNT];

	memcpy(errors, profile->totals.errors, sizeof(errors));
	if (seep_profile_knows(profile, "counted_allocs")) {
		const struct seep_profile_counted counted = seep_profile_counted(profile);

		sum->allocs = (int64_t)core_smaller(counted.allocs, INT64_MAX);
		sum->alloc_bytes = (int64_t)core_smaller(counted.alloc_bytes, INT64_MAX);
		errors[SEEP_FIGURE_allocs] = errors[SEEP_FIGURE_alloc_bytes] = 0;
	}
	for (int i = 0; i < SEEP_FIGURE_COUNT; i++)
		sum->squares[i] = (double)errors[i] * (double)errors[i];
}

struct seep_diff *seep_diff_new(const struct seep_profile *before, const struct seep_profile *after,
				enum seep_measure measure)
{
	struct seep_diff *diff = seep_xcalloc(1, sizeof(*diff));
	SEEP_RELEASED(seep_idtable_done) struct seep_idtable table;

	*diff = (struct seep_diff){ .profiles = { before, after }, .measure = measure };
	seep_idtable_init(&table, after->context_count);
	for (int side = BEFORE; side <= AFTER; side++)
		for (uint32_t i = 0; i < diff->profiles[side]->context_count; i++) {
			const struct seep_profile_context *context =
				&diff->profiles[side]->contexts[i];
			const struct seep_counts counts = seep_counts_of(context);

			add(diff, row_of(diff, &table, context->hash), side, i, &counts);
		}
	judge_all(diff);
	sum_up(diff, BEFORE);
	sum_up(diff, AFTER);
	if (before->scan.done && after->scan.done)
		diff->leaks = diff_leaks(before, after);
	return diff;
}

static uint32_t round_of(const struct seep_diff *diff, uint32_t epoch)
{
	uint32_t i = 0;

	while (i < diff->round_count &&
	       (epoch < diff->rounds[i].from || epoch >= diff->rounds[i].end))
		i++;
	return i;
}

/*
 * Each block that was taken adds what it stands for to the square: a part has its part of that. Not where some
 * were counted one by one, since the tier was switched: then any part may have all of it.
 */
static void share_error(const struct seep_profile *profile, struct seep_counts *part,
			const struct seep_counts *whole, int figure)
{
	const bool is_mixed = profile->process.estimates_since_ns > profile->process.start_ns;

	part->squares[figure] = whole->squares[figure];
	if (!is_mixed && whole->figures[figure] > 0)
		part->squares[figure] *= (double)part->figures[figure] /
					 (double)whole->figures[figure];
}

/* What the context at @index holds of each round, to the sums of its row. */
static struct seep_counts hold(struct seep_diff *diff, uint32_t index,
			       struct seep_profile_epoch *sums)
{
	const struct seep_profile_context *context = &diff->profiles[AFTER]->contexts[index];
	const struct seep_counts whole = seep_counts_of(context);
	struct seep_counts counts = { 0 };

	for (uint32_t i = 0; i < context->epoch_count; i++) {
		const struct seep_profile_epoch *epoch = &context->epochs[i];
		const uint32_t round = round_of(diff, epoch->epoch);

		if (round == diff->round_count)
			continue;
		sums[round].epoch = diff->rounds[round].from;
		sums[round].blocks += epoch->blocks;
		sums[round].bytes += epoch->bytes;
		seep_counts_sum(&counts.live_blocks,
				(int64_t)core_smaller(epoch->blocks, INT64_MAX));
		seep_counts_sum(&counts.live_bytes, (int64_t)core_smaller(epoch->bytes, INT64_MAX));
	}
	if (counts.live_blocks > 0) {
		share_error(diff->profiles[AFTER], &counts, &whole, SEEP_FIGURE_live_blocks);
		share_error(diff->profiles[AFTER], &counts, &whole, SEEP_FIGURE_live_bytes);
	}
	return counts;
}

static bool holds_of_each(const struct seep_diff *diff, const struct seep_diff_row *row)
{
	for (uint32_t i = 0; i < diff->round_count; i++)
		if (row->rounds[i].blocks == 0)
			return false;
	return true;
}

static void judge_held(struct seep_diff *diff)
{
	diff->counts[AFTER] = (struct seep_counts){ 0 };
	for (uint32_t i = 0; i < diff->count; i++) {
		struct seep_diff_row *row = &diff->rows[i];

		if (holds_of_each(diff, row)) {
			row->verdict = SEEP_DIFF_HELD;
			seep_counts_add(&diff->counts[AFTER], &row->counts[AFTER]);
		} else if (has_any(diff, &row->counts[AFTER])) {
			diff->partial_count++;
			seep_counts_add(&diff->partial, &row->counts[AFTER]);
		}
	}
}

struct seep_diff *seep_diff_held(const struct seep_profile *profile,
				 const struct seep_groups *groups, const struct seep_epochs *rounds,
				 uint32_t count)
{
	struct seep_diff *diff = seep_xcalloc(1, sizeof(*diff));

	*diff = (struct seep_diff){
		.profiles = { NULL, profile },
		.measure = SEEP_BY_LIVE,
		.rounds = rounds,
		.round_count = count,
		.rows = seep_xcalloc(groups->count, sizeof(*diff->rows)),
		.count = groups->count,
		.row_of_context = seep_xcalloc(
			(size_t)profile->context_count + profile->left_out_count, sizeof(uint32_t)),
		.round_sums = seep_xcalloc((size_t)groups->count * count,
					   sizeof(*diff->round_sums)),
	};
	for (uint32_t i = 0; i < groups->count; i++) {
		struct seep_diff_row *row = &diff->rows[i];
		uint32_t context = groups->items[i].context;

		row->key = i;
		row->rounds = &diff->round_sums[(size_t)i * count];
		for (uint32_t k = 0; k < groups->items[i].context_count; k++) {
			const struct seep_counts counts = hold(diff, context, row->rounds);

			add(diff, row, AFTER, context, &counts);
			diff->row_of_context[context] = i + 1;
			if (profile->contexts[context].no_stack || profile->contexts[context].other)
				diff->undated_blocks += profile->contexts[context].live_blocks;
			context = groups->next[context];
		}
	}
	judge_held(diff);
	keep_changed(diff);
	return diff;
}

void seep_diff_list_blocks(struct seep_diff *diff, const struct scan_block *blocks, uint64_t count,
			   uint32_t max)
{
	const struct seep_profile *profile = diff->profiles[AFTER];
	SEEP_FREED uint32_t *row_of_group = seep_xcalloc(profile->context_count + 1u,
							 sizeof(*row_of_group));

	for (uint32_t i = 0; i < diff->count; i++)
		row_of_group[diff->rows[i].key + 1] = i + 1;
	for (uint64_t i = 0; i < count; i++) {
		const uint32_t context = seep_profile_row_context(profile, blocks[i].row);
		const uint32_t row = context ? row_of_group[diff->row_of_context[context - 1]] : 0;
		struct seep_diff_row *to = row ? &diff->rows[row - 1] : NULL;

		if (!to || to->block_count >= max ||
		    round_of(diff, profile->rows[blocks[i].row - profile->first_row].epoch) ==
			    diff->round_count)
			continue;
		*SEEP_APPEND(to->blocks, to->block_count) =
			(struct seep_diff_block){ blocks[i].address, blocks[i].size };
	}
}

void seep_diff_free(struct seep_diff *diff)
{
	if (!diff)
		return;
	for (uint32_t i = 0; i < diff->count; i++)
		free(diff->rows[i].blocks);
	free(diff->rows);
	free(diff->row_of_context);
	free(diff->round_sums);
	seep_diff_free(diff->leaks);
	free(diff);
}
