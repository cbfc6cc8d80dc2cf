/* SPDX-License-Identifier: MIT */
#include "target/ranges.h"

#include "base/search.h"
#include "base/xalloc.h"

#include <stdlib.h>

void seep_ranges_add(struct seep_ranges *ranges, uint64_t begin, uint64_t end)
{
	struct scan_range *last = ranges->count ? &ranges->items[ranges->count - 1] : NULL;

	if (begin >= end)
		return;
	if (last && begin >= last->begin && begin <= last->end) {
		if (last->end < end)
			last->end = end;
		return;
	}
	*SEEP_APPEND(ranges->items, ranges->count) = (struct scan_range){ begin, end };
}

void seep_ranges_add_all(struct seep_ranges *ranges, const struct seep_ranges *others)
{
	for (size_t i = 0; i < others->count; i++)
		seep_ranges_add(ranges, others->items[i].begin, others->items[i].end);
}

void seep_ranges_settle(struct seep_ranges *ranges)
{
	struct seep_ranges unsettled = *ranges;

	seep_search_sort(unsettled.items, unsettled.count, sizeof(*unsettled.items));
	*ranges = (struct seep_ranges){ 0 };
	seep_ranges_add_all(ranges, &unsettled);
	seep_ranges_done(&unsettled);
}

size_t seep_ranges_from(const struct seep_ranges *ranges, uint64_t address)
{
	const size_t begun = seep_search_upto(ranges->items, ranges->count, sizeof(*ranges->items),
					      address);

	return begun && ranges->items[begun - 1].end > address ? begun - 1 : begun;
}

bool seep_ranges_have(const struct seep_ranges *ranges, uint64_t address)
{
	const size_t at = seep_ranges_from(ranges, address);

	return at < ranges->count && ranges->items[at].begin <= address;
}

bool seep_ranges_gap(const struct seep_ranges *ranges, uint64_t *at, uint64_t end,
		     uint64_t *ret_end)
{
	size_t i = seep_ranges_from(ranges, *at);

	if (i < ranges->count && ranges->items[i].begin <= *at)
		*at = ranges->items[i++].end;
	*ret_end = i < ranges->count && ranges->items[i].begin < end ? ranges->items[i].begin : end;
	return *at < end;
}

void seep_ranges_done(struct seep_ranges *ranges)
{
	free(ranges->items);
	*ranges = (struct seep_ranges){ 0 };
}
