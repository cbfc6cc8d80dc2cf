/* SPDX-License-Identifier: MIT */
#include "recorder/leak_check.h"

#include "analysis/keep.h"
#include "analysis/verdicts.h"
#include "base/procfs.h"
#include "base/xalloc.h"
#include "core/bits.h"
#include "profile/context_hash.h"
#include "profile/ledger_load.h"
#include "profile/symbolise.h"
#include "profile/verdict.h"
#include "recorder/leak_chains.h"
#include "recorder/outside.h"

#include <inttypes.h>
#include <string.h>

int seep_leak_check_suppressions(const struct seep_leak_check_plan *plan,
				 struct seep_suppressions **ret, struct seep_error *err)
{
	struct seep_suppressions *suppressions = seep_suppressions_new();
	int rc = 0;

	for (size_t i = 0; i < plan->suppression_count && rc == 0; i++)
		rc = seep_suppressions_read(suppressions, plan->suppressions[i], err);
	if (rc < 0) {
		seep_suppressions_free(suppressions);
		return rc;
	}
	*ret = suppressions;
	return 0;
}

int seep_leak_check_scan(const struct seep_ledger *ledger, uint32_t pid,
			 enum seep_scan_moment moment, const struct seep_leak_check_plan *plan,
			 struct seep_leak_scan **ret_scan, struct seep_error *err)
{
	const struct seep_leak_scan_options options = {
		.moment = moment,
		.want_chains = plan->chains,
		.dump_bytes = plan->dump_bytes,
		/* Of another user's process what is written to may be served by that user. */
		.notes_lost = moment != SEEP_SCAN_DYING && seep_procfs_is_ours(pid) &&
			      LEDGER_GET(ledger->state->ended) == LEDGER_ENDED_RUNNING,
		.ledger_fd = ledger->fd,
	};

	if (LEDGER_GET(ledger->state->tiers) & LEDGER_MODE_SAMPLED)
		return seep_fail(err, SEEP_EUNSUPPORTED,
				 "only a sample of its blocks is known (tier sampled), and the "
				 "others may hold what leads to them; tiers exact and counts tell");
	return seep_leak_scan((pid_t)pid, &ledger->view.header, &options, ret_scan, err);
}

static void tell_of_skipped(struct seep_profile *profile, const struct scan *scan)
{
	const uint64_t named = core_smaller(scan->skipped_count, SCAN_SKIPPED_MAX);
	char *reason = seep_profile_strdup(profile, "it could not be read");

	profile->scan.skipped = seep_profile_calloc(profile, named + 1,
						    sizeof(*profile->scan.skipped));
	profile->scan.skipped_count = (uint32_t)named;
	for (uint64_t i = 0; i < named; i++)
		profile->scan.skipped[i] = (struct seep_profile_range){
			.from = scan->skipped[i].begin,
			.to = scan->skipped[i].end,
			.reason = reason,
		};
}

/* @problem: NULL, or why the suppressions could not be read. */
static void tell_of_scan(struct seep_profile *profile, struct seep_leak_scan *scan,
			 const char *problem)
{
	struct seep_texts *caveats = &scan->caveats;
	const struct scan *marked = &scan->marked;
	struct seep_profile_scan *told = &profile->scan;

	if (problem)
		seep_texts_add(caveats, "nothing was suppressed: %s", problem);
	if (marked->skipped_count > SCAN_SKIPPED_MAX)
		seep_texts_add(caveats,
			       "%" PRIu64 " ranges of memory could not be "
			       "read, of which %d are listed",
			       marked->skipped_count, SCAN_SKIPPED_MAX);
	*told = (struct seep_profile_scan){
		.done = true,
		.method = seep_profile_strdup(profile, seep_scan_method_name(scan->method)),
		.at_ns = scan->at_ns,
		.pause_ns = scan->pause_ns,
		.mark_ns = scan->mark_ns,
		.marked_bytes = marked->marked_bytes,
		.blocks = marked->block_count,
		.caveats = seep_profile_calloc(profile, caveats->count + 1, sizeof(char *)),
		.caveat_count = (uint32_t)caveats->count,
	};
	for (size_t i = 0; i < caveats->count; i++)
		told->caveats[i] = seep_profile_strdup(profile, caveats->items[i]);
	tell_of_skipped(profile, marked);
}

/*
 * Blocks of rows that the ledger, which was read after the scan, has not, or far more than it
 * counted: the list of blocks or the ledger was written over.
 */
static bool contradicts(const struct seep_profile *profile, const struct scan_result *result)
{
	uint64_t bytes = 0;

	for (uint64_t i = 0; i < result->block_count; i++) {
		const struct scan_block *block = scan_result_block(result, i);

		if (block->row < profile->first_row)
			continue;
		if (block->row - profile->first_row >= profile->row_count)
			return true;
		bytes += block->size;
	}
	/* A block that is being resized stands there twice. */
	return bytes / 2 > profile->totals.alloc_bytes;
}

void seep_leak_check_fill(struct seep_profile *profile, struct seep_leak_scan *scan,
			  const struct seep_leak_check_plan *plan)
{
	const struct seep_verdict_options options = {
		.block_list_max = plan->block_list_max,
		.contents = scan->contents,
		.content_bytes = scan->content_bytes,
	};
	const char *own = profile->process.suppressions;
	SEEP_RELEASED(seep_suppressions_free_at) struct seep_suppressions *suppressions = NULL;
	struct seep_error err = { 0 };
	int rc;

	if (contradicts(profile, &scan->result))
		seep_profile_add_unseen(profile, SEEP_UNSEEN_DAMAGED,
					"the list of live blocks contradicts the ledger: one of "
					"them was damaged, perhaps by the program; nothing is "
					"concluded from them");
	if (seep_profile_says(profile, SEEP_UNSEEN_DAMAGED)) {
		seep_leak_check_none(profile, "the ledger was damaged");
		return;
	}
	rc = seep_leak_check_suppressions(plan, &suppressions, &err);
	if (rc == 0 && own)
		rc = seep_suppressions_add(suppressions, own, strlen(own),
					   "__lsan_default_suppressions()", &err);
	tell_of_scan(profile, scan, rc < 0 ? err.text : NULL);
	if (!suppressions)
		suppressions = seep_suppressions_new();
	seep_verdicts_judge(profile, &scan->result, suppressions, &options);
	if (plan->chains)
		seep_leak_chains_add(profile, scan, plan->symbols, plan->why);
}

static int name(const struct seep_leak_check_plan *plan, struct seep_profile *profile,
		struct seep_error *err)
{
	struct seep_symbols *symbols = NULL;

	if (plan->name)
		return plan->name(plan->user, profile, err);
	if (seep_symbols_new(plan->symbols, &symbols, NULL) == 0)
		(void)!seep_profile_symbolise(profile, symbols, false, NULL, NULL);
	seep_symbols_free(symbols);
	return 0;
}

int seep_leak_check_now(const struct seep_ledger *ledger, uint32_t pid,
			enum seep_scan_moment moment, const struct seep_leak_check_plan *plan,
			struct seep_leak_scan **ret_scan, struct seep_profile **ret_profile,
			struct seep_error *err)
{
	SEEP_RELEASED(seep_outside_done) struct seep_outside outside = { 0 };
	struct seep_leak_scan *scan = NULL;
	struct seep_profile *profile = NULL;
	struct seep_error why = { 0 };
	int rc;

	(void)!seep_leak_check_scan(ledger, pid, moment, plan, &scan, &why);
	rc = seep_profile_load_ledger(seep_procfs_fd(ledger->fd).text, false, &profile, err);
	if (rc == 0)
		rc = name(plan, profile, err);
	if (rc == 0) {
		seep_profile_hash_contexts(profile);
		/* Who waits at its end is looked at by who follows it. */
		if (moment == SEEP_SCAN_LIVE) {
			seep_outside_look(&outside, pid);
			seep_outside_explain(&outside, profile);
		}
		if (scan)
			seep_leak_check_fill(profile, scan, plan);
		else
			seep_leak_check_none(profile, why.text);
		seep_keep_allocations(profile);
		*ret_profile = profile;
	} else {
		seep_profile_free(profile);
	}
	if (rc == 0 && ret_scan)
		*ret_scan = scan;
	else
		seep_leak_scan_free(scan);
	return rc;
}

static void suppress(struct seep_profile *profile, struct seep_suppressions *suppressions,
		     struct seep_profile_leak *leak)
{
	const struct seep_profile_context *context;
	const bool again = leak->verdict == SEEP_VERDICT_SUPPRESSED;
	size_t rule;

	if (leak->context == 0 || leak->context > profile->context_count ||
	    (leak->verdict >= SEEP_VERDICT_RUNTIME && !again))
		return;
	context = &profile->contexts[leak->context - 1];
	if (seep_suppressions_match(suppressions, context,
				    again ? SEEP_VERDICT_LOST : leak->verdict,
				    &rule) != SEEP_IS_SUPPRESSED)
		return;
	leak->verdict = SEEP_VERDICT_SUPPRESSED;
	seep_suppressions_hit(suppressions, rule, profile, leak);
}

/* What goes with a leak goes with it here too; what does not any more is not counted with it. */
static void suppress_with(struct seep_profile *profile)
{
	for (uint32_t i = 0; i < profile->leak_count; i++) {
		struct seep_profile_leak *leak = &profile->leaks[i];
		struct seep_profile_leak *root;

		if (leak->root == 0 || leak->root > profile->leak_count)
			continue;
		root = &profile->leaks[leak->root - 1];
		if (root->verdict == SEEP_VERDICT_SUPPRESSED) {
			leak->verdict = SEEP_VERDICT_SUPPRESSED;
			leak->suppressed_by = root->suppressed_by;
		} else if (leak->verdict == SEEP_VERDICT_SUPPRESSED) {
			root->with_blocks -= core_smaller(leak->blocks, root->with_blocks);
			root->with_bytes -= core_smaller(leak->bytes, root->with_bytes);
			leak->root = 0;
		}
	}
}

int seep_leak_check_suppress(struct seep_profile *profile, const struct seep_leak_check_plan *plan,
			     struct seep_error *err)
{
	SEEP_RELEASED(seep_suppressions_free_at) struct seep_suppressions *suppressions = NULL;
	int rc;

	if (plan->suppression_count == 0)
		return 0;
	rc = seep_leak_check_suppressions(plan, &suppressions, err);
	if (rc < 0)
		return rc;
	seep_suppressions_begin(suppressions, profile);
	for (uint32_t i = 0; i < profile->leak_count; i++)
		suppress(profile, suppressions, &profile->leaks[i]);
	suppress_with(profile);
	seep_suppressions_find(suppressions, profile);
	seep_suppressions_tell(suppressions, profile);
	return 0;
}

void seep_leak_check_none(struct seep_profile *profile, const char *why)
{
	if (!profile->scan.done && !profile->scan.why_not)
		profile->scan.why_not = seep_profile_strdup(profile, why);
}

uint32_t seep_leak_check_verdicts(const struct seep_profile *profile)
{
	uint32_t verdicts = 0;

	for (uint32_t i = 0; i < profile->leak_count; i++)
		if (profile->leaks[i].verdict < SEEP_VERDICT_COUNT)
			verdicts |= UINT32_C(1) << profile->leaks[i].verdict;
	return verdicts;
}
