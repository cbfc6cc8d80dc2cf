/* SPDX-License-Identifier: MIT */
#include "runtime/sys/rt_facts.h"

#include <dlfcn.h>

RT_LARGE struct ledger_facts rt_facts;

enum { REMOVE_TRIES = 100 };

struct range {
	uint64_t begin; /* 0: none */
	uint64_t end;
};

struct list {
	struct ledger_range *ranges;
	_Atomic uint32_t *count;
	uint32_t max;
};

static const struct list own_list = { rt_facts.own, &rt_facts.own_count, LEDGER_OWN_MAX };
static const struct list taken_list = { rt_facts.taken, &rt_facts.taken_count, LEDGER_TAKEN_MAX };
static const struct list region_list = { rt_facts.regions, &rt_facts.region_count,
					 LEDGER_REGIONS_MAX };

/* The two words may belong to two changes; then exchange() fails. */
static struct range read_range(const struct ledger_range *range)
{
	return (struct range){ rt_load(&range->begin), rt_load(&range->end) };
}

/* Both words at once, if they are still @from. */
static bool exchange(struct ledger_range *range, struct range from, struct range to)
{
	bool done;

	__asm__ volatile("lock cmpxchg16b %1"
			 : "=@ccz"(done), "+m"(*range), "+a"(from.begin), "+d"(from.end)
			 : "b"(to.begin), "c"(to.end)
			 : "memory");
	return done;
}

static uint32_t count_of(const struct list *list)
{
	return (uint32_t)core_smaller(rt_load(list->count), list->max);
}

/* One that @added continues, or that continues it, becomes longer. The latest first. */
static bool extend(const struct list *list, struct range added)
{
	for (uint32_t i = count_of(list); i-- > 0;) {
		struct range range = read_range(&list->ranges[i]);
		struct range longer = range;

		if (!range.begin)
			continue;
		if (range.end == added.begin)
			longer.end = added.end;
		else if (range.begin == added.end)
			longer.begin = added.begin;
		else
			continue;
		if (exchange(&list->ranges[i], range, longer))
			return true;
	}
	return false;
}

static void add(const struct list *list, struct range added)
{
	const struct range none = { 0, 0 };

	for (;;) {
		uint32_t count = count_of(list);

		for (uint32_t i = 0; i < count; i++)
			if (!rt_load(&list->ranges[i].begin) &&
			    exchange(&list->ranges[i], none, added))
				return;
		/*
		 * Whoever is refused has raised the count beyond: a reader sees that some are
		 * missing.
		 */
		if (atomic_fetch_add_explicit(list->count, 1, memory_order_relaxed) >= list->max) {
			rt_store(list->count, list->max + 1);
			return;
		}
	}
}

/* What is left of @range without @removed, of which it has a part; *@ret_rest is behind that. */
static struct range without(struct range range, struct range removed, struct range *ret_rest)
{
	const struct range none = { 0, 0 };
	struct range before = { range.begin, removed.begin };
	struct range behind = { removed.end, range.end };

	if (before.begin >= before.end)
		before = none;
	if (behind.begin >= behind.end)
		behind = none;
	*ret_rest = before.begin ? behind : none;
	return before.begin ? before : behind;
}

/* Returns how many bytes of it there were. */
static uint64_t remove_once(const struct list *list, struct range removed)
{
	uint64_t bytes = 0;

	/* Not what this adds: it is what is left. */
	for (uint32_t i = count_of(list); i-- > 0;) {
		struct range range = read_range(&list->ranges[i]);
		struct range left, rest;

		while (range.begin && range.begin < removed.end && range.end > removed.begin) {
			left = without(range, removed, &rest);
			if (exchange(&list->ranges[i], range, left)) {
				bytes += range.end - range.begin - (left.end - left.begin) -
					 (rest.end - rest.begin);
				if (rest.begin)
					add(list, rest);
				break;
			}
			range = read_range(&list->ranges[i]);
		}
	}
	return bytes;
}

static void add_merged(const struct list *list, struct range added)
{
	if (added.begin < added.end && !extend(list, added))
		add(list, added);
}

void rt_facts_start(void)
{
	struct dl_find_object library;

	rt_facts.bytes = sizeof(rt_facts);
	if (_dl_find_object(&rt_facts, &library) == 0)
		add_merged(&own_list, (struct range){ (uintptr_t)library.dlfo_map_start,
						      (uintptr_t)library.dlfo_map_end });
}

void rt_facts_own(const void *start, size_t bytes)
{
	add_merged(&own_list, (struct range){ (uintptr_t)start, (uintptr_t)start + bytes });
}

void rt_facts_disown(const void *start, size_t bytes)
{
	const struct range removed = { (uintptr_t)start, (uintptr_t)start + bytes };
	uint64_t left = bytes;

	/*
	 * What another thread splits off meanwhile is for a moment in no entry, or in one passed
	 * already.
	 */
	for (unsigned i = 0; i < REMOVE_TRIES && left; i++)
		left -= remove_once(&own_list, removed);
}

void rt_facts_brk(uintptr_t before, uintptr_t after)
{
	if (after > before)
		add_merged(&taken_list, (struct range){ before, after });
	else if (after < before)
		(void)remove_once(&taken_list, (struct range){ after, before });
}

void rt_facts_add_region(uintptr_t begin, uintptr_t end)
{
	if (begin && begin < end)
		add(&region_list, (struct range){ begin, end });
}

void rt_facts_remove_region(uintptr_t begin, uintptr_t end)
{
	for (uint32_t i = count_of(&region_list); begin && i-- > 0;)
		if (exchange(&region_list.ranges[i], (struct range){ begin, end },
			     (struct range){ 0, 0 }))
			return;
}
