/* SPDX-License-Identifier: MIT */
#include "analysis/live_tags.h"

#include "analysis/rank.h"
#include "base/clock.h"

void seep_live_read_scopes(const struct seep_live *live, struct seep_live_process *process,
			   uint64_t now_ns)
{
	struct seep_profile *profile = process->profile;
	const uint32_t old_epoch = seep_scopes_old_epoch(profile, now_ns, &process->old_ns);
	SEEP_FREED bool *kept = seep_keep_of_scope(profile, &live->options.scopes);

	for (uint32_t i = 0; i < profile->context_count; i++)
		profile->contexts[i].hidden = !kept[profile->contexts[i].scope];
	seep_scopes_done(&process->scopes_before);
	process->scopes_before = process->scopes;
	seep_scopes_init(&process->scopes, profile, old_epoch, live->options.scopes.count > 0);
}

/* A ledger may say anything: what is too much for a rate is none. */
static int64_t per_second(uint64_t now, uint64_t before, uint64_t span_ns)
{
	const double rate =
		span_ns ? (double)(int64_t)(now - before) * SEEP_NS_PER_S / (double)span_ns : 0;

	return rate >= (double)INT64_MAX || rate <= (double)-INT64_MAX ? 0 : (int64_t)rate;
}

static int64_t value_of(const struct seep_live_tag *tag, enum seep_live_sort sort)
{
	if (sort == SEEP_LIVE_BY_CHANGE || sort == SEEP_LIVE_BY_GROWTH)
		return tag->held_per_s;
	return sort == SEEP_LIVE_BY_ALLOCS ? tag->entries_per_s : tag->sum->sums.all.live_bytes;
}

/* @then: in the reading before. */
static struct seep_live_tag tag_of(const struct seep_live_process *process,
				   const struct seep_scope_tag *now,
				   const struct seep_scope_tag *then)
{
	return (struct seep_live_tag){
		.process = process,
		.sum = now,
		.held_per_s = per_second((uint64_t)now->sums.all.live_bytes,
					 (uint64_t)then->sums.all.live_bytes, process->span_ns),
		.entries_per_s = per_second(now->figures.entries, then->figures.entries,
					    process->span_ns),
	};
}

uint32_t seep_live_tags(const struct seep_live *live, enum seep_live_sort sort, uint32_t top,
			struct seep_live_tag *ret_tags)
{
	static const struct seep_scope_tag nothing;
	SEEP_FREED struct seep_live_tag *all = NULL;
	SEEP_FREED struct seep_ranked *ranked = NULL;
	size_t count = 0;

	for (uint32_t p = 0; p < live->count; p++) {
		const struct seep_live_process *process = live->processes[p];
		const struct seep_scopes *now = &process->scopes, *then = &process->scopes_before;
		/* By scope: the tag that it is the first of. */
		SEEP_FREED const struct seep_scope_tag **before =
			seep_xcalloc(process->profile->scope_count, sizeof(*before));

		for (uint32_t i = 0; i < then->tag_count; i++)
			before[then->tags[i].first] = &then->tags[i];
		for (uint32_t i = 0; i < now->tag_count && seep_live_is_current(live, process);
		     i++) {
			const struct seep_scope_tag *tag = &now->tags[i];

			if (!live->options.scopes.count || tag->sums.all.allocs > 0)
				*SEEP_APPEND(all, count) =
					tag_of(process, tag,
					       before[tag->first] ? before[tag->first] : &nothing);
		}
	}
	ranked = seep_xcalloc(count, sizeof(*ranked));
	for (uint32_t i = 0; i < count; i++)
		ranked[i] = (struct seep_ranked){
			.value = value_of(&all[i], sort),
			.tie = ~(uint64_t)all[i].sum->sums.all.alloc_bytes,
			.index = i,
		};
	top = (uint32_t)seep_rank_top(ranked, count, top);
	for (uint32_t i = 0; i < top; i++)
		ret_tags[i] = all[ranked[i].index];
	return top;
}
