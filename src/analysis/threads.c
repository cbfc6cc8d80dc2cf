/* SPDX-License-Identifier: MIT */
#include "analysis/threads.h"

#include <stdlib.h>
#include <string.h>

#include "base/idtable.h"
#include "analysis/rank.h"
#include "base/xalloc.h"

enum { EXPECTED = 64 };

struct summer {
	struct seep_threads *threads;
	struct seep_idtable table;
	size_t capacity;
};

bool seep_threads_known(const struct seep_profile *profile)
{
	for (uint32_t i = 0; i < profile->context_count; i++)
		if (profile->contexts[i].thread != NULL)
			return true;
	return false;
}

static bool same_name(const char *a, const char *b)
{
	return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static struct seep_thread *find(struct summer *s, const char *name)
{
	const uint64_t hash = seep_hash_text(0, name);
	struct seep_threads *threads = s->threads;
	size_t at = SEEP_IDTABLE_START;
	uint32_t id;

	while ((id = seep_idtable_find(&s->table, hash, &at)) != SEEP_IDTABLE_NONE)
		if (same_name(threads->items[id].name, name))
			return &threads->items[id];
	threads->items = seep_xgrow(threads->items, &s->capacity, (size_t)threads->count + 1,
				    sizeof(*threads->items));
	seep_idtable_add(&s->table, hash, threads->count);
	threads->items[threads->count] = (struct seep_thread){ .name = name };
	return &threads->items[threads->count++];
}

static void add(struct summer *s, const struct seep_profile_context *context)
{
	struct seep_thread *thread = find(s, context->thread);

	thread->contexts++;
	seep_counts_add_context(&thread->counts, context);
}

static void sort(struct seep_threads *threads, enum seep_measure measure)
{
	struct seep_ranked *ranked = seep_xcalloc(threads->count, sizeof(*ranked));
	struct seep_thread *sorted = seep_xcalloc(threads->count, sizeof(*sorted));

	for (uint32_t i = 0; i < threads->count; i++)
		ranked[i] = (struct seep_ranked){
			.value = seep_counts_value(&threads->items[i].counts, measure),
			.tie = seep_hash_text(0, threads->items[i].name),
			.index = i,
		};
	(void)seep_rank_top(ranked, threads->count, threads->count);
	for (uint32_t i = 0; i < threads->count; i++)
		sorted[i] = threads->items[ranked[i].index];
	free(threads->items);
	threads->items = sorted;
	free(ranked);
}

struct seep_threads *seep_threads_new(const struct seep_groups *groups,
				      const struct seep_profile *profile,
				      const struct seep_group *group, enum seep_measure measure)
{
	struct summer s = { .threads = seep_xcalloc(1, sizeof(struct seep_threads)) };

	seep_idtable_init(&s.table, EXPECTED);
	if (group == NULL) {
		for (uint32_t i = 0; i < profile->context_count; i++)
			add(&s, &profile->contexts[i]);
	} else {
		uint32_t at = group->context;

		for (uint32_t i = 0; i < group->context_count; i++) {
			add(&s, &profile->contexts[at]);
			at = groups->next[at];
		}
	}
	seep_idtable_done(&s.table);
	sort(s.threads, measure);
	return s.threads;
}

void seep_threads_free(struct seep_threads *threads)
{
	if (threads == NULL)
		return;
	free(threads->items);
	free(threads);
}
