/* SPDX-License-Identifier: MIT */
/*
 * A ledger as the runtime would leave it, of a process of this machine, in a file: small, valid,
 * without stacks. For tests of what follows, finds and closes ledgers.
 */
#ifndef SEEP_TESTS_LEDGER_FAKE_H
#define SEEP_TESTS_LEDGER_FAKE_H

#include "base/procfs.h"
#include "ledger_build.h"
#include "recorder/ledgerdir.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
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
	uint64_t allocs;
	uint64_t frees;
	uint64_t block_bytes;		   /* 0 = 10 */
	char file_name[LEDGER_NAME_BYTES]; /* filled by ledger_fake_write() */
};

static const struct built_sizes ledger_fake_sizes = {
	.caches = 64,
	.slots = 64,
	.rows = 64,
	.contexts = 128,
	.nodes = 256,
	.modules = 64,
	.strings = 4096,
	.marks = 128,
};

static inline uint64_t ledger_fake_clock(clockid_t clock)
{
	struct timespec now;

	(void)clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline void ledger_fake_header(const struct ledger_fake *fake, struct built_ledger *b)
{
	struct ledger_header *header = b->header;

	seep_procfs_boot_id(header->boot_id);
	header->pid_namespace = seep_procfs_pid_namespace(0);
	header->pid = fake->pid;
	header->ppid = fake->ppid;
	header->uid = geteuid();
	header->start_ticks = fake->start_ticks;
	header->created_ns = fake->created_ns ? fake->created_ns
					      : ledger_fake_clock(CLOCK_MONOTONIC);
	header->created_realtime_ns = ledger_fake_clock(CLOCK_REALTIME);
	header->session = fake->session;
	header->origin = fake->origin;
	header->exe = built_string(b, fake->exe, strlen(fake->exe));
	if (fake->parent)
		(void)snprintf(header->parent, sizeof(header->parent), "%s", fake->parent);
}

static inline void ledger_fake_figures(const struct ledger_fake *fake, struct built_ledger *b)
{
	const uint64_t bytes = fake->block_bytes ? fake->block_bytes : 10;
	struct ledger_row *row = &b->rows[0];

	row->allocs = fake->allocs;
	row->alloc_bytes = fake->allocs * bytes;
	row->frees = fake->frees;
	row->freed_bytes = fake->frees * bytes;
	b->state->live_bytes = (int64_t)((fake->allocs - fake->frees) * bytes);
	(void)built_cache(b, 0);
}

/* The file, mapped; NULL when that fails. */
static inline uint8_t *ledger_fake_file(const struct built_ledger *b, int dir_fd, const char *name)
{
	int fd = openat(dir_fd, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	uint8_t *map;

	if (fd < 0)
		return NULL;
	built_write(b, fd, b->header->file_bytes);
	map = mmap(NULL, b->header->file_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	(void)close(fd);
	return map == MAP_FAILED ? NULL : map;
}

/* Map a new ledger under its final name in @dir_fd; NULL: that failed. fake->file_name is set. */
static inline uint8_t *ledger_fake_map(struct ledger_fake *fake, int dir_fd)
{
	char temporary[LEDGER_NAME_BYTES + 8];
	const char *slash = strrchr(fake->exe, '/');
	struct built_ledger built;
	uint8_t *map;

	built_init(&built, &ledger_fake_sizes);
	ledger_fake_header(fake, &built);
	ledger_fake_figures(fake, &built);
	(void)snprintf(fake->file_name, sizeof(fake->file_name), "%.100s.%u.%llu.%u.ledger",
		       slash ? slash + 1 : fake->exe, fake->pid,
		       (unsigned long long)fake->start_ticks, fake->instance);
	(void)snprintf(temporary, sizeof(temporary), "%s.new", fake->file_name);
	map = ledger_fake_file(&built, dir_fd, temporary);
	built_done(&built);
	if (!map)
		return NULL;
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

/* The folder that they lie in, open. */
static char folder[64];
static int folder_fd;

static inline int make_folder(void)
{
	strcpy(folder, "/tmp/seep-ledgers-XXXXXX");
	return mkdtemp(folder) ? seep_ledgerdir_open(folder, false, &folder_fd, NULL) : -1;
}

static inline int remove_folder(void **state)
{
	char command[128];

	(void)state;
	(void)close(folder_fd);
	(void)snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command);
}

#endif
