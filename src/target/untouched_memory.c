/* SPDX-License-Identifier: MIT */
#include "target/untouched_memory.h"

#include "core/bits.h"

enum { PAGE_BYTES = 4096, LOOK_BYTES = 256 << 20 };

void seep_untouched_init(struct seep_untouched *untouched, pid_t pid, const struct seep_maps *maps)
{
	*untouched = (struct seep_untouched){ .maps = maps };
	seep_present_pages_init(&untouched->pages, pid);
}

void seep_untouched_done(struct seep_untouched *untouched)
{
	seep_present_pages_done(&untouched->pages);
	seep_ranges_done(&untouched->others);
}

/* What cannot be told, and pages that files or other processes may fill, count as touched. */
static void look(struct seep_untouched *untouched, uint64_t address)
{
	const struct seep_mapping *mapping = seep_maps_find(untouched->maps, address);
	struct seep_ranges *others = &untouched->others;

	untouched->begin = address & ~(uint64_t)(PAGE_BYTES - 1);
	untouched->end = untouched->begin + PAGE_BYTES;
	if (mapping)
		untouched->end = core_smaller(mapping->end, untouched->begin + LOOK_BYTES);
	others->count = 0;
	if (!mapping || mapping->shared || mapping->inode ||
	    !seep_present_pages_find(&untouched->pages, untouched->begin, untouched->end, others)) {
		others->count = 0;
		seep_ranges_add(others, untouched->begin, untouched->end);
	}
}

uint64_t seep_untouched_bytes(void *user, uint64_t address, uint64_t bytes)
{
	struct seep_untouched *untouched = user;
	uint64_t at = address, end;

	if (address < untouched->begin || address >= untouched->end)
		look(untouched, address);
	end = untouched->end;
	if (!seep_ranges_gap(&untouched->others, &at, end, &end) || at != address)
		return 0;
	return core_smaller(end - address, bytes);
}
