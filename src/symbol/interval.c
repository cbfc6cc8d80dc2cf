/* SPDX-License-Identifier: MIT */
#include "symbol/interval.h"

#include "base/search.h"
#include "base/xalloc.h"

#include <stdlib.h>

void seep_interval_add(struct seep_interval_list *list, struct seep_interval item)
{
	if (item.to <= item.from)
		return;
	*SEEP_APPEND(list->items, list->count) = item;
}

static int compare(const void *a, const void *b)
{
	const struct seep_interval *x = a;
	const struct seep_interval *y = b;

	/* A total order: the result must not depend on the sort. */
	return seep_search_order(x->from, y->from) ?: seep_search_order(x->depth, y->depth)
		?: seep_search_order(y->to, x->to) ?: seep_search_order(x->id, y->id);
}

/* From @from on it is @id. A segment that turned out empty is taken back. */
static void emit(struct seep_segments *segments, uint64_t from, uint32_t id)
{
	size_t count = segments->count;

	if (count && segments->items[count - 1].from == from)
		count--;
	if (count && segments->items[count - 1].id == id) {
		segments->count = count;
		return;
	}
	segments->items[count] = (struct seep_segment){ .from = from, .id = id };
	segments->count = count + 1;
}

/* Close what ends at or before @until; the one underneath takes over where the upper one ended. */
static size_t close_ended(struct seep_segments *segments, const struct seep_interval **open,
			  size_t depth, uint64_t until)
{
	while (depth && open[depth - 1]->to <= until) {
		uint64_t end = open[--depth]->to;

		while (depth && open[depth - 1]->to <= end)
			depth--;
		emit(segments, end, depth ? open[depth - 1]->id : SEEP_INTERVAL_NONE);
	}
	return depth;
}

void seep_segments_build(struct seep_segments *segments, struct seep_interval_list *list)
{
	SEEP_FREED const struct seep_interval **open = NULL;
	size_t depth = 0;

	*segments = (struct seep_segments){ 0 };
	if (!list->count)
		return;
	qsort(list->items, list->count, sizeof(*list->items), compare);
	/* Each interval emits at most once where it starts and once where it ends. */
	segments->items = seep_xcalloc(2 * list->count, sizeof(*segments->items));
	open = seep_xcalloc(list->count, sizeof(*open));
	for (size_t i = 0; i < list->count; i++) {
		const struct seep_interval *item = &list->items[i];

		depth = close_ended(segments, open, depth, item->from);
		emit(segments, item->from, item->id);
		open[depth++] = item;
	}
	(void)close_ended(segments, open, depth, UINT64_MAX);
	free(list->items);
	*list = (struct seep_interval_list){ 0 };
	segments->items = seep_xrealloc(segments->items, segments->count, sizeof(*segments->items));
}

uint32_t seep_segments_find(const struct seep_segments *segments, uint64_t address)
{
	size_t count = seep_search_upto(segments->items, segments->count, sizeof(*segments->items),
					address);

	return count ? segments->items[count - 1].id : SEEP_INTERVAL_NONE;
}

void seep_segments_done(struct seep_segments *segments)
{
	free(segments->items);
	*segments = (struct seep_segments){ 0 };
}
