/* SPDX-License-Identifier: MIT */
/*
 * A document store that copies on write. Whoever changes a page leaves the old version for the
 * readers whose snapshot began before; a vacuum frees those that no reader can see. Most readers
 * are quick; a backup that runs about once a minute holds everything that is replaced meanwhile.
 * An editor beside it keeps so many edits to undo, and no more.
 */
#include "growth_play.h"

enum { PAGES = 600, READERS = 256, UNDO = 400 };

GROWTH_SITE(STEADY, copy_page);
GROWTH_SITE(STEADY, open_snapshot);
GROWTH_SITE(STEADY, remember_edit);

struct page {
	struct growth_item item;
	long replaced; /* tick */
};

struct snapshot {
	size_t bytes;
	long from, until;
};

static struct page *pages[PAGES];
static struct growth_item *oldest, **newest = &oldest;
static struct snapshot *readers[READERS];
static struct growth_item *undo[UNDO];
static long undo_count, undo_limit;

static GROWTH_FN struct page *copy_page(size_t bytes)
{
	struct page *page = malloc(bytes);

	growth_live(&site_copy_page, page, bytes);
	page->item.bytes = bytes;
	return page;
}

static GROWTH_FN struct snapshot *open_snapshot(size_t bytes)
{
	struct snapshot *snapshot = malloc(bytes);

	growth_live(&site_open_snapshot, snapshot, bytes);
	snapshot->bytes = bytes;
	return snapshot;
}

static GROWTH_FN void remember_edit(size_t bytes)
{
	struct growth_item **place = &undo[undo_count++ % undo_limit];
	struct growth_item *edit = malloc(bytes);

	growth_live(&site_remember_edit, edit, bytes);
	if (*place)
		growth_free(&site_remember_edit, *place, (*place)->bytes);
	edit->bytes = bytes;
	*place = edit;
}

static void change_page(uint64_t *random, long page_count, long tick)
{
	long hot = page_count / 5;
	long at = growth_chance(random, 0.5) ? growth_between(random, 0, hot)
					     : growth_between(random, 0, page_count - 1);
	struct page *before = pages[at];

	pages[at] = copy_page(growth_size(random, 256, 2048));
	if (!before)
		return;
	before->replaced = tick;
	before->item.next = NULL;
	*newest = &before->item;
	newest = &before->item.next;
}

static void begin_read(uint64_t *random, long tick, long ticks)
{
	int i;

	for (i = 0; i < READERS && readers[i]; i++)
		;
	if (i == READERS)
		return;
	readers[i] = open_snapshot((size_t)growth_between(random, 128, 1024));
	readers[i]->from = tick;
	readers[i]->until = tick + ticks;
}

static void end_reads(long tick)
{
	int i;

	for (i = 0; i < READERS; i++) {
		if (readers[i] && readers[i]->until <= tick) {
			growth_free(&site_open_snapshot, readers[i], readers[i]->bytes);
			readers[i] = NULL;
		}
	}
}

static void vacuum(long tick)
{
	long horizon = tick;
	int i;

	for (i = 0; i < READERS; i++)
		if (readers[i] && readers[i]->from < horizon)
			horizon = readers[i]->from;
	while (oldest && ((struct page *)oldest)->replaced < horizon) {
		struct growth_item *page = oldest;

		oldest = page->next;
		growth_free(&site_copy_page, page, page->bytes);
	}
	if (!oldest)
		newest = &oldest;
}

int main(int argc, char **argv)
{
	struct growth_clock clock = { 0 };
	double writes, reads, edits, backup_at, vacuum_at, noise = 1;
	long page_count, vacuum_every, i;
	uint64_t random;

	if (growth_start(argc, argv) != 0)
		return 2;
	random = growth_stream(0);
	page_count = growth_between(&random, 150, PAGES);
	writes = (double)page_count / growth_uniform(&random, 80, 150);
	reads = growth_uniform(&random, 0.3, 2);
	undo_limit = growth_between(&random, 100, UNDO);
	edits = (double)undo_limit / growth_uniform(&random, 200, 800);
	backup_at = growth_uniform(&random, 10, 60);
	vacuum_every = growth_between(&random, 10, 50);
	vacuum_at = 0;
	while (growth_tick(&clock)) {
		double load = growth_noise(&random, &noise, 0.97, 0.12);
		long count = growth_arrivals(&random, writes * load);

		end_reads(clock.tick);
		while (count-- > 0)
			change_page(&random, page_count, clock.tick);
		for (count = growth_arrivals(&random, reads * load); count > 0; count--)
			begin_read(&random, clock.tick, growth_between(&random, 1, 40));
		for (count = growth_arrivals(&random, edits); count > 0; count--)
			remember_edit(growth_size(&random, 64, 8192));
		if (growth_now(&clock) >= backup_at) {
			begin_read(&random, clock.tick, growth_between(&random, 100, 350));
			backup_at += growth_uniform(&random, 50, 80);
		}
		if ((double)clock.tick >= vacuum_at) {
			vacuum(clock.tick);
			vacuum_at = (double)(clock.tick + vacuum_every);
		}
	}
	growth_end();
	end_reads(clock.tick + GROWTH_WHEEL);
	vacuum(clock.tick + 1);
	for (i = 0; i < PAGES; i++)
		free(pages[i]);
	for (i = 0; i < UNDO; i++)
		free(undo[i]);
	return 0;
}
