/* SPDX-License-Identifier: MIT */
/*
 * What is excluded is missing among the copy's mappings. What is wiped is there, but has no pages,
 * while the process has some: /proc/PID/smaps would name it, and visits each page of the process
 * for that. Where mappings are small, one call tells of many.
 */
#include "target/unforked.h"

#include "base/procfs.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "core/bits.h"
#include "target/present_pages.h"
#include "target/roots.h"

#include <fcntl.h>
#include <unistd.h>

enum {
	TOGETHER_BYTES = 2 << 20,
	MOST_BYTES = 64 << 20,
	LOOK_AT_MAX = 1 << 23, /* pages, one by one, where the kernel cannot look: 0.05 s */
};

#define ADDRESSES_END ((UINT64_C(1) << LEDGER_ADDRESS_BITS) - LEDGER_PAGE_BYTES)

/* One of the two, the process or its copy. */
struct side {
	struct seep_present_pages pages;
	struct seep_ranges found; /* pages up to @end, from where was looked last */
	uint64_t end;
};

static bool has_pages(struct side *side, const struct seep_mapping *mapping)
{
	const uint64_t upto = core_smaller(mapping->begin + TOGETHER_BYTES, ADDRESSES_END);
	size_t at;

	if (mapping->end > upto)
		return seep_present_pages_any(&side->pages, mapping->begin, mapping->end);
	if (mapping->end > side->end) {
		side->end = upto;
		side->found.count = 0;
		if (!seep_present_pages_find(&side->pages, mapping->begin, upto, &side->found))
			seep_ranges_add(&side->found, mapping->begin, upto);
	}
	at = seep_ranges_from(&side->found, mapping->begin);
	return at < side->found.count && side->found.items[at].begin < mapping->end;
}

/* What the process has of @mapping. False: it is more than @left_bytes, or cannot be read. */
static bool carry(struct side *process, int from, int to, const struct seep_mapping *mapping,
		  uint64_t *left_bytes)
{
	SEEP_RELEASED(seep_ranges_done) struct seep_ranges pages = { 0 };
	bool is_good = seep_present_pages_find(&process->pages, mapping->begin, mapping->end,
					       &pages);

	for (size_t i = 0; i < pages.count && is_good; i++) {
		const off_t at = (off_t)pages.items[i].begin;
		const uint64_t bytes = pages.items[i].end - pages.items[i].begin;
		SEEP_FREED uint8_t *buffer = seep_xmalloc(core_smaller(bytes, MOST_BYTES));

		is_good = bytes <= *left_bytes &&
			  pread(from, buffer, bytes, at) == (ssize_t)bytes &&
			  pwrite(to, buffer, bytes, at) == (ssize_t)bytes;
		*left_bytes -= bytes;
	}
	return is_good;
}

int seep_unforked_add(const struct seep_maps *maps, pid_t copy, const struct seep_mapping *ledger,
		      struct seep_error *err)
{
	SEEP_CLOSED const int from = open(seep_procfs_path(maps->tid, "mem").text,
					  O_RDONLY | O_CLOEXEC);
	SEEP_CLOSED const int to = open(seep_procfs_path(copy, "mem").text, O_WRONLY | O_CLOEXEC);
	SEEP_RELEASED(seep_maps_done) struct seep_maps copied = { 0 };
	struct side of_process = { 0 }, of_copy = { 0 };
	uint64_t left_bytes = MOST_BYTES;
	int rc = seep_maps_read(copy, &copied, err);

	seep_present_pages_init(&of_process.pages, maps->tid);
	seep_present_pages_init(&of_copy.pages, copy);
	of_process.pages.pages_left = of_copy.pages.pages_left = LOOK_AT_MAX;
	for (size_t i = 0; i < maps->count && rc == 0; i++) {
		const struct seep_mapping *mapping = &maps->items[i];

		if (!mapping->readable || seep_roots_is_device(mapping) ||
		    (ledger && seep_text_equal(mapping->name, ledger->name)))
			continue;
		if (!seep_maps_find(&copied, mapping->begin))
			rc = seep_fail(err, SEEP_EREFUSED,
				       "it excludes memory from forks (MADV_DONTFORK)");
		else if (mapping->inode == 0 && !mapping->shared && !has_pages(&of_copy, mapping) &&
			 has_pages(&of_process, mapping) &&
			 !carry(&of_process, from, to, mapping, &left_bytes))
			rc = seep_fail(err, SEEP_EREFUSED,
				       "what it has wiped in forks (MADV_WIPEONFORK) is too much, "
				       "or cannot be read");
	}
	seep_present_pages_done(&of_process.pages);
	seep_present_pages_done(&of_copy.pages);
	seep_ranges_done(&of_process.found);
	seep_ranges_done(&of_copy.found);
	return rc;
}
