/* SPDX-License-Identifier: MIT */
#include "analysis/threads.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"

bool seep_threads_known(const struct seep_profile *profile)
{
	for (uint32_t i = 0; i < profile->context_count; i++)
		if (profile->contexts[i].thread != NULL)
			return true;
	return false;
}

static int compare_names(const char *a, const char *b)
{
	return a != NULL && b != NULL ? strcmp(a, b) : (a != NULL) - (b != NULL);
}

static int by_name(const void *a, const void *b)
{
	const struct seep_profile_context *const *x = a, *const *y = b;

	return compare_names((*x)->thread, (*y)->thread);
}

static int by_scope(const void *a, const void *b)
{
	const struct seep_profile_context *const *x = a, *const *y = b;

	return ((*x)->scope > (*y)->scope) - ((*x)->scope < (*y)->scope);
}

static int by_value(const void *a, const void *b, void *measure)
{
	const struct seep_thread *x = a, *y = b;
	const int64_t left = seep_counts_value(&x->counts, *(enum seep_measure *)measure);
	const int64_t right = seep_counts_value(&y->counts, *(enum seep_measure *)measure);

	if (left != right)
		return left < right ? 1 : -1;
	return x->scope != y->scope ? (x->scope > y->scope ? 1 : -1)
				    : compare_names(x->name, y->name);
}

struct seep_threads *seep_threads_new(const struct seep_groups *groups,
				      const struct seep_profile *profile,
				      const struct seep_group *group, enum seep_measure measure,
				      bool scopes)
{
	int (*const order)(const void *, const void *) = scopes ? by_scope : by_name;
	const uint32_t count = group != NULL ? group->context_count : profile->context_count;
	SEEP_FREED const struct seep_profile_context **contexts = seep_xcalloc(count,
									       sizeof(void *));
	struct seep_threads *threads =
		seep_xcalloc(1, sizeof(*threads) + count * sizeof(threads->items[0]));
	uint32_t at = group != NULL ? group->context : 0;

	for (uint32_t i = 0; i < count; i++) {
		contexts[i] = &profile->contexts[at];
		at = group != NULL ? groups->next[at] : at + 1;
	}
	qsort(contexts, count, sizeof(void *), order);
	for (uint32_t i = 0; i < count; i++) {
		if (i == 0 || order(&contexts[i - 1], &contexts[i]) != 0)
			threads->items[threads->count++] = (struct seep_thread){
				.name = scopes ? NULL : contexts[i]->thread,
				.scope = scopes ? contexts[i]->scope : 0,
			};
		seep_counts_add_context(&threads->items[threads->count - 1].counts, contexts[i]);
	}
	qsort_r(threads->items, threads->count, sizeof(*threads->items), by_value, &measure);
	return threads;
}
