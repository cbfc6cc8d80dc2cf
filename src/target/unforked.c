/* SPDX-License-Identifier: MIT */
/*
 * What is excluded is missing among the copy's mappings. What is wiped is there, but has no pages,
 * while the process has some: /proc/PID/smaps would name it, and visits each page of the process
 * for that; to ask for the first page of a mapping is done in a microsecond.
 */
#include "target/unforked.h"

#include "base/procfs.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "core/bits.h"
#include "target/injection.h"
#include "target/present_pages.h"
#include "target/remote_memory.h"
#include "target/roots.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	MAPPINGS_MAX = 1024,
	AT_ONCE_BYTES = 1 << 20,
	LOOK_AT_MAX = 1 << 23, /* pages, one by one, where the kernel cannot look: 0.05 s */
};

#define MOST_BYTES (UINT64_C(64) << 20)

/* A mapping that the copy lacks, or lacks the contents of. */
struct lack {
	const struct seep_mapping *mapping;
	bool is_there;
	struct seep_ranges pages; /* of it, that the process has */
};

struct work {
	const struct seep_stopped *stopped;
	const struct seep_maps *maps;
	const struct seep_mapping *ledger;
	pid_t copy;
	struct seep_ranges *unread;
	struct seep_present_pages has, copy_has;
	struct seep_maps copy_maps;
	struct lack *lacks;
	size_t count;
	uint64_t bytes;
};

static bool is_wiped(struct work *work, const struct seep_mapping *mapping)
{
	return mapping->inode == 0 && !mapping->shared &&
	       !seep_present_pages_any(&work->copy_has, mapping->begin, mapping->end) &&
	       seep_present_pages_any(&work->has, mapping->begin, mapping->end);
}

static bool is_same_file(const struct seep_mapping *mapping, const struct seep_mapping *other)
{
	return other && mapping->inode == other->inode &&
	       mapping->device_major == other->device_major &&
	       mapping->device_minor == other->device_minor;
}

static void find_lacks(struct work *work)
{
	for (size_t i = 0; i < work->maps->count; i++) {
		const struct seep_mapping *mapping = &work->maps->items[i];
		struct lack lack = { .mapping = mapping };

		if (!mapping->readable || seep_roots_is_device(mapping) ||
		    is_same_file(mapping, work->ledger))
			continue;
		lack.is_there = seep_maps_find(&work->copy_maps, mapping->begin);
		if (lack.is_there && !is_wiped(work, mapping))
			continue;
		if (!seep_present_pages_find(&work->has, mapping->begin, mapping->end,
					     &lack.pages)) {
			lack.pages.count = 0;
			seep_ranges_add(&lack.pages, mapping->begin, mapping->end);
		}
		for (size_t k = 0; k < lack.pages.count; k++)
			work->bytes += lack.pages.items[k].end - lack.pages.items[k].begin;
		*SEEP_APPEND(work->lacks, work->count) = lack;
	}
}

static bool call(struct seep_injection *injection, long number, const uint64_t arguments[6])
{
	int64_t value = 0;

	return seep_injection_call(injection, number, arguments, &value, NULL) == 0 && value >= 0;
}

static bool make_room(struct seep_injection *injection, const struct seep_mapping *mapping)
{
	const uint64_t arguments[6] = {
		mapping->begin,
		mapping->end - mapping->begin,
		PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_NORESERVE,
		UINT64_MAX,
	};

	return call(injection, SYS_mmap, arguments);
}

static void take_away(struct seep_injection *injection, const struct seep_mapping *mapping)
{
	const uint64_t arguments[6] = { mapping->begin, mapping->end - mapping->begin };

	(void)call(injection, SYS_munmap, arguments);
}

static bool carry(struct seep_memory *from, int to, const struct scan_range *range, uint8_t *buffer)
{
	for (uint64_t at = range->begin; at < range->end; at += AT_ONCE_BYTES) {
		const size_t bytes = (size_t)core_smaller(range->end - at, AT_ONCE_BYTES);

		if (!seep_memory_read(from, at, buffer, bytes) ||
		    pwrite(to, buffer, bytes, (off_t)at) != (ssize_t)bytes)
			return false;
	}
	return true;
}

static void add_lacks(const struct work *work, struct seep_injection *injection,
		      struct seep_memory *from)
{
	SEEP_CLOSED const int to = open(seep_procfs_path(work->copy, "mem").text,
					O_WRONLY | O_CLOEXEC);
	SEEP_FREED uint8_t *buffer = seep_xmalloc(AT_ONCE_BYTES);

	for (size_t i = 0; i < work->count; i++) {
		const struct lack *lack = &work->lacks[i];
		bool is_good = lack->is_there || make_room(injection, lack->mapping);

		for (size_t k = 0; k < lack->pages.count && is_good; k++)
			is_good = carry(from, to, &lack->pages.items[k], buffer);
		if (is_good)
			continue;
		take_away(injection, lack->mapping);
		seep_ranges_add_all(work->unread, &lack->pages);
	}
}

static int find_and_add(struct work *work, struct seep_error *err)
{
	struct seep_injection injection;
	struct seep_memory *from;
	int rc = seep_maps_read(work->copy, &work->copy_maps, err);

	if (rc < 0)
		return seep_fail(err, SEEP_ESYS, "the copy's mappings cannot be read");
	find_lacks(work);
	if (work->count == 0)
		return 0;
	if (work->bytes > MOST_BYTES || work->count > MAPPINGS_MAX)
		return seep_fail(err, SEEP_ELIMIT,
				 "it excludes %s of memory from forks (MADV_DONTFORK, "
				 "MADV_WIPEONFORK)",
				 seep_bytes_text(work->bytes).text);
	rc = seep_memory_open(work->maps->tid, 0, &from, err);
	if (rc < 0)
		return rc;
	rc = seep_injection_begin(&injection, work->copy, work->stopped->call_site, err);
	/* It never runs again: there is no end. */
	if (rc == 0)
		add_lacks(work, &injection, from);
	seep_memory_close(from);
	return rc;
}

int seep_unforked_add(const struct seep_stopped *stopped, const struct seep_maps *maps, pid_t copy,
		      const struct seep_mapping *ledger, struct seep_ranges *ret_unread,
		      struct seep_error *err)
{
	struct work work = {
		.stopped = stopped,
		.maps = maps,
		.ledger = ledger,
		.copy = copy,
		.unread = ret_unread,
	};
	int rc;

	seep_present_pages_init(&work.has, maps->tid);
	seep_present_pages_init(&work.copy_has, copy);
	work.has.pages_left = work.copy_has.pages_left = LOOK_AT_MAX;
	rc = find_and_add(&work, err);
	for (size_t i = 0; i < work.count; i++)
		seep_ranges_done(&work.lacks[i].pages);
	free(work.lacks);
	seep_maps_done(&work.copy_maps);
	seep_present_pages_done(&work.has);
	seep_present_pages_done(&work.copy_has);
	return rc;
}
