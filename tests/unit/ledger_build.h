/* SPDX-License-Identifier: MIT */
/*
 * Ledgers made by hand, in memory: what a runtime would have written, item by item, so that a
 * test can also write what no runtime would. Every helper publishes its item; tests damage or
 * unpublish it through the pointers afterwards.
 */
#ifndef SEEP_TESTS_LEDGER_BUILD_H
#define SEEP_TESTS_LEDGER_BUILD_H

#include "ledger/ledger.h"
#include "ledger/ledger_scope.h"
#include "profile/ledger_live.h"

#include <assert.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BUILD_UNUSED __attribute__((unused))

struct built_ledger {
	int fd; /* of memory */
	unsigned char *map;
	uint64_t bytes;
	struct ledger_header *header;
	struct ledger_control *control;
	struct ledger_state *state;
	struct ledger_sums *sums;
	struct ledger_cache *caches;
	struct ledger_slot *slots;
	struct ledger_row *rows;
	struct ledger_context *contexts;
	struct ledger_node *nodes;
	struct ledger_module *modules;
	char *strings;
	struct ledger_mark *marks;
	struct ledger_finding *findings;
	struct ledger_scope *scopes;
	struct ledger_entries *entries;
};

struct built_sizes {
	uint64_t caches, slots, rows, contexts, nodes, modules, strings, marks;
};

static const struct built_sizes built_small BUILD_UNUSED = {
	.caches = 16,
	.slots = 1024,
	.rows = 256,
	.contexts = 128,
	.nodes = 512,
	.modules = 16,
	.strings = 16384,
	.marks = 16,
};

static uint64_t built_reserve(struct built_ledger *b, enum ledger_table_type table)
{
	uint64_t index = b->state->table[table].reserved++;

	assert(index < b->header->table[table].capacity);
	b->state->table[table].ready = index + 1;
	return index;
}

static void built_place(struct built_ledger *b, enum ledger_table_type table, uint64_t item_bytes,
			uint64_t capacity)
{
	b->header->table[table].item_bytes = (uint32_t)item_bytes;
	b->header->table[table].capacity = capacity;
	b->header->table[table].offset = b->header->file_bytes;
	b->header->file_bytes += (item_bytes * capacity + 4095) / 4096 * 4096;
}

static BUILD_UNUSED struct ledger_string built_string(struct built_ledger *b, const char *text,
						      size_t bytes)
{
	struct ledger_string string;
	uint64_t at = b->state->table[LEDGER_TABLE_STRINGS].reserved;

	assert(at + bytes <= b->header->table[LEDGER_TABLE_STRINGS].capacity);
	memcpy(b->strings + at, text, bytes);
	b->state->table[LEDGER_TABLE_STRINGS].reserved = at + bytes;
	b->state->table[LEDGER_TABLE_STRINGS].ready = at + bytes;
	string.offset = (uint32_t)at;
	string.bytes = (uint32_t)bytes;
	return string;
}

static BUILD_UNUSED uint32_t built_node(struct built_ledger *b, uint32_t parent, uint16_t module,
					uint64_t address)
{
	uint32_t index = (uint32_t)built_reserve(b, LEDGER_TABLE_NODES);

	b->nodes[index].module = module;
	b->nodes[index].flags = LEDGER_NODE_READY;
	b->nodes[index].address = address & 0xffffffffffffull;
	b->nodes[index].parent_ready = parent + 1;
	return index;
}

static BUILD_UNUSED uint32_t built_context(struct built_ledger *b, uint32_t leaf, uint8_t kind)
{
	uint32_t index = (uint32_t)built_reserve(b, LEDGER_TABLE_CONTEXTS);

	b->contexts[index].leaf = leaf;
	b->contexts[index].kind = kind;
	b->contexts[index].first_ns = 1000 + index;
	b->contexts[index].flags = LEDGER_CONTEXT_READY;
	return index;
}

/* Gives the row's id. */
static BUILD_UNUSED uint32_t built_row(struct built_ledger *b, uint32_t context, uint32_t epoch)
{
	uint32_t index = (uint32_t)built_reserve(b, LEDGER_TABLE_ROWS);

	b->rows[index].epoch = epoch;
	b->rows[index].context_ready = context + 1;
	return b->header->first_row + index;
}

static BUILD_UNUSED struct ledger_row *built_row_at(struct built_ledger *b, uint32_t id)
{
	return &b->rows[id - b->header->first_row];
}

static BUILD_UNUSED uint16_t built_module(struct built_ledger *b, const char *path,
					  uint8_t build_id)
{
	uint32_t index = (uint32_t)built_reserve(b, LEDGER_TABLE_MODULES);
	struct ledger_module *module = &b->modules[index];

	module->path = built_string(b, path, strlen(path));
	module->bias = 0x10000000ull * (index + 1);
	module->start = module->bias;
	module->end = module->bias + 0x100000;
	if (build_id) {
		module->build_id_bytes = 20;
		memset(module->build_id, build_id, 20);
	}
	module->ready = 1;
	return (uint16_t)(index + 1);
}

/* A cache with 1 << log2 slots; gives its index. */
static BUILD_UNUSED uint32_t built_cache(struct built_ledger *b, uint32_t log2)
{
	uint32_t index = (uint32_t)built_reserve(b, LEDGER_TABLE_CACHES);
	uint64_t first = b->state->table[LEDGER_TABLE_SLOTS].reserved;

	assert(first + (1ull << log2) <= b->header->table[LEDGER_TABLE_SLOTS].capacity);
	b->state->table[LEDGER_TABLE_SLOTS].reserved = first + (1ull << log2);
	b->state->table[LEDGER_TABLE_SLOTS].ready = first + (1ull << log2);
	b->caches[index].slots = first << 8 | log2;
	b->caches[index].owner_tid = 100 + index;
	b->caches[index].ready = 1;
	b->control->caches = index + 1;
	return index;
}

static BUILD_UNUSED struct ledger_slot *built_slot(struct built_ledger *b, uint32_t cache,
						   uint32_t i)
{
	return &b->slots[(b->caches[cache].slots >> 8) + i];
}

static BUILD_UNUSED void built_mark(struct built_ledger *b, const char *name, uint32_t epoch,
				    uint64_t at_ns)
{
	struct ledger_mark *mark = &b->marks[built_reserve(b, LEDGER_TABLE_MARKS)];

	(void)snprintf(mark->name, sizeof(mark->name), "%s", name);
	mark->epoch = epoch;
	mark->at_ns = at_ns;
	mark->ready = 1;
}

static BUILD_UNUSED void built_find_tables(struct built_ledger *b)
{
	b->caches = (void *)(b->map + b->header->table[LEDGER_TABLE_CACHES].offset);
	b->slots = (void *)(b->map + b->header->table[LEDGER_TABLE_SLOTS].offset);
	b->rows = (void *)(b->map + b->header->table[LEDGER_TABLE_ROWS].offset);
	b->contexts = (void *)(b->map + b->header->table[LEDGER_TABLE_CONTEXTS].offset);
	b->nodes = (void *)(b->map + b->header->table[LEDGER_TABLE_NODES].offset);
	b->modules = (void *)(b->map + b->header->table[LEDGER_TABLE_MODULES].offset);
	b->strings = (void *)(b->map + b->header->table[LEDGER_TABLE_STRINGS].offset);
	b->marks = (void *)(b->map + b->header->table[LEDGER_TABLE_MARKS].offset);
	b->findings = (void *)(b->map + b->header->table[LEDGER_TABLE_FINDINGS].offset);
	b->scopes = (void *)(b->map + b->header->table[LEDGER_TABLE_SCOPES].offset);
	b->entries = (void *)(b->map + b->header->table[LEDGER_TABLE_ENTRIES].offset);
}

/* A ledger with its two fixed contexts and rows, the root node, and a process of pid 4242. */
static BUILD_UNUSED void built_init(struct built_ledger *b, const struct built_sizes *sizes)
{
	static const char argv[] = "prog\0--flag\0";

	memset(b, 0, sizeof(*b));
	b->bytes = LEDGER_FIXED_BYTES + LEDGER_TABLE_COUNT * 4096 +
		   sizes->caches * sizeof(struct ledger_cache) +
		   sizes->slots * sizeof(struct ledger_slot) +
		   sizes->rows * sizeof(struct ledger_row) +
		   sizes->contexts * sizeof(struct ledger_context) +
		   sizes->nodes * sizeof(struct ledger_node) +
		   sizes->modules * sizeof(struct ledger_module) + sizes->strings +
		   sizes->marks * sizeof(struct ledger_mark) + 16 * sizeof(struct ledger_entries);
	b->fd = memfd_create("ledger", MFD_CLOEXEC);
	if (ftruncate(b->fd, (off_t)b->bytes) != 0)
		abort();
	b->map = mmap(NULL, b->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, b->fd, 0);
	assert(b->map != MAP_FAILED);
	b->header = (void *)b->map;
	b->control = (void *)(b->map + 4096);
	b->state = (void *)(b->map + 8192);
	b->sums = (void *)(b->map + 12288);
	memcpy(b->header->magic, LEDGER_MAGIC, sizeof(b->header->magic));
	b->header->version = LEDGER_VERSION;
	b->header->header_bytes = sizeof(*b->header);
	b->header->file_bytes = LEDGER_FIXED_BYTES;
	built_place(b, LEDGER_TABLE_CACHES, sizeof(struct ledger_cache), sizes->caches);
	built_place(b, LEDGER_TABLE_SLOTS, sizeof(struct ledger_slot), sizes->slots);
	built_place(b, LEDGER_TABLE_ROWS, sizeof(struct ledger_row), sizes->rows);
	built_place(b, LEDGER_TABLE_CONTEXTS, sizeof(struct ledger_context), sizes->contexts);
	built_place(b, LEDGER_TABLE_NODES, sizeof(struct ledger_node), sizes->nodes);
	built_place(b, LEDGER_TABLE_MODULES, sizeof(struct ledger_module), sizes->modules);
	built_place(b, LEDGER_TABLE_STRINGS, 1, sizes->strings);
	built_place(b, LEDGER_TABLE_MARKS, sizeof(struct ledger_mark), sizes->marks);
	built_place(b, LEDGER_TABLE_LOST, sizeof(struct ledger_lost), 16);
	built_place(b, LEDGER_TABLE_FINDINGS, sizeof(struct ledger_finding), 16);
	built_place(b, LEDGER_TABLE_SCOPES, sizeof(struct ledger_scope), 16);
	built_place(b, LEDGER_TABLE_ENTRIES, sizeof(struct ledger_entries), 16);
	assert(b->header->file_bytes <= b->bytes);
	built_find_tables(b);
	b->header->pid = 4242;
	b->header->ppid = 4241;
	b->header->uid = 1000;
	b->header->start_ticks = 77;
	b->header->boot_id[0] = 1; /* no boot of this machine */
	b->header->created_ns = 1000;
	b->header->first_row = 1;
	b->header->allocator = LEDGER_ALLOCATOR_GLIBC;
	b->control->size_max_bytes = ~0ull;
	b->header->exe = built_string(b, "/bin/prog", 9);
	b->header->argv = built_string(b, argv, sizeof(argv) - 1);
	b->header->cwd = built_string(b, "/home", 5);
	built_reserve(b, LEDGER_TABLE_NODES);
	b->nodes[0].parent_ready = 1;
	b->nodes[0].flags = LEDGER_NODE_READY;
	built_context(b, 0, 0);
	built_context(b, 0, 0);
	built_row(b, LEDGER_CONTEXT_NO_STACK, 0);
	built_row(b, LEDGER_CONTEXT_OTHER, 0);
}

static BUILD_UNUSED void built_done(struct built_ledger *b)
{
	(void)munmap(b->map, b->bytes);
	(void)close(b->fd);
}

/* seep_ledger_live_open() of it. */
static BUILD_UNUSED int built_open_live(const struct built_ledger *b,
					struct seep_ledger_live **ret_live, struct seep_error *err)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", b->fd);
	return seep_ledger_live_open(path, ret_live, err);
}

/* The first @bytes of it into a file. */
static BUILD_UNUSED void built_write(const struct built_ledger *b, int fd, uint64_t bytes)
{
	assert(fd >= 0);
	for (uint64_t at = 0; at < bytes;) {
		ssize_t put = write(fd, b->map + at, bytes - at);

		assert(put > 0);
		at += (uint64_t)put;
	}
}

static BUILD_UNUSED void built_save(const struct built_ledger *b, const char *path, uint64_t bytes)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	built_write(b, fd, bytes);
	(void)close(fd);
}

#endif
