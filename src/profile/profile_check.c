/* SPDX-License-Identifier: MIT */
#include "profile/profile_check.h"

#include "profile/profile.h"
#include "profile/total_fields.h"

static int contradicts(struct seep_error *err, const char *what)
{
	return seep_fail(err, SEEP_ECORRUPT, "its figures contradict each other: %s", what);
}

/* Without epochs they are not known. */
static bool epochs_add_up(const struct seep_profile_context *context)
{
	uint64_t blocks = 0, bytes = 0;

	for (uint32_t i = 0; i < context->epoch_count; i++) {
		const struct seep_profile_epoch *epoch = &context->epochs[i];

		if (i > 0 && epoch->epoch <= epoch[-1].epoch)
			return false;
		if (__builtin_add_overflow(blocks, epoch->blocks, &blocks) ||
		    __builtin_add_overflow(bytes, epoch->bytes, &bytes))
			return false;
	}
	return context->epoch_count == 0 ||
	       (blocks == context->live_blocks && bytes == context->live_bytes);
}

static int check_context(const struct seep_profile_context *c, struct seep_error *err)
{
	if (c->frees > c->allocs || c->freed_bytes > c->alloc_bytes)
		return contradicts(err, "more was freed than allocated");
	if (c->live_blocks != c->allocs - c->frees ||
	    c->live_bytes != c->alloc_bytes - c->freed_bytes)
		return contradicts(err, "live is not allocated minus freed");
	if (c->peak_blocks > c->allocs || c->peak_bytes > c->alloc_bytes)
		return contradicts(err, "more was live at the peak than was allocated");
	if (c->temporary > c->allocs)
		return contradicts(err, "more was temporary than was allocated");
	if (!epochs_add_up(c))
		return contradicts(err, "the epochs do not sum to what is live");
	return 0;
}

bool seep_profile_sum(const struct seep_profile *profile, struct seep_profile_totals *totals)
{
	bool fits = true;

	for (int f = 0; f < SEEP_FIGURE_COUNT; f++) {
		const struct seep_total_field *field = seep_total_named(seep_figure_names[f]);
		uint64_t sum = 0;

		for (uint32_t i = 0; field && i < profile->context_count; i++)
			fits &= !__builtin_add_overflow(sum, profile->contexts[i].figures[f], &sum);
		if (field)
			seep_total_set(totals, field, sum);
	}
	return fits;
}

static int check_contexts(const struct seep_profile *profile, struct seep_error *err)
{
	struct seep_profile_totals sums = profile->totals;
	int r = 0;

	for (uint32_t i = 0; i < profile->context_count && r == 0; i++)
		r = check_context(&profile->contexts[i], err);
	for (uint32_t i = 0; i < profile->context_count && r == 0; i++)
		if (profile->contexts[i].scope > profile->scope_count)
			r = contradicts(err, "a context is of a scope that is not there");
	for (uint32_t i = 0; i < profile->scope_count && r == 0; i++)
		if (profile->scopes[i].parent > i)
			r = contradicts(err, "a scope comes before its parent");
		else if (profile->scopes[i].exits > profile->scopes[i].entries)
			r = contradicts(err, "a scope was left more often than entered");
	if (r < 0)
		return r;
	if (!seep_profile_sum(profile, &sums))
		return contradicts(err, "the contexts sum to more than any total can be");
	for (size_t i = 0; i < seep_total_field_count; i++)
		if (seep_total_get(&sums, &seep_total_fields[i]) !=
		    seep_total_get(&profile->totals, &seep_total_fields[i]))
			return contradicts(err, "the totals are not the sums of the contexts");
	return 0;
}

static int check_leaks(const struct seep_profile *p, struct seep_error *err)
{
	uint64_t blocks = 0, bytes = 0, with_blocks = 0, with_bytes = 0;

	if (p->leak_count > 0 && !p->scan.done)
		return contradicts(err, "leaks without a leak scan");
	for (uint32_t i = 0; i < p->leak_count; i++) {
		const struct seep_profile_leak *leak = &p->leaks[i];

		if (leak->context > p->context_count + p->left_out_count)
			return contradicts(err, "a leak is of a context that is not there");
		if (leak->root > p->leak_count || (leak->root && p->leaks[leak->root - 1].root))
			return contradicts(err, "a leak goes with one that is no root of leaks");
		if (__builtin_add_overflow(blocks, leak->blocks, &blocks) ||
		    __builtin_add_overflow(bytes, leak->bytes, &bytes) ||
		    __builtin_add_overflow(with_blocks, leak->with_blocks, &with_blocks) ||
		    __builtin_add_overflow(with_bytes, leak->with_bytes, &with_bytes))
			return contradicts(err, "the leaks sum to more than any total can be");
	}
	return 0;
}

static int check_findings(const struct seep_profile *p, struct seep_error *err)
{
	const uint32_t last = p->context_count + p->left_out_count;

	for (uint32_t i = 0; i < p->finding_count; i++)
		if (p->findings[i].block > last || p->findings[i].freed > last ||
		    p->findings[i].here > last)
			return contradicts(err, "a finding is of a context that is not there");
	return 0;
}

static bool is_sum(const struct seep_profile_forked *sums)
{
	return sums->frees <= sums->allocs && sums->freed_bytes <= sums->alloc_bytes &&
	       sums->live_bytes == sums->alloc_bytes - sums->freed_bytes;
}

int seep_profile_check(const struct seep_profile *profile, struct seep_error *err)
{
	const struct seep_profile_totals *totals = &profile->totals;
	int r = check_contexts(profile, err);

	if (r == 0)
		r = check_leaks(profile, err);
	if (r == 0)
		r = check_findings(profile, err);
	if (r < 0)
		return r;
	if (totals->temporary_bytes > totals->alloc_bytes)
		return contradicts(err, "more bytes were temporary than were allocated");
	if (totals->walks_landed > totals->walks || totals->walks_truncated > totals->walks)
		return contradicts(err,
				   "more walks landed or were truncated than there were walks");
	if (!is_sum(&profile->forked))
		return contradicts(err, "live of forked children is not allocated minus freed");
	if (!is_sum(&profile->run.sums))
		return contradicts(err, "live of the run is not allocated minus freed");
	for (uint32_t i = 1; i < profile->sample_count; i++)
		if (profile->timeline[i].at_ns < profile->timeline[i - 1].at_ns)
			return contradicts(err, "the timeline goes back");
	return 0;
}
