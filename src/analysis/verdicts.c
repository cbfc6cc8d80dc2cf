/* SPDX-License-Identifier: MIT */
/*
 * Each block of the scan's result gets a verdict, then blocks of the same fate are one leak. All
 * steps are linear in blocks and edges, and there may be many millions.
 */
#include "analysis/verdicts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/leak_evidence.h"
#include "analysis/verdict_parts.h"
#include "base/arena.h"
#include "base/search.h"
#include "base/xalloc.h"
#include "core/bits.h"
#include "profile/context_hash.h"
#include "profile/estimate.h"
#include "profile/verdict.h"
#include "scan/components.h"

/* Suppressing a root makes roots of what it led to, which may be suppressed in turn. */
enum { ROUNDS = 8 };

/*
 * A forked child has the blocks of all its parent's threads and only one of these threads, so what
 * others held is lost there without anybody's fault. What the child has allocated itself was never
 * held by them, and is judged as if orphans pointed nowhere. Memory that nobody has read may point
 * to any other one.
 */
static void settle_lost(struct judge *j)
{
	for (uint64_t i = 0; i < j->result->block_count; i++) {
		struct scan_block *block = scan_result_block(j->result, i);

		j->verdicts[i] = SEEP_VERDICT_COUNT;
		if (block->state == SCAN_LOST && block->row < j->profile->first_row) {
			j->verdicts[i] = SEEP_VERDICT_FORK_ORPHAN;
			block->state = SCAN_IGNORED;
		} else if (block->state == SCAN_LOST && j->result->is_blind) {
			block->state = SCAN_MAYBE;
			block->rule = SCAN_RULE_UNREAD;
			j->result->from[j->result->unreached[i]] = 0; /* it may be a hint */
		}
	}
}

/* Verdicts of what is neither suppressed nor an orphan. */
static void judge_blocks(struct judge *j)
{
	static const uint8_t by_role[] = {
		[SCAN_ROLE_NONE] = SEEP_VERDICT_LOST,
		[SCAN_ROLE_ROOT] = SEEP_VERDICT_LOST,
		[SCAN_ROLE_CYCLE] = SEEP_VERDICT_LOST_CYCLE,
		[SCAN_ROLE_WITH] = SEEP_VERDICT_LOST_WITH,
	};

	seep_arena_free(j->arena);
	j->arena = seep_arena_new();
	scan_components(j->arena, j->result, &j->roles, &j->leaders);
	for (uint64_t i = 0; i < j->result->block_count; i++) {
		const struct scan_block *block = scan_result_block(j->result, i);

		if (block->state == SCAN_LOST)
			j->verdicts[i] = by_role[j->roles[i]];
		else if (block->state == SCAN_MAYBE)
			j->verdicts[i] = SEEP_VERDICT_MAYBE_LOST;
		else if (j->verdicts[i] == SEEP_VERDICT_COUNT)
			j->verdicts[i] = SEEP_VERDICT_IGNORED;
	}
}

/*
 * What blocks of a context are with suppressions, which are asked once; @verdict unless one matches.
 * @ret_rule: its number + 1, 0 none
 */
static uint8_t with_rules(struct judge *j, uint32_t context, uint8_t verdict, uint32_t *ret_rule)
{
	uint32_t *known;
	size_t rule = 0;

	*ret_rule = 0;
	if (context == 0)
		return verdict;
	known = &j->effects[(size_t)(context - 1) * SEEP_VERDICT_COUNT + verdict];
	if (*known == 0) {
		const enum seep_suppression_effect effect = seep_suppressions_match(
			j->suppressions, &j->profile->contexts[context - 1], verdict, &rule);

		*known = effect == SEEP_NOT_SUPPRESSED ? 1 : ((uint32_t)rule + 1) * 2;
		*known += effect == SEEP_IS_RUNTIME;
	}
	*ret_rule = *known / 2;
	if (*ret_rule == 0)
		return verdict;
	return *known % 2 ? SEEP_VERDICT_RUNTIME : SEEP_VERDICT_SUPPRESSED;
}

static bool is_open(const struct judge *j, uint64_t block)
{
	return scan_result_block(j->result, block)->state == SCAN_LOST ||
	       scan_result_block(j->result, block)->state == SCAN_MAYBE;
}

static void close_block(struct judge *j, uint64_t block, uint8_t verdict, uint32_t rule)
{
	j->roots_changed |= scan_result_block(j->result, block)->state == SCAN_LOST;
	scan_result_block(j->result, block)->state = SCAN_IGNORED;
	j->verdicts[block] = verdict;
	j->rules[block] = rule;
}

/* Suppress what the first @count of @todo lead to, whatever else does. */
static void suppress_from(struct judge *j, uint32_t *todo, uint64_t count)
{
	const struct scan_result *result = j->result;

	while (count > 0) {
		const uint32_t block = todo[--count];

		for (uint32_t e = result->first_edge[block]; e < result->first_edge[block + 1];
		     e++) {
			const uint32_t to = result->edges[e];

			if (!is_open(j, to))
				continue;
			close_block(j, to, SEEP_VERDICT_SUPPRESSED, j->rules[block]);
			todo[count++] = to;
		}
	}
}

/*
 * Apply suppressions to the verdicts as they are. Blocks of the runtime do not take along what they
 * lead to: what a dead thread's variables point to is the program's, and lost. Returns whether
 * roots may have changed.
 */
static bool suppress(struct judge *j)
{
	SEEP_FREED uint32_t *todo = seep_xcalloc(j->result->block_count, sizeof(*todo));
	uint64_t count = 0;

	j->roots_changed = false;
	for (uint64_t i = 0; i < j->result->block_count; i++) {
		const struct scan_block *block = scan_result_block(j->result, i);
		const uint32_t context = seep_profile_row_context(j->profile, block->row);
		uint8_t verdict;
		uint32_t rule;

		if (!is_open(j, i))
			continue;
		verdict = with_rules(j, context, j->verdicts[i], &rule);
		if (rule == 0)
			continue;
		close_block(j, i, verdict, rule);
		if (verdict == SEEP_VERDICT_SUPPRESSED)
			todo[count++] = (uint32_t)i;
	}
	suppress_from(j, todo, count);
	return j->roots_changed;
}

struct draft *seep_judge_draft(struct judge *j, const struct fate *fate)
{
	uint64_t words[2];
	uint64_t hash;
	size_t at = SEEP_IDTABLE_START;
	uint32_t id;
	struct draft *draft;

	memcpy(words, fate, sizeof(words));
	hash = seep_hash_mix(seep_hash_mix(0, words[0]), words[1]);
	while ((id = seep_idtable_find(&j->by_fate, hash, &at)) != SEEP_IDTABLE_NONE)
		if (memcmp(&j->drafts[id].fate, fate, sizeof(*fate)) == 0)
			return &j->drafts[id];
	seep_idtable_add(&j->by_fate, hash, (uint32_t)j->draft_count);
	draft = SEEP_APPEND(j->drafts, j->draft_count);
	*draft = (struct draft){ .fate = *fate, .first = NO_BLOCK, .hinted = NO_BLOCK };
	return draft;
}

/*
 * Which block of the result @i was reached from, if that is MAYBE-LOST itself; else @i: a pointer
 * that is not trusted, or none, leads to it from outside.
 */
static uint32_t maybe_holder(const struct judge *j, uint32_t i)
{
	const struct scan_result *result = j->result;
	const uint64_t from = scan_result_from(result, i);
	uint32_t at = 0;

	for (uint32_t end = (uint32_t)result->block_count, middle; at + 1 < end;) {
		middle = at + (end - at) / 2;
		if (scan_result_block(result, middle)->address <= from)
			at = middle;
		else
			end = middle;
	}
	return !scan_result_in_root(result, i) && j->verdicts[at] == SEEP_VERDICT_MAYBE_LOST &&
			       from - scan_result_block(result, at)->address <
				       scan_result_block(result, at)->size
		       ? at
		       : i;
}

/* What is MAYBE-LOST goes with the block that the others were reached through. */
static void lead_maybe(struct judge *j)
{
	const uint32_t count = (uint32_t)j->result->block_count;
	uint32_t *leaders = j->leaders, at;

	for (uint32_t i = 0; i < count; i++)
		if (j->verdicts[i] == SEEP_VERDICT_MAYBE_LOST)
			leaders[i] = maybe_holder(j, i);
	for (uint32_t i = 0; i < count; i++) {
		if (j->verdicts[i] != SEEP_VERDICT_MAYBE_LOST)
			continue;
		for (at = i; leaders[at] != at; at = leaders[at])
			leaders[at] = leaders[leaders[at]];
		leaders[i] = at;
	}
}

static bool goes_with(const struct judge *j, uint64_t i)
{
	return j->verdicts[i] == SEEP_VERDICT_LOST_WITH ||
	       (j->verdicts[i] == SEEP_VERDICT_MAYBE_LOST && j->leaders[i] != i);
}

static void count_block(const struct judge *j, struct draft *draft, const struct scan_block *block)
{
	const uint32_t row = block->row - j->profile->first_row;
	const double others = seep_profile_row_context(j->profile, block->row)
				      ? ldexp(1, j->profile->rows[row].sample) - 1
				      : 0;

	draft->leak.blocks++;
	draft->leak.bytes += block->size;
	draft->others += others;
	draft->other_bytes += others * (double)block->size;
	draft->squares += others * others;
}

/* With those that go with a root last, so that the roots' leaks are there. */
static void draft_blocks(struct judge *j, bool with)
{
	for (uint64_t i = 0; i < j->result->block_count; i++) {
		const struct scan_block *block = scan_result_block(j->result, i);
		const uint32_t context = seep_profile_row_context(j->profile, block->row);
		struct fate fate = {
			.context = context,
			.rule = j->rules[i],
			.verdict = j->verdicts[i],
			.is_reported = !!(block->marks & LEDGER_CELL_REPORTED),
		};
		struct draft *draft;

		if (goes_with(j, i) != with)
			continue;
		if (with)
			fate.leader = j->leaks[j->leaders[i]] + 1;
		if (fate.verdict == SEEP_VERDICT_MAYBE_LOST)
			fate.scan_rule = block->rule;
		draft = seep_judge_draft(j, &fate);
		j->leaks[i] = (uint32_t)(draft - j->drafts);
		count_block(j, draft, block);
		if (draft->first == NO_BLOCK)
			draft->first = i;
		if (draft->hinted == NO_BLOCK && block->rule >= SCAN_RULE_HINTS)
			draft->hinted = i;
		if (with) {
			struct draft *root = &j->drafts[j->leaks[j->leaders[i]]];

			root->leak.with_blocks++;
			root->leak.with_bytes += block->size;
		}
	}
}

static struct draft *draft_of_reachable(struct judge *j, uint32_t context,
					const struct scan_block *block)
{
	struct fate fate = { .context = context };

	fate.verdict = with_rules(j, context, SEEP_VERDICT_REACHABLE, &fate.rule);
	if (fate.rule == 0) {
		fate.scan_rule = block->rule;
		fate.root = block->root;
	}
	return seep_judge_draft(j, &fate);
}

static void draft_reachable(struct judge *j)
{
	/* By context: its last block, and that one's draft; most are like the one before. */
	SEEP_FREED struct known {
		const struct scan_block *block;
		size_t draft;
	} *all_known = seep_xcalloc((size_t)j->profile->context_count + 1, sizeof(*all_known));

	for (uint64_t i = 0; i < j->result->all_count; i++) {
		const struct scan_block *block = &j->result->all[i];
		const uint32_t context = seep_profile_row_context(j->profile, block->row);
		struct known *known = &all_known[context];
		struct draft *draft;

		if (block->state != SCAN_REACHABLE)
			continue;
		if (!known->block || known->block->rule != block->rule ||
		    known->block->root != block->root)
			known->draft = (size_t)(draft_of_reachable(j, context, block) - j->drafts);
		known->block = block;
		draft = &j->drafts[known->draft];
		count_block(j, draft, block);
	}
}

/* Of contexts that are copies, the one with a draft first; @copies: ids of drafts. */
static uint32_t first_copy(const struct judge *j, struct seep_idtable *copies, uint32_t draft)
{
	const uint32_t place = j->drafts[draft].fate.context;
	const struct seep_profile_context *context = seep_profile_context_at(j->profile, place);
	const uint64_t hash = context ? seep_profile_copies_hash(j->profile, context) : 0;
	size_t at = SEEP_IDTABLE_START;
	uint32_t id;

	if (!context)
		return place;
	id = seep_idtable_find(copies, hash, &at);
	if (id != SEEP_IDTABLE_NONE)
		return j->drafts[id].fate.context;
	seep_idtable_add(copies, hash, draft);
	return place;
}

static void add_draft(struct draft *to, struct draft *from)
{
	to->leak.blocks += from->leak.blocks;
	to->leak.bytes += from->leak.bytes;
	to->leak.with_blocks += from->leak.with_blocks;
	to->leak.with_bytes += from->leak.with_bytes;
	to->leak.blocks_error = seep_error_join(to->leak.blocks_error, from->leak.blocks_error);
	to->leak.bytes_error = seep_error_join(to->leak.bytes_error, from->leak.bytes_error);
	to->first = core_smaller(to->first, from->first);
	to->hinted = core_smaller(to->hinted, from->hinted);
	from->leak = (struct seep_profile_leak){ 0 };
}

/*
 * One leak of what the copies of a call have allocated, if it fared alike. What goes with others comes
 * last, so that their leaks are known. What is reachable is as it was: nobody counts it.
 */
static void merge_copies(struct judge *j)
{
	SEEP_RELEASED(seep_idtable_done) struct seep_idtable copies = { 0 };
	const uint32_t count = (uint32_t)j->draft_count;
	SEEP_FREED uint32_t *now = seep_xcalloc(count, sizeof(*now));

	for (uint32_t i = 0; i < count; i++) {
		struct fate fate = j->drafts[i].fate;
		struct draft *to;

		now[i] = i;
		if (fate.verdict == SEEP_VERDICT_REACHABLE || j->drafts[i].leak.blocks == 0)
			continue;
		fate.context = first_copy(j, &copies, i);
		if (fate.leader > 0)
			fate.leader = now[fate.leader - 1] + 1;
		to = seep_judge_draft(j, &fate);
		now[i] = (uint32_t)(to - j->drafts);
		if (now[i] != i)
			add_draft(to, &j->drafts[i]);
	}
	for (uint64_t i = 0; i < j->result->block_count; i++)
		j->leaks[i] = now[j->leaks[i]];
}

/* By verdict, then bytes, most first; what is left only makes the order the same in each run. */
static int compare_drafts(const void *a, const void *b, void *user)
{
	const struct draft *drafts = user;
	const struct draft *x = &drafts[*(const uint32_t *)a], *y = &drafts[*(const uint32_t *)b];
	const struct seep_profile_leak *left = &x->leak, *right = &y->leak;

	return seep_search_order(x->fate.verdict, y->fate.verdict)
		       ?: seep_search_order(right->bytes + right->with_bytes,
					    left->bytes + left->with_bytes)
		       ?: seep_search_order(right->blocks + right->with_blocks,
					    left->blocks + left->with_blocks)
		       ?: seep_search_order(left->hash, right->hash)
		       ?: memcmp(&x->fate, &y->fate, sizeof(x->fate));
}

static void explain(struct judge *j, struct draft *draft)
{
	struct seep_profile_leak *leak = &draft->leak;
	const uint64_t block = draft->hinted != NO_BLOCK ? draft->hinted : draft->first;
	unsigned rule = draft->fate.scan_rule;
	SEEP_FREED char *evidence = NULL;

	if (block == NO_BLOCK) {
		evidence = seep_reach_evidence(rule, draft->fate.root);
	} else {
		if (draft->hinted != NO_BLOCK)
			rule = scan_result_block(j->result, block)->rule;
		evidence = seep_leak_evidence(j->result, block, leak->verdict);
	}
	leak->rule = seep_profile_strdup(j->profile, seep_scan_rule_name(rule));
	leak->evidence = seep_profile_strdup(j->profile, evidence);
	if (draft->fate.rule > 0)
		seep_suppressions_hit(j->suppressions, draft->fate.rule - 1, j->profile, leak);
}

static void list_blocks(struct judge *j)
{
	const uint32_t most = j->options->block_list_max;

	for (uint64_t i = 0; most > 0 && i < j->result->block_count; i++) {
		const struct scan_block *block = scan_result_block(j->result, i);
		const uint8_t *contents = j->options->contents ? j->options->contents[i] : NULL;
		struct seep_profile_leak *leak = &j->profile->leaks[j->places[j->leaks[i]]];
		const uint32_t place = seep_profile_row_context(j->profile, block->row);
		const struct seep_profile_context *context = seep_profile_context_at(j->profile,
										     place);
		struct seep_profile_leak_block *listed;

		/* Which of its site's stacks one has that was not walked, nobody knows. */
		if (leak->block_list_count >= most ||
		    (context && context->site && leak->context != place))
			continue;
		if (!leak->block_list)
			leak->block_list = seep_profile_calloc(
				j->profile, leak->blocks < most ? leak->blocks : most,
				sizeof(*leak->block_list));
		listed = &leak->block_list[leak->block_list_count++];
		listed->address = block->address;
		listed->size = block->size;
		if (!contents)
			continue;
		listed->content_bytes = block->size < j->options->content_bytes
						? (uint32_t)block->size
						: j->options->content_bytes;
		listed->contents = seep_profile_calloc(j->profile, listed->content_bytes, 1);
		memcpy(listed->contents, contents, listed->content_bytes);
	}
}

/* From drafts to the profile's leaks, in order. */
static void publish(struct judge *j)
{
	struct seep_profile *profile = j->profile;
	SEEP_FREED uint32_t *order = seep_xcalloc(j->draft_count, sizeof(*order));
	uint32_t count = 0;

	for (size_t i = 0; i < j->draft_count; i++) {
		struct draft *draft = &j->drafts[i];
		const struct seep_profile_context *context;

		if (draft->leak.blocks == 0) /* its stacks have all of it */
			continue;
		order[count++] = (uint32_t)i;
		draft->leak.verdict = draft->fate.verdict;
		draft->leak.flags = draft->fate.is_reported ? SEEP_LEAK_REPORTED : 0;
		draft->leak.context = draft->fate.context;
		context = seep_profile_context_at(profile, draft->leak.context);
		if (context)
			draft->leak.hash = context->hash;
		if (context && seep_leak_is_startup(profile, context))
			draft->leak.flags |= SEEP_LEAK_STARTUP;
		explain(j, draft);
	}
	qsort_r(order, count, sizeof(*order), compare_drafts, j->drafts);
	j->places = seep_xcalloc(j->draft_count, sizeof(*j->places));
	for (size_t i = 0; i < count; i++)
		j->places[order[i]] = (uint32_t)i;
	profile->leaks = seep_profile_calloc(profile, count, sizeof(*profile->leaks));
	profile->leak_count = count;
	for (size_t i = 0; i < count; i++) {
		const struct draft *draft = &j->drafts[order[i]];

		profile->leaks[i] = draft->leak;
		if (draft->fate.leader > 0)
			profile->leaks[i].root = j->places[draft->fate.leader - 1] + 1;
	}
	list_blocks(j);
}

static void judge_done(struct judge *j)
{
	seep_arena_free(j->arena);
	seep_idtable_done(&j->by_fate);
	free(j->verdicts);
	free(j->rules);
	free(j->leaks);
	free(j->effects);
	free(j->drafts);
	free(j->places);
}

void seep_verdicts_judge(struct seep_profile *profile, struct scan_result *result,
			 struct seep_suppressions *suppressions,
			 const struct seep_verdict_options *options)
{
	const uint64_t blocks = result->block_count;
	struct judge j = {
		.profile = profile,
		.result = result,
		.suppressions = suppressions,
		.options = options,
		.verdicts = seep_xcalloc(blocks, sizeof(*j.verdicts)),
		.rules = seep_xcalloc(blocks, sizeof(*j.rules)),
		.effects = seep_xcalloc((size_t)profile->context_count * SEEP_VERDICT_COUNT,
					sizeof(*j.effects)),
	};
	size_t count;

	seep_profile_hash_contexts(profile);
	seep_suppressions_begin(suppressions, profile);
	seep_idtable_init(&j.by_fate, profile->context_count);
	settle_lost(&j);
	judge_blocks(&j);
	for (unsigned i = 0; i < ROUNDS && suppress(&j); i++)
		judge_blocks(&j);
	lead_maybe(&j);
	j.leaks = seep_xcalloc(blocks, sizeof(*j.leaks));
	draft_blocks(&j, false);
	seep_judge_split_sites(&j, 0);
	count = j.draft_count;
	draft_blocks(&j, true);
	draft_reachable(&j);
	seep_judge_split_sites(&j, count);
	merge_copies(&j);
	publish(&j);
	seep_suppressions_find(suppressions, profile);
	seep_suppressions_tell(suppressions, profile);
	judge_done(&j);
}
