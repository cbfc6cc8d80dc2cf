/* SPDX-License-Identifier: MIT */
#include "target/present_pages.h"

#include "base/procfs.h"
#include "core/bits.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { PAGE_SHIFT = 12, PAGE_BYTES = 1 << PAGE_SHIFT, AT_ONCE = 65536, LOOK_BYTES = 256 << 20 };

/* 2 TB of address space, 4 GB of /proc/PID/pagemap: some 3 seconds. */
#define LOOK_AT_MAX (UINT64_C(1) << 29)

#define PAGEMAP_PRESENT (UINT64_C(1) << 63)
#define PAGEMAP_SWAPPED (UINT64_C(1) << 62)
#define PAGEMAP_FILE (UINT64_C(1) << 61)
#define PAGEMAP_GUARD (UINT64_C(1) << 58) /* MADV_GUARD_INSTALL: looks swapped out, and is not */

/* linux/fs.h since 6.7. */
struct scan_region {
	uint64_t begin;
	uint64_t end;
	uint64_t categories;
};

struct scan_request {
	uint64_t size, flags, begin, end, walk_end, regions, region_count, pages_max;
	uint64_t inverted, all_of, any_of, wanted;
};

#define SCAN_REQUEST _IOWR('f', 16, struct scan_request)

enum {
	IS_FILE = 1 << 2,
	IS_PRESENT = 1 << 3,
	IS_SWAPPED = 1 << 4,
	IS_ZERO_PAGE = 1 << 5,
	IS_GUARD = 1 << 8, /* since 6.16 */
	REGIONS_AT_ONCE = 512,
};

/* What is looked for besides what is there. */
enum how { ALL = 0, FIRST = 1, OWN = 2 };

static bool pagemap_scan(struct seep_present_pages *pages, uint64_t begin, uint64_t end,
			 unsigned how, struct seep_ranges *found)
{
	struct scan_region regions[REGIONS_AT_ONCE];

	while (begin < end && !(how & FIRST && found->count)) {
		const uint64_t none_of = IS_ZERO_PAGE | (how & OWN ? IS_FILE : 0) |
					 (pages->knows_no_guards ? 0 : IS_GUARD);
		struct scan_request request = {
			.size = sizeof(request),
			.begin = begin,
			.end = end,
			.regions = (uint64_t)(uintptr_t)regions,
			.region_count = REGIONS_AT_ONCE,
			.pages_max = how & FIRST,
			.inverted = none_of,
			.all_of = none_of,
			.any_of = IS_PRESENT | IS_SWAPPED,
			.wanted = IS_PRESENT | IS_SWAPPED,
		};
		const int got = ioctl(pages->fd, SCAN_REQUEST, &request);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 && errno == EINVAL && !pages->knows_no_guards) {
			pages->knows_no_guards = true;
			continue;
		}
		if (got < 0 || request.walk_end <= begin)
			return false;
		for (int i = 0; i < got; i++)
			seep_ranges_add(found, regions[i].begin, regions[i].end);
		begin = request.walk_end;
	}
	return true;
}

static bool is_wanted(uint64_t entry, unsigned how)
{
	return entry & (PAGEMAP_PRESENT | PAGEMAP_SWAPPED) && !(entry & PAGEMAP_GUARD) &&
	       !(how & OWN && entry & PAGEMAP_FILE);
}

static bool pagemap_read(struct seep_present_pages *pages, uint64_t begin, uint64_t end,
			 unsigned how, struct seep_ranges *found)
{
	uint64_t entries[AT_ONCE / 8];

	while (begin < end && !(how & FIRST && found->count)) {
		uint64_t count = (end - begin) >> PAGE_SHIFT;
		ssize_t got;

		if (count > AT_ONCE / 8)
			count = AT_ONCE / 8;
		if (pages->pages_left < count)
			return false;
		pages->pages_left -= count;
		got = pread(pages->fd, entries, (size_t)count * sizeof(entries[0]),
			    (off_t)((begin >> PAGE_SHIFT) * sizeof(entries[0])));
		if (got < (ssize_t)sizeof(entries[0]))
			return false;
		for (ssize_t i = 0; i < got / (ssize_t)sizeof(entries[0]); i++) {
			if (is_wanted(entries[i], how))
				seep_ranges_add(found, begin, begin + (1 << PAGE_SHIFT));
			begin += 1 << PAGE_SHIFT;
		}
	}
	return true;
}

void seep_present_pages_init(struct seep_present_pages *pages, pid_t pid)
{
	*pages = (struct seep_present_pages){
		.fd = open(seep_procfs_path(pid, "pagemap").text, O_RDONLY | O_CLOEXEC),
		.can_scan = true,
		.pages_left = LOOK_AT_MAX,
	};
}

void seep_present_pages_done(struct seep_present_pages *pages)
{
	if (pages->fd >= 0)
		(void)close(pages->fd);
	*pages = (struct seep_present_pages){ .fd = -1 };
}

static bool look_for(struct seep_present_pages *pages, uint64_t begin, uint64_t end, unsigned how,
		     struct seep_ranges *found)
{
	const size_t before = found->count;

	if (pages->fd < 0)
		return false;
	if (pages->can_scan) {
		if (pagemap_scan(pages, begin, end, how, found))
			return true;
		pages->can_scan = false;
		found->count = before;
	}
	return pagemap_read(pages, begin, end, how, found);
}

bool seep_present_pages_find(struct seep_present_pages *pages, uint64_t begin, uint64_t end,
			     struct seep_ranges *found)
{
	return look_for(pages, begin, end, ALL, found);
}

bool seep_present_pages_own(struct seep_present_pages *pages, uint64_t begin, uint64_t end,
			    struct seep_ranges *found)
{
	return look_for(pages, begin, end, OWN, found);
}

bool seep_present_pages_any(struct seep_present_pages *pages, uint64_t begin, uint64_t end)
{
	SEEP_RELEASED(seep_ranges_done) struct seep_ranges found = { 0 };

	return !look_for(pages, begin, end, FIRST, &found) || found.count;
}

void seep_untouched_init(struct seep_untouched *untouched, pid_t copy, const struct seep_maps *maps)
{
	*untouched = (struct seep_untouched){ .maps = maps };
	seep_present_pages_init(&untouched->image_pages, copy ? copy : maps->tid);
	seep_present_pages_init(&untouched->shared_pages, maps->tid);
}

void seep_untouched_done(struct seep_untouched *untouched)
{
	seep_present_pages_done(&untouched->image_pages);
	seep_present_pages_done(&untouched->shared_pages);
	seep_ranges_done(&untouched->others);
}

/* What cannot be told counts as touched. Where nothing is mapped, nothing is. */
static void look(struct seep_untouched *untouched, uint64_t address)
{
	const struct seep_maps *maps = untouched->maps;
	const size_t at = seep_maps_from(maps, address);
	const struct seep_mapping *mapping = at < maps->count ? &maps->items[at] : NULL;
	struct seep_ranges *others = &untouched->others;

	untouched->begin = address & ~(uint64_t)(PAGE_BYTES - 1);
	untouched->end = !mapping ? UINT64_MAX : mapping->begin;
	others->count = 0;
	if (mapping && mapping->begin <= address) {
		untouched->end = core_smaller(mapping->end, untouched->begin + LOOK_BYTES);
		if (!seep_present_pages_find(mapping->shared ? &untouched->shared_pages
							     : &untouched->image_pages,
					     untouched->begin, untouched->end, others)) {
			others->count = 0;
			seep_ranges_add(others, untouched->begin, untouched->end);
		}
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
