/* SPDX-License-Identifier: MIT */
/* Tier "counts": blocks whose stacks were not walked are lost as those of their site that were. */
#include <math.h>

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

/* What a draft stands for beside itself; where nothing was taken to go by, what it has. */
struct weight {
	double blocks, bytes, squares;
};

static struct weight weight_of(const struct judge *j, const struct draft *draft, bool is_plain)
{
	const struct seep_profile_context *context = seep_profile_context_at(j->profile,
									     draft->fate.context);

	if (!is_plain)
		return (struct weight){ draft->others, draft->other_bytes, draft->squares };
	if (!context || context->site)
		return (struct weight){ 0 };
	return (struct weight){ (double)draft->leak.blocks, (double)draft->leak.bytes,
				(double)draft->leak.blocks };
}

/* Whether blocks of the rest fared as those of @taken did; so do those that a rule is for. */
static bool tells_of(const struct draft *taken, const struct weight *weight,
		     const struct draft *rest)
{
	return weight->blocks > 0 && (taken->fate.verdict == rest->fate.verdict ||
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
	struct weight all = { 0 }, sum = { 0 };
	uint64_t blocks = 0, bytes = 0;
	bool is_plain = false;
	size_t at, best = from;
	double most = 0;
	uint32_t id;

	for (int pass = 0; pass < 2 && all.blocks <= 0; pass++) {
		is_plain = pass == 1;
		at = SEEP_IDTABLE_START;
		while ((id = seep_idtable_find(sites, hash, &at)) != SEEP_IDTABLE_NONE) {
			const struct weight weight = weight_of(j, &j->drafts[id], is_plain);

			if (!tells_of(&j->drafts[id], &weight, &j->drafts[from]))
				continue;
			all.blocks += weight.blocks;
			all.bytes += weight.bytes;
			all.squares += weight.squares;
		}
	}
	at = SEEP_IDTABLE_START;
	while (all.blocks > 0 && (id = seep_idtable_find(sites, hash, &at)) != SEEP_IDTABLE_NONE) {
		const struct draft taken = j->drafts[id];
		const struct weight weight = weight_of(j, &taken, is_plain);
		const double error = seep_share_error(weight.blocks / all.blocks,
						      all.blocks * all.blocks / all.squares);
		uint64_t upto, upto_bytes;
		size_t to;

		if (!tells_of(&taken, &weight, &j->drafts[from]))
			continue;
		sum.blocks += weight.blocks;
		sum.bytes += weight.bytes;
		upto = sum.blocks >= all.blocks
			       ? rest.blocks
			       : (uint64_t)((double)rest.blocks * (sum.blocks / all.blocks));
		upto_bytes = sum.blocks >= all.blocks
				     ? rest.bytes
				     : (uint64_t)((double)rest.bytes * (sum.bytes / all.bytes));
		to = give(j, from, id, upto - blocks, upto_bytes - bytes);
		add_error(&j->drafts[to].leak, &rest, error);
		blocks = upto;
		bytes = upto_bytes;
		best = weight.blocks > most ? to : best;
		most = fmax(most, weight.blocks);
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
