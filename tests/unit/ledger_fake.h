/* SPDX-License-Identifier: MIT */
/*
 * A ledger as the runtime would leave it, written to a file: small, valid, without stacks. For
 * tests of what follows, finds and closes ledgers.
 */
#ifndef SEEP_TESTS_LEDGER_FAKE_H
#define SEEP_TESTS_LEDGER_FAKE_H

#include "ledger/ledger.h"
#include "target/procfs.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Zeroed: a process that starts, is nobody's child, allocated nothing. */
struct ledger_fake {
	const char *exe;
	uint32_t pid;
	uint32_t ppid;
	uint64_t start_ticks;
	uint32_t instance;
	uint64_t session;
	uint64_t created_ns; /* 0 = now */
	enum ledger_origin origin;
	const char *parent; /* file name of a ledger */
	uint64_t allocs;    /* of 10 bytes each */
	uint64_t frees;
	char file_name[LEDGER_NAME_BYTES]; /* filled by ledger_fake_write() */
};

static const struct {
	uint32_t item_bytes;
	uint32_t capacity;
} ledger_fake_tables[LEDGER_TABLE_COUNT] = {
	[LEDGER_TABLE_CACHES] = { sizeof(struct ledger_cache), 64 },
	[LEDGER_TABLE_SLOTS] = { sizeof(struct ledger_slot), 64 },
	[LEDGER_TABLE_ROWS] = { sizeof(struct ledger_row), 64 },
	[LEDGER_TABLE_CONTEXTS] = { sizeof(struct ledger_context), 128 },
	[LEDGER_TABLE_NODES] = { sizeof(struct ledger_node), 256 },
	[LEDGER_TABLE_MODULES] = { sizeof(struct ledger_module), 64 },
	[LEDGER_TABLE_STRINGS] = { 1, 4096 },
	[LEDGER_TABLE_MARKS] = { sizeof(struct ledger_mark), 128 },
};

static inline uint64_t ledger_fake_clock(clockid_t clock)
{
	struct timespec now;

	(void)clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline void ledger_fake_header(const struct ledger_fake *fake, struct ledger_header *header)
{
	uint64_t end = 3 * LEDGER_PAGE_BYTES;

	memcpy(header->magic, LEDGER_MAGIC, sizeof(header->magic));
	header->version = LEDGER_VERSION;
	header->header_bytes = sizeof(*header);
	seep_procfs_boot_id(header->boot_id);
	header->pid_namespace = seep_procfs_pid_namespace();
	header->pid = fake->pid;
	header->ppid = fake->ppid;
	header->uid = geteuid();
	header->instance = fake->instance;
	header->start_ticks = fake->start_ticks;
	header->created_ns = fake->created_ns ? fake->created_ns
					      : ledger_fake_clock(CLOCK_MONOTONIC);
	header->created_realtime_ns = ledger_fake_clock(CLOCK_REALTIME);
	header->session = fake->session;
	header->first_row = 1;
	header->origin = fake->origin;
	for (int t = 0; t < LEDGER_TABLE_COUNT; t++) {
		uint64_t bytes = (uint64_t)ledger_fake_tables[t].capacity *
				 ledger_fake_tables[t].item_bytes;

		header->table[t].item_bytes = ledger_fake_tables[t].item_bytes;
		header->table[t].capacity = ledger_fake_tables[t].capacity;
		header->table[t].offset = end;
		end += (bytes + LEDGER_PAGE_BYTES - 1) / LEDGER_PAGE_BYTES * LEDGER_PAGE_BYTES;
	}
	header->file_bytes = end;
	if (fake->parent)
		(void)snprintf(header->parent, sizeof(header->parent), "%s", fake->parent);
	header->exe.bytes = (uint32_t)strlen(fake->exe);
}

static inline void *ledger_fake_item(uint8_t *map, enum ledger_table_type type, uint64_t index)
{
	const struct ledger_header *header = (const void *)map;

	return map + header->table[type].offset + index * header->table[type].item_bytes;
}

static inline void ledger_fake_account(const struct ledger_fake *fake, uint8_t *map)
{
	struct ledger_state *state = (void *)(map + 2 * LEDGER_PAGE_BYTES);
	struct ledger_context *context = ledger_fake_item(map, LEDGER_TABLE_CONTEXTS, 0);
	struct ledger_row *row = ledger_fake_item(map, LEDGER_TABLE_ROWS, 0);
	struct ledger_cache *cache = ledger_fake_item(map, LEDGER_TABLE_CACHES, 0);
	static const uint8_t used[LEDGER_TABLE_COUNT] = {
		[LEDGER_TABLE_CACHES] = 1,
		[LEDGER_TABLE_ROWS] = 2,
		[LEDGER_TABLE_CONTEXTS] = 2,
		[LEDGER_TABLE_NODES] = 1,
	};

	for (int t = 0; t < LEDGER_TABLE_COUNT; t++) {
		atomic_store(&state->table[t].reserved, used[t]);
		atomic_store(&state->table[t].ready, used[t]);
	}
	atomic_store(&state->table[LEDGER_TABLE_STRINGS].reserved, strlen(fake->exe));
	atomic_store(&state->table[LEDGER_TABLE_STRINGS].ready, strlen(fake->exe));
	memcpy(ledger_fake_item(map, LEDGER_TABLE_STRINGS, 0), fake->exe, strlen(fake->exe));
	for (int i = 0; i < 2; i++) {
		atomic_store(&context[i].flags, LEDGER_CONTEXT_READY);
		atomic_store(&row[i].context_ready, (uint32_t)i + 1);
	}
	atomic_store(&row[0].allocs, fake->allocs);
	atomic_store(&row[0].alloc_bytes, fake->allocs * 10);
	atomic_store(&row[0].frees, fake->frees);
	atomic_store(&row[0].freed_bytes, fake->frees * 10);
	atomic_store(&state->live_bytes, (int64_t)((fake->allocs - fake->frees) * 10));
	atomic_store(&cache->ready, 1);
}

/* Map a new ledger under its final name in @dir_fd; NULL when that fails. fake->file_name is set. */
static inline uint8_t *ledger_fake_map(struct ledger_fake *fake, int dir_fd)
{
	char temporary[LEDGER_NAME_BYTES + 8];
	const char *slash = strrchr(fake->exe, '/');
	struct ledger_header header = { 0 };
	uint8_t *map;
	int fd;

	ledger_fake_header(fake, &header);
	(void)snprintf(fake->file_name, sizeof(fake->file_name), "%.100s.%u.%llu.%u.ledger",
		       slash ? slash + 1 : fake->exe, fake->pid,
		       (unsigned long long)fake->start_ticks, fake->instance);
	(void)snprintf(temporary, sizeof(temporary), "%s.new", fake->file_name);
	fd = openat(dir_fd, temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return NULL;
	if (ftruncate(fd, (off_t)header.file_bytes) < 0 ||
	    (map = mmap(NULL, header.file_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)) ==
		    MAP_FAILED) {
		(void)close(fd);
		return NULL;
	}
	(void)close(fd);
	memcpy(map, &header, sizeof(header));
	ledger_fake_account(fake, map);
	return renameat(dir_fd, temporary, dir_fd, fake->file_name) == 0 ? map : NULL;
}

/* The same, and be done with it. */
static inline bool ledger_fake_write(struct ledger_fake *fake, int dir_fd)
{
	uint8_t *map = ledger_fake_map(fake, dir_fd);
	const struct ledger_header *header = (const void *)map;

	if (map)
		(void)munmap(map, header->file_bytes);
	return map != NULL;
}

#endif
