/* SPDX-License-Identifier: MIT */
#include "target/remote_memory.h"

#include "base/xalloc.h"
#include "core/bits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
	PAGE_BYTES = 4096,
	CHUNK_SHIFT = 16,
	CHUNK_BYTES = 1 << CHUNK_SHIFT,
	CHUNK_PAGES = CHUNK_BYTES / PAGE_BYTES,
	AHEAD_MAX = 16, /* chunks read by one call, of who reads one after the other */
	SLOTS_MIN = 2 * AHEAD_MAX,
	HUGE_PAGE_BYTES = 2 * 1024 * 1024,
};

#define NO_SLOT 0

/* Slot i keeps its bytes at data + i * CHUNK_BYTES. The first is never used: it means none. */
struct slot {
	uint64_t chunk; /* address >> CHUNK_SHIFT */
	uint32_t next;	/* in its bucket */
	uint16_t pages; /* bit by bit: it could be read */
	bool is_used;
	bool is_fresh; /* used since the hand of the clock came by */
};

struct taken {
	void *start;
	uint64_t bytes;
};

struct seep_memory {
	pid_t pid;
	int fd; /* of /proc/PID/mem; -1: process_vm_readv() may be used */
	uint8_t *data;
	struct slot *slots;
	uint32_t slot_count;
	uint32_t slots_used; /* those below */
	uint32_t hand;
	uint32_t *buckets;
	uint64_t bucket_mask;
	uint32_t last;	/* slot of the last view */
	uint64_t ahead; /* chunk behind the last ones read */
	unsigned run;	/* how many chunks the next reading there takes */
	struct taken *taken;
	size_t taken_count, taken_capacity;
};

/* ---- reading ------------------------------------------------------------------------------ */

/* As process_vm_readv(): how much could be read before a page that cannot; 0 or -1 none. */
static ssize_t read_into(const struct seep_memory *memory, uint64_t address, const struct iovec *to,
			 int count, size_t bytes)
{
	const struct iovec from = { (void *)(uintptr_t)address, bytes };

	if (memory->fd >= 0)
		return preadv(memory->fd, to, count, (off_t)address);
	return process_vm_readv(memory->pid, to, (unsigned long)count, &from, 1, 0);
}

static uint8_t *data_of(const struct seep_memory *memory, uint32_t slot)
{
	return memory->data + ((size_t)slot << CHUNK_SHIFT);
}

static uint16_t pages_below(size_t bytes)
{
	return (uint16_t)((1u << (bytes / PAGE_BYTES)) - 1);
}

/*
 * Fill the slots with as many chunks from that of the first slot on; returns how many were reached:
 * the first always, page by page if it must be; others only as a whole.
 */
static unsigned fill(struct seep_memory *memory, const uint32_t *slots, unsigned count,
		     uint64_t chunk)
{
	const uint64_t address = chunk << CHUNK_SHIFT;
	struct iovec to[AHEAD_MAX];
	struct slot *first = &memory->slots[slots[0]];
	size_t got;
	ssize_t rc;

	for (unsigned i = 0; i < count; i++)
		to[i] = (struct iovec){ data_of(memory, slots[i]), CHUNK_BYTES };
	rc = read_into(memory, address, to, (int)count, (size_t)count << CHUNK_SHIFT);
	got = rc > 0 ? (size_t)rc : 0;
	if (got >= CHUNK_BYTES) {
		count = (unsigned)(got >> CHUNK_SHIFT);
		for (unsigned i = 0; i < count; i++)
			memory->slots[slots[i]].pages = pages_below(CHUNK_BYTES);
		return count;
	}
	first->pages = pages_below(got);
	for (size_t at = got & ~(size_t)(PAGE_BYTES - 1); (at += PAGE_BYTES) < CHUNK_BYTES;) {
		to[0] = (struct iovec){ data_of(memory, slots[0]) + at, CHUNK_BYTES - at };
		rc = read_into(memory, address + at, to, 1, CHUNK_BYTES - at);
		if (rc < PAGE_BYTES)
			continue;
		first->pages |= (uint16_t)(pages_below((size_t)rc) << (at / PAGE_BYTES));
		at += (size_t)rc & ~(size_t)(PAGE_BYTES - 1);
	}
	return 1;
}

/* ---- the cache ---------------------------------------------------------------------------- */

static uint32_t *bucket_of(const struct seep_memory *memory, uint64_t chunk)
{
	return &memory->buckets[(chunk * 0x9e3779b97f4a7c15u >> 32) & memory->bucket_mask];
}

static uint32_t find(const struct seep_memory *memory, uint64_t chunk)
{
	uint32_t slot = *bucket_of(memory, chunk);

	while (slot != NO_SLOT && memory->slots[slot].chunk != chunk)
		slot = memory->slots[slot].next;
	return slot;
}

static void forget(struct seep_memory *memory, uint32_t slot)
{
	uint32_t *link = bucket_of(memory, memory->slots[slot].chunk);

	while (*link != slot)
		link = &memory->slots[*link].next;
	*link = memory->slots[slot].next;
	memory->slots[slot].is_used = false;
}

/* The clock: who was used since the hand came by last is passed over once. */
static uint32_t free_slot(struct seep_memory *memory)
{
	if (memory->slots_used < memory->slot_count)
		return memory->slots_used++;
	for (;;) {
		uint32_t slot = memory->hand;

		memory->hand = slot + 1 < memory->slot_count ? slot + 1 : NO_SLOT + 1;
		if (!memory->slots[slot].is_fresh) {
			if (memory->slots[slot].is_used)
				forget(memory, slot);
			return slot;
		}
		memory->slots[slot].is_fresh = false;
	}
}

/* Fresh, so that it is not taken twice should the hand come round. */
static uint32_t reserve(struct seep_memory *memory)
{
	uint32_t slot = free_slot(memory);

	memory->slots[slot].is_fresh = true;
	return slot;
}

static void keep(struct seep_memory *memory, uint32_t slot, uint64_t chunk)
{
	uint32_t *bucket = bucket_of(memory, chunk);

	memory->slots[slot].chunk = chunk;
	memory->slots[slot].next = *bucket;
	memory->slots[slot].is_used = true;
	*bucket = slot;
}

static uint32_t read_chunk(struct seep_memory *memory, uint64_t chunk)
{
	uint32_t slots[AHEAD_MAX];
	unsigned wanted = 1, count;

	if (chunk == memory->ahead)
		wanted = memory->run = (unsigned)core_smaller(memory->run * 2, AHEAD_MAX);
	else
		memory->run = 1;
	slots[0] = reserve(memory);
	for (unsigned i = 1; i < wanted; i++) {
		if (find(memory, chunk + i) != NO_SLOT)
			wanted = i;
		else
			slots[i] = reserve(memory);
	}
	count = fill(memory, slots, wanted, chunk);
	for (unsigned i = 0; i < count; i++)
		keep(memory, slots[i], chunk + i);
	/* What was reserved in vain is the next to be had, or each hole would cost 1 MB. */
	memory->run = count;
	for (unsigned i = wanted; i-- > count;) {
		memory->slots[slots[i]].is_fresh = false;
		if (slots[i] == memory->slots_used - 1)
			memory->slots_used--;
	}
	memory->ahead = chunk + count;
	return slots[0];
}

static const void *view(void *user, uint64_t address, uint64_t bytes, uint64_t *ret_bytes)
{
	struct seep_memory *memory = user;
	const uint64_t chunk = address >> CHUNK_SHIFT;
	const unsigned offset = (unsigned)(address & (CHUNK_BYTES - 1));
	uint32_t slot = memory->last;
	unsigned page = offset / PAGE_BYTES;
	bool readable;

	if (!memory->slots[slot].is_used || memory->slots[slot].chunk != chunk) {
		slot = find(memory, chunk);
		memory->last = slot = slot != NO_SLOT ? slot : read_chunk(memory, chunk);
	}
	memory->slots[slot].is_fresh = true;
	readable = memory->slots[slot].pages >> page & 1;
	while (page < CHUNK_PAGES && (memory->slots[slot].pages >> page & 1) == readable)
		page++;
	*ret_bytes = core_smaller(bytes, (uint64_t)page * PAGE_BYTES - offset);
	return readable ? data_of(memory, slot) + offset : NULL;
}

/* ---- memory for the marker ---------------------------------------------------------------- */

static void *map(uint64_t bytes)
{
	void *start = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (start == MAP_FAILED)
		return NULL;
	/* Touching it page by page would cost as much as reading the other process. */
	if (bytes >= HUGE_PAGE_BYTES)
		(void)madvise(start, bytes, MADV_HUGEPAGE);
	return start;
}

static void *allocate(void *user, uint64_t bytes)
{
	struct seep_memory *memory = user;
	void *start = bytes ? map(bytes) : NULL;

	if (!start)
		return NULL;
	memory->taken = seep_xgrow(memory->taken, &memory->taken_capacity, memory->taken_count + 1,
				   sizeof(*memory->taken));
	memory->taken[memory->taken_count++] = (struct taken){ start, bytes };
	return start;
}

/* ---- open and close ----------------------------------------------------------------------- */

/* By an address where nobody's memory is: what is allowed fails with EFAULT. */
static int choose_way(struct seep_memory *memory, struct seep_error *err)
{
	char byte, path[32];
	const struct iovec to = { &byte, 1 };
	int first;

	if (read_into(memory, 0, &to, 1, 1) >= 0 || errno == EFAULT)
		return 0;
	first = errno;
	(void)snprintf(path, sizeof(path), "/proc/%d/mem", memory->pid);
	if (first != ESRCH)
		memory->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (memory->fd >= 0)
		return 0;
	if (first == ESRCH || errno == ENOENT)
		return seep_fail(err, SEEP_ENOTFOUND, "process %d is not there, or has no memory",
				 memory->pid);
	if (errno == EACCES || errno == EPERM)
		return seep_fail(err, SEEP_EREFUSED,
				 "the memory of process %d cannot be read: process_vm_readv: %s; "
				 "%s: %s",
				 memory->pid, strerror(first), path, strerror(errno));
	return seep_fail_errno(err, errno, "cannot open %s", path);
}

static int make_cache(struct seep_memory *memory, uint64_t kept_bytes, struct seep_error *err)
{
	uint64_t count = core_larger(kept_bytes >> CHUNK_SHIFT, SLOTS_MIN), buckets = 1;

	count = core_smaller(count, UINT32_MAX);
	/* Reserved only: what is not read takes nothing. */
	while (!(memory->data = map(count << CHUNK_SHIFT))) {
		count /= 2;
		if (count < SLOTS_MIN)
			return seep_fail_errno(err, errno, "cannot reserve memory to read into");
	}
	while (buckets < count)
		buckets *= 2;
	memory->slot_count = (uint32_t)count;
	memory->bucket_mask = buckets - 1;
	memory->slots = map(count * sizeof(*memory->slots));
	memory->buckets = map(buckets * sizeof(*memory->buckets));
	if (!memory->slots || !memory->buckets)
		return seep_fail_errno(err, errno, "cannot reserve memory to read into");
	return 0;
}

int seep_memory_open(pid_t pid, uint64_t kept_bytes, struct seep_memory **ret_memory,
		     struct seep_error *err)
{
	struct seep_memory *memory = seep_xcalloc(1, sizeof(*memory));
	int rc;

	memory->pid = pid;
	memory->fd = -1;
	memory->ahead = UINT64_MAX;
	memory->slots_used = memory->hand = NO_SLOT + 1;
	rc = choose_way(memory, err);
	if (rc == 0)
		rc = make_cache(memory, kept_bytes, err);
	if (rc < 0) {
		seep_memory_close(memory);
		return rc;
	}
	*ret_memory = memory;
	return 0;
}

void seep_memory_close(struct seep_memory *memory)
{
	if (!memory)
		return;
	for (size_t i = 0; i < memory->taken_count; i++)
		(void)munmap(memory->taken[i].start, memory->taken[i].bytes);
	if (memory->data)
		(void)munmap(memory->data, (size_t)memory->slot_count << CHUNK_SHIFT);
	if (memory->slots)
		(void)munmap(memory->slots, memory->slot_count * sizeof(*memory->slots));
	if (memory->buckets)
		(void)munmap(memory->buckets, (memory->bucket_mask + 1) * sizeof(*memory->buckets));
	if (memory->fd >= 0)
		(void)close(memory->fd);
	free(memory->taken);
	free(memory);
}

struct scan_memory seep_memory_for_scan(struct seep_memory *memory)
{
	return (struct scan_memory){ .view = view, .allocate = allocate, .user = memory };
}

bool seep_memory_read(struct seep_memory *memory, uint64_t address, void *to, size_t bytes)
{
	const struct iovec piece = { to, bytes };

	return bytes == 0 || read_into(memory, address, &piece, 1, bytes) == (ssize_t)bytes;
}
