/* SPDX-License-Identifier: MIT */
/* Tier "counts": blocks whose stacks were not walked are lost as those of their site that were. */
#include <math.h>
#include <stdlib.h>

#include "analysis/verdict_parts.h"
#include "base/xalloc.h"
#include "profile/estimate.h"
#include "profile/verdict.h"

/* By what @draft's context has in common with its site's. */
static uint64_t hash_site(const struct judge *j, const struct draft *draft)
{
	const struct seep_profile_context *context = seep_profile_context_at(j->profile,
									     draft->fate.context);
	const struct seep_profile_frame *frame;
	uint64_t hash;

	if (!context || context->stack_count == 0)
		return 0;
	frame = &j->profile->frames[context->stack[0].frame];
	hash = seep_hash_mix(frame->address, (uint64_t)frame->module << 32 | context->scope);
	return seep_hash_text(
		seep_hash_mix(hash, (uint64_t)context->kind << 8 | context->align_log2),
		context->thread);
}

/* Whether blocks of the rest fared as those of @taken did; so do those that a rule is for. */
static bool tells_of(const struct draft *taken, const struct draft *rest)
{
	return taken->others > 0 && (taken->fate.verdict == rest->fate.verdict ||
				     (taken->fate.rule && taken->first != NO_BLOCK &&
				      rest->fate.verdict <= SEEP_VERDICT_LOST_WITH));
}

/* Add a share of the draft @from to the one that is like it, of the context of @taken. */
static size_t give(struct judge *j, size_t from, size_t taken, uint64_t blocks, uint64_t bytes)
{
	const struct draft rest = j->drafts[from];
	struct fate fate = rest.fate;
	struct draft *to;

	fate.context = j->drafts[taken].fate.context;
	if (j->drafts[taken].fate.verdict != fate.verdict)
		fate = j->drafts[taken].fate;
	to = seep_judge_draft(j, &fate);
	to->leak.blocks += blocks;
	to->leak.bytes += bytes;
	to->first = to->first == NO_BLOCK ? rest.first : to->first;
	to->hinted = to->hinted == NO_BLOCK ? rest.hinted : to->hinted;
	j->drafts[from].leak.blocks -= blocks;
	j->drafts[from].leak.bytes -= bytes;
	return (size_t)(to - j->drafts);
}

static void add_error(struct seep_profile_leak *leak, const struct seep_profile_leak *rest,
		      double share)
{
	leak->blocks_error = seep_error_join(leak->blocks_error,
					     seep_error_ceil((double)rest->blocks * share));
	leak->bytes_error = seep_error_join(leak->bytes_error,
					    seep_error_ceil((double)rest->bytes * share));
}

/* Give the site's draft @from to its stacks. Returns who gets most; @from: nobody gets any. */
static size_t split(struct judge *j, size_t from, const struct seep_idtable *sites)
{
	const struct seep_profile_leak rest = j->drafts[from].leak;
	const uint64_t hash = hash_site(j, &j->drafts[from]);
	double all = 0, squares = 0, all_bytes = 0, sum = 0, sum_bytes = 0, most = 0;
	uint64_t blocks = 0, bytes = 0;
	size_t at = SEEP_IDTABLE_START, best = from;
	uint32_t id;

	while ((id = seep_idtable_find(sites, hash, &at)) != SEEP_IDTABLE_NONE)
		if (tells_of(&j->drafts[id], &j->drafts[from])) {
			all += j->drafts[id].others;
			all_bytes += j->drafts[id].other_bytes;
			squares += j->drafts[id].squares;
		}
	at = SEEP_IDTABLE_START;
	while (all > 0 && (id = seep_idtable_find(sites, hash, &at)) != SEEP_IDTABLE_NONE) {
		const struct draft taken = j->drafts[id];
		double error = seep_share_error(taken.others / all, all * all / squares);
		uint64_t upto, upto_bytes;
		size_t to;

		if (!tells_of(&taken, &j->drafts[from]))
			continue;
		if (taken.others <= 0) {
			add_error(&j->drafts[id].leak, &rest, error);
			continue;
		}
		sum += taken.others;
		sum_bytes += taken.other_bytes;
		upto = sum >= all ? rest.blocks : (uint64_t)((double)rest.blocks * (sum / all));
		upto_bytes = sum >= all ? rest.bytes
					: (uint64_t)((double)rest.bytes * (sum_bytes / all_bytes));
		to = give(j, from, id, upto - blocks, upto_bytes - bytes);
		add_error(&j->drafts[to].leak, &rest, error);
		blocks = upto;
		bytes = upto_bytes;
		best = taken.others > most ? to : best;
		most = fmax(most, taken.others);
	}
	return best;
}

void seep_judge_split_sites(struct judge *j, size_t first)
{
	SEEP_RELEASED(seep_idtable_done) struct seep_idtable sites = { 0 };
	const size_t count = j->draft_count;
	/* By draft: which has its blocks now. */
	SEEP_FREED uint32_t *now = seep_xcalloc(count, sizeof(*now));

	for (size_t i = 0; i < count; i++)
		if (j->drafts[i].leak.blocks > 0)
			seep_idtable_add(&sites, hash_site(j, &j->drafts[i]), (uint32_t)i);
	for (size_t i = 0; i < count; i++) {
		const struct seep_profile_context *context =
			seep_profile_context_at(j->profile, j->drafts[i].fate.context);

		now[i] = (uint32_t)i;
		if (i >= first && context && context->site)
			now[i] = (uint32_t)split(j, i, &sites);
	}
	for (uint64_t i = 0; i < j->result->block_count; i++)
		if (j->leaks[i] < count)
			j->leaks[i] = now[j->leaks[i]];
}
