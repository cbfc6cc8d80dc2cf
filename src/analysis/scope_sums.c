/* SPDX-License-Identifier: MIT */
#include "analysis/scope_sums.h"

#include "base/clock.h"
#include "base/idtable.h"
#include "base/strbuf.h"
#include "core/bits.h"

#include <stdlib.h>
#include <string.h>

enum { PATH_TAGS = 64 }; /* that are named, the innermost */

#define OLD_NS (UINT64_C(10) * SEEP_NS_PER_S)

uint32_t seep_scopes_old_epoch(const struct seep_profile *profile, uint64_t now_ns,
			       uint64_t *ret_age_ns)
{
	uint32_t last = profile->mark_count;

	while (last > 0 && profile->marks[last - 1].at_ns + OLD_NS > now_ns)
		last--;
	*ret_age_ns = last ? now_ns - profile->marks[last - 1].at_ns : 0;
	return last ? profile->marks[last - 1].epoch : 0;
}

uint64_t seep_scope_mean_ns(const struct seep_profile_scope *scope)
{
	uint64_t timed = 0;

	/* Not those whose time is counted further out. */
	for (int i = 0; i < SEEP_PROFILE_DURATION_BUCKETS; i++)
		timed += scope->histogram[i];
	return timed ? scope->wall_ns / timed : 0;
}

char *seep_scope_path(const struct seep_profile *profile, uint32_t scope)
{
	const char *tags[PATH_TAGS];
	size_t count = 0;
	SEEP_STRBUF(path, SIZE_MAX / 2);

	for (; scope && count < PATH_TAGS; scope = profile->scopes[scope - 1].parent)
		tags[count++] = profile->scopes[scope - 1].tag;
	if (scope)
		seep_strbuf_adds(&path, "…/");
	while (count-- > 0)
		seep_strbuf_addf(&path, "%s%s", tags[count], count ? "/" : "");
	return seep_strbuf_take(&path);
}

static void add_context(struct seep_scope_sums *to, const struct seep_profile_context *context,
			uint32_t old_epoch)
{
	seep_counts_add_context(&to->own, context);
	for (uint32_t i = 0; i < context->epoch_count && context->epochs[i].epoch < old_epoch; i++)
		seep_counts_sum(&to->own_old_bytes, (int64_t)context->epochs[i].bytes);
}

/* A parent comes before its children. */
static void sum_children(struct seep_scopes *to, const struct seep_profile *profile)
{
	for (uint32_t i = profile->scope_count; i-- > 0;) {
		const uint32_t parent = profile->scopes[i].parent;

		seep_counts_add(&to->scopes[i].all, &to->scopes[i].own);
		seep_counts_sum(&to->scopes[i].old_bytes, to->scopes[i].own_old_bytes);
		if (!parent)
			continue;
		seep_counts_add(&to->scopes[parent - 1].all, &to->scopes[i].all);
		seep_counts_sum(&to->scopes[parent - 1].old_bytes, to->scopes[i].old_bytes);
	}
}

static struct seep_scope_tag *tag_of(struct seep_scopes *to, struct seep_idtable *ids,
				     const struct seep_profile *profile, uint32_t scope)
{
	const char *tag = profile->scopes[scope].tag;
	const uint64_t hash = seep_hash_text(1, tag);
	size_t at = SEEP_IDTABLE_START;
	uint32_t index;

	while ((index = seep_idtable_find(ids, hash, &at)) != SEEP_IDTABLE_NONE)
		if (strcmp(to->tags[index].tag, tag) == 0)
			return &to->tags[index];
	seep_idtable_add(ids, hash, to->tag_count);
	to->tags[to->tag_count].tag = tag;
	to->tags[to->tag_count].first = scope;
	return &to->tags[to->tag_count++];
}

static void add_figures(struct seep_profile_scope *sum, const struct seep_profile_scope *more)
{
#define ADD(name) sum->name += more->name;
	SEEP_SCOPE_SUMS(ADD)
#undef ADD
	for (int i = 0; i < SEEP_PROFILE_DURATION_BUCKETS; i++)
		sum->histogram[i] += more->histogram[i];
	/* Of none, 0, the number before is the largest. */
	if (more->least_ns - 1 < sum->least_ns - 1)
		sum->least_ns = more->least_ns;
	if (more->first_ns - 1 < sum->first_ns - 1)
		sum->first_ns = more->first_ns;
	sum->most_ns = core_larger(sum->most_ns, more->most_ns);
	sum->last_ns = core_larger(sum->last_ns, more->last_ns);
}

static int by_held(const void *left, const void *right)
{
	const struct seep_counts *a = &((const struct seep_scope_tag *)left)->sums.all;
	const struct seep_counts *b = &((const struct seep_scope_tag *)right)->sums.all;

	if (a->live_bytes != b->live_bytes)
		return a->live_bytes < b->live_bytes ? 1 : -1;
	return (a->alloc_bytes < b->alloc_bytes) - (a->alloc_bytes > b->alloc_bytes);
}

/* A tag stands once in a path: of two scopes that have it neither is in the other. */
static void sum_tags(struct seep_scopes *to, const struct seep_profile *profile, bool part)
{
	SEEP_RELEASED(seep_idtable_done) struct seep_idtable ids = { 0 };

	for (uint32_t i = 0; i < profile->scope_count; i++) {
		struct seep_scope_tag *tag = tag_of(to, &ids, profile, i);

		if (!part || to->scopes[i].all.allocs > 0)
			add_figures(&tag->figures, &profile->scopes[i]);
		seep_counts_add(&tag->sums.own, &to->scopes[i].own);
		seep_counts_add(&tag->sums.all, &to->scopes[i].all);
		seep_counts_sum(&tag->sums.old_bytes, to->scopes[i].old_bytes);
	}
	qsort(to->tags, to->tag_count, sizeof(*to->tags), by_held);
}

void seep_scopes_init(struct seep_scopes *scopes, const struct seep_profile *profile,
		      uint32_t old_epoch, bool part)
{
	*scopes = (struct seep_scopes){
		.scopes = seep_xcalloc(profile->scope_count, sizeof(*scopes->scopes)),
		.tags = seep_xcalloc(profile->scope_count, sizeof(*scopes->tags)),
	};
	for (uint32_t i = 0; i < profile->context_count; i++)
		if (profile->contexts[i].scope && !profile->contexts[i].hidden)
			add_context(&scopes->scopes[profile->contexts[i].scope - 1],
				    &profile->contexts[i], old_epoch);
	sum_children(scopes, profile);
	sum_tags(scopes, profile, part);
}

void seep_scopes_done(struct seep_scopes *scopes)
{
	free(scopes->scopes);
	free(scopes->tags);
}
