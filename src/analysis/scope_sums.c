/* SPDX-License-Identifier: MIT */
#include "analysis/scope_sums.h"

#include "base/idtable.h"
#include "base/xalloc.h"
#include "core/bits.h"
#include "core/glob.h"

#include <stdlib.h>
#include <string.h>

bool seep_scope_has_tag(const struct seep_profile *profile, uint32_t scope, const char *glob)
{
	const struct core_glob wanted = { glob, strlen(glob) };

	for (; scope; scope = profile->scopes[scope - 1].parent) {
		const char *tag = profile->scopes[scope - 1].tag;

		if (core_glob_match(wanted, tag, strlen(tag)))
			return true;
	}
	return false;
}

/* A parent comes before its children. */
static void sum_scopes(struct seep_scopes *to, const struct seep_profile *profile)
{
	for (uint32_t i = 0; i < profile->context_count; i++)
		if (profile->contexts[i].scope)
			seep_counts_add_context(&to->scopes[profile->contexts[i].scope - 1].own,
						&profile->contexts[i]);
	for (uint32_t i = profile->scope_count; i-- > 0;) {
		const uint32_t parent = profile->scopes[i].parent;

		seep_counts_add(&to->scopes[i].all, &to->scopes[i].own);
		if (parent)
			seep_counts_add(&to->scopes[parent - 1].all, &to->scopes[i].all);
	}
}

static struct seep_scope_tag *tag_of(struct seep_scopes *to, struct seep_idtable *ids,
				     const char *tag)
{
	const uint64_t hash = seep_hash_text(1, tag);
	size_t at = SEEP_IDTABLE_START;
	uint32_t index;

	while ((index = seep_idtable_find(ids, hash, &at)) != SEEP_IDTABLE_NONE)
		if (strcmp(to->tags[index].tag, tag) == 0)
			return &to->tags[index];
	seep_idtable_add(ids, hash, to->tag_count);
	to->tags[to->tag_count].tag = tag;
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

/* Of a scope and those further out each has another tag: what is allocated in it is theirs once. */
static void sum_tags(struct seep_scopes *to, const struct seep_profile *profile)
{
	SEEP_RELEASED(seep_idtable_done) struct seep_idtable ids = { 0 };

	for (uint32_t i = 0; i < profile->scope_count; i++) {
		struct seep_scope_tag *tag = tag_of(to, &ids, profile->scopes[i].tag);

		add_figures(&tag->figures, &profile->scopes[i]);
		seep_counts_add(&tag->sums.own, &to->scopes[i].own);
		for (uint32_t at = i + 1; at; at = profile->scopes[at - 1].parent)
			seep_counts_add(&tag_of(to, &ids, profile->scopes[at - 1].tag)->sums.all,
					&to->scopes[i].own);
	}
	qsort(to->tags, to->tag_count, sizeof(*to->tags), by_held);
}

void seep_scopes_init(struct seep_scopes *scopes, const struct seep_profile *profile)
{
	*scopes = (struct seep_scopes){
		.scopes = seep_xcalloc(profile->scope_count, sizeof(*scopes->scopes)),
		.tags = seep_xcalloc(profile->scope_count, sizeof(*scopes->tags)),
	};
	sum_scopes(scopes, profile);
	sum_tags(scopes, profile);
}

void seep_scopes_done(struct seep_scopes *scopes)
{
	free(scopes->scopes);
	free(scopes->tags);
}
