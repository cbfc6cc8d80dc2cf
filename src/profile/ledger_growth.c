/* SPDX-License-Identifier: MIT */
#include "profile/ledger_growth.h"

#include "base/xalloc.h"
#include "core/bits.h"
#include "ledger/ledger_view.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* In place of a time; a reader looks again so often, after a pause. */
enum { BEING_WRITTEN = 1, LOOKS = 20, LOOK_NS = 1000000 };

#define COPY(to, from)                                                           \
	((to)->verdict = (from)->verdict, (to)->confidence = (from)->confidence, \
	 (to)->returned = (from)->returned, (to)->since_ns = (from)->since_ns,   \
	 (to)->until_ns = (from)->until_ns, (to)->quiet_ns = (from)->quiet_ns,   \
	 (to)->bytes = (from)->bytes, (to)->blocks = (from)->blocks,             \
	 (to)->freed_late = (from)->freed_late,                                  \
	 (to)->present_bytes_per_hour = (from)->present_bytes_per_hour)

void seep_growth_list_done(struct seep_growth_list *list)
{
	free(list->items);
	*list = (struct seep_growth_list){ 0 };
}

void seep_ledger_growth_write(struct ledger_control *control, const struct seep_growth_list *list,
			      uint64_t now_ns)
{
	atomic_store_explicit(&control->growth_at_ns, BEING_WRITTEN, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&control->growth_after_ns, list->after_ns, memory_order_relaxed);
	atomic_store_explicit(&control->growth_count, list->count, memory_order_relaxed);
	for (uint32_t i = 0; i < list->count && i < LEDGER_GROWTH_MAX; i++) {
		const struct seep_profile_growth *from = &list->items[i].growth;
		struct ledger_growth *to = &control->growth[i];

		to->context = list->items[i].id;
		COPY(to, from);
	}
	atomic_store_explicit(&control->growth_at_ns, now_ns, memory_order_release);
}

static struct seep_growth_item item_of(const struct ledger_growth *from, uint64_t now_ns)
{
	struct seep_growth_item item = { .id = from->context };
	struct seep_profile_growth *to = &item.growth;

	COPY(to, from);
	to->until_ns = core_smaller(to->until_ns, now_ns);
	to->since_ns = core_smaller(to->since_ns, to->until_ns);
	to->quiet_ns = core_smaller(to->quiet_ns, now_ns);
	to->present_bytes_per_hour = core_smaller(to->present_bytes_per_hour, INT64_MAX);
	return item;
}

struct seep_growth_list seep_ledger_growth_read(const struct ledger_control *control,
						uint64_t now_ns)
{
	const struct timespec pause = { .tv_nsec = LOOK_NS };
	struct ledger_growth growth[LEDGER_GROWTH_MAX];
	struct seep_growth_list list = { 0 };
	uint64_t count = 0, at_ns = BEING_WRITTEN;

	for (int i = 0; i < LOOKS && at_ns == BEING_WRITTEN; i++) {
		at_ns = LEDGER_GET(control->growth_at_ns);
		count = LEDGER_GET(control->growth_count);
		list.after_ns = LEDGER_GET(control->growth_after_ns);
		memcpy(growth, control->growth, sizeof(growth));
		atomic_thread_fence(memory_order_acquire);
		if (at_ns != atomic_load_explicit(&control->growth_at_ns, memory_order_relaxed))
			at_ns = BEING_WRITTEN;
		if (at_ns == BEING_WRITTEN)
			(void)nanosleep(&pause, NULL);
	}
	/* Nobody has written it, or somebody does so all the time. */
	if (at_ns == 0 || at_ns == BEING_WRITTEN)
		return (struct seep_growth_list){ 0 };
	list.is_cut = count > LEDGER_GROWTH_MAX;
	list.items = seep_xcalloc(LEDGER_GROWTH_MAX, sizeof(*list.items));
	for (; list.count < count && list.count < LEDGER_GROWTH_MAX; list.count++)
		list.items[list.count] = item_of(&growth[list.count], now_ns);
	return list;
}
