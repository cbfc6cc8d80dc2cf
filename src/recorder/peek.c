/* SPDX-License-Identifier: MIT */
#include "recorder/peek.h"

#include "base/procfs.h"
#include "base/xalloc.h"
#include "profile/ledger_figure.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FIXED_BYTES = 3 * LEDGER_PAGE_BYTES, CHUNK_BYTES = 64 * 1024 };

/* ---- opening ------------------------------------------------------------------------------ */

static int view_code(enum ledger_view_status status)
{
	switch (status) {
	case LEDGER_VIEW_SHORT:
	case LEDGER_VIEW_TRUNCATED:
		return SEEP_ETRUNC;
	case LEDGER_VIEW_NEWER:
		return SEEP_EVERSION;
	default:
		return SEEP_ECORRUPT;
	}
}

static int map_pages(struct seep_peek *peek, bool writable, struct seep_error *err)
{
	enum ledger_view_status status;
	struct stat st;
	int rc;

	if (fstat(peek->fd, &st) < 0)
		return seep_fail_errno(err, errno, "cannot look at %s", peek->file_name);
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid())
		return seep_fail(err, SEEP_EUNSUPPORTED, "%s is not a plain file of ours",
				 peek->file_name);
	if (st.st_size < FIXED_BYTES)
		return seep_fail(err, SEEP_ETRUNC, "%s: %s", peek->file_name,
				 ledger_view_problem(LEDGER_VIEW_SHORT));
	rc = seep_shared_map_open(peek->fd, FIXED_BYTES, writable, &peek->map, err);
	if (rc < 0) {
		seep_error_prefix(err, "%s", peek->file_name);
		return rc;
	}
	/* The view reads no more than the fixed pages from the map; the tables are ours to read. */
	status = ledger_view_init(&peek->view, peek->map.at, (uint64_t)st.st_size);
	/* Nobody will write to a dead ledger that was cut; it can still be looked at. */
	if (status != LEDGER_VIEW_OK && (status != LEDGER_VIEW_TRUNCATED || writable))
		return seep_fail(err, (enum seep_code)view_code(status), "%s: %s", peek->file_name,
				 ledger_view_problem(status));
	peek->view.header.parent[LEDGER_NAME_BYTES - 1] = '\0';
	peek->control = (void *)((char *)peek->map.at + LEDGER_PAGE_BYTES);
	peek->state = (void *)((char *)peek->map.at + 2 * LEDGER_PAGE_BYTES);
	return 0;
}

int seep_peek_open(int dir_fd, const char *file_name, bool writable, struct seep_peek *ret_peek,
		   struct seep_error *err)
{
	/* O_NONBLOCK: a pipe that somebody put here must not make us wait. */
	int flags = (writable ? O_RDWR : O_RDONLY) | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY;
	struct seep_peek peek = { .fd = openat(dir_fd, file_name, flags) };
	int rc;

	if (peek.fd < 0 && errno == ENOENT)
		return seep_fail(err, SEEP_ENOTFOUND, "%s: no such ledger", file_name);
	if (peek.fd < 0 && (errno == ELOOP || errno == ENXIO || errno == EISDIR))
		return seep_fail(err, SEEP_EUNSUPPORTED, "%s is not a plain file", file_name);
	if (peek.fd < 0)
		return seep_fail_errno(err, errno, "cannot open %s", file_name);
	peek.file_name = seep_xstrdup(file_name);
	rc = map_pages(&peek, writable, err);
	if (rc < 0)
		seep_peek_close(&peek);
	else
		*ret_peek = peek;
	return rc;
}

void seep_peek_close(struct seep_peek *peek)
{
	if (!peek)
		return;
	seep_shared_map_close(&peek->map);
	if (peek->fd >= 0)
		(void)close(peek->fd);
	free(peek->file_name);
	*peek = (struct seep_peek){ .fd = -1 };
}

bool seep_peek_is_cut(const struct seep_peek *peek)
{
	return seep_shared_map_is_cut(&peek->map);
}

/* ---- tables ------------------------------------------------------------------------------- */

typedef void (*item_fn)(const void *item, void *context);

/* Call @each for the items of a table that may be touched; ends early where the file does. */
static void each_item(struct seep_peek *peek, enum ledger_table_type type, item_fn each,
		      void *context)
{
	const struct ledger_table *table = &peek->view.header.table[type];
	uint64_t left = peek->view.count[type];
	uint64_t at = table->offset;
	size_t per_chunk = CHUNK_BYTES / table->item_bytes;
	_Alignas(64) unsigned char chunk[CHUNK_BYTES];

	while (left > 0) {
		size_t want = left < per_chunk ? (size_t)left : per_chunk;
		ssize_t got = pread(peek->fd, chunk, want * table->item_bytes, (off_t)at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < (ssize_t)table->item_bytes)
			return;
		want = (size_t)got / table->item_bytes;
		for (size_t i = 0; i < want; i++) {
			each(chunk + i * table->item_bytes, context);
		}
		at += want * table->item_bytes;
		left -= want;
	}
}

static void add_cache_live(const void *item, void *context)
{
	const struct ledger_cache *cache = item;
	uint64_t *live = context;

	if (atomic_load_explicit(&cache->ready, memory_order_relaxed))
		*live += (uint64_t)atomic_load_explicit(&cache->sum, memory_order_relaxed) +
			 (uint64_t)atomic_load_explicit(&cache->first, memory_order_relaxed);
}

uint64_t seep_peek_live_bytes(struct seep_peek *peek)
{
	/* Parts may be below 0, and such that were written over may sum to anything. */
	uint64_t live = (uint64_t)atomic_load_explicit(&peek->state->live_bytes,
						       memory_order_acquire);

	ledger_view_refresh(&peek->view);
	each_item(peek, LEDGER_TABLE_CACHES, add_cache_live, &live);
	return (int64_t)live > 0 ? live : 0;
}

static void add_cache_usable(const void *item, void *context)
{
	const struct ledger_cache *cache = item;
	uint64_t *usable = context;

	if (atomic_load_explicit(&cache->ready, memory_order_relaxed))
		*usable += atomic_load_explicit(&cache->usable_alloc_bytes, memory_order_relaxed) -
			   atomic_load_explicit(&cache->usable_freed_bytes, memory_order_relaxed);
}

uint64_t seep_peek_usable_bytes(struct seep_peek *peek)
{
	uint64_t usable = -atomic_load_explicit(&peek->state->direct_usable_bytes,
						memory_order_relaxed);

	ledger_view_refresh(&peek->view);
	each_item(peek, LEDGER_TABLE_CACHES, add_cache_usable, &usable);
	return (int64_t)usable > 0 ? usable : 0;
}

/* Both or neither, as in a profile of the ledger. */
static void add_counts(struct seep_peek_totals *totals, uint64_t allocs, uint64_t frees)
{
	struct seep_peek_totals sums = *totals;

	if (seep_ledger_add(&sums.allocs, allocs) && seep_ledger_add(&sums.frees, frees))
		*totals = sums;
}

static void add_row(const void *item, void *context)
{
	const struct ledger_row *row = item;

	add_counts(context, atomic_load_explicit(&row->allocs, memory_order_relaxed),
		   atomic_load_explicit(&row->frees, memory_order_relaxed) +
			   atomic_load_explicit(&row->direct_frees, memory_order_relaxed));
}

static void add_slot(const void *item, void *context)
{
	const struct ledger_slot *slot = item;

	if (atomic_load_explicit(&slot->row, memory_order_relaxed) == 0)
		return;
	add_counts(context, atomic_load_explicit(&slot->allocs, memory_order_relaxed),
		   atomic_load_explicit(&slot->frees, memory_order_relaxed));
}

/* Rows first: what a flush moves meanwhile is then missed by this pass, never counted twice. */
struct seep_peek_totals seep_peek_totals(struct seep_peek *peek)
{
	struct seep_peek_totals totals = { 0 };

	ledger_view_refresh(&peek->view);
	each_item(peek, LEDGER_TABLE_ROWS, add_row, &totals);
	each_item(peek, LEDGER_TABLE_SLOTS, add_slot, &totals);
	return totals;
}

uint64_t seep_peek_pass_bytes(struct seep_peek *peek)
{
	ledger_view_refresh(&peek->view);
	return peek->view.count[LEDGER_TABLE_ROWS] * sizeof(struct ledger_row) +
	       peek->view.count[LEDGER_TABLE_SLOTS] * sizeof(struct ledger_slot);
}

char *seep_peek_text(const struct seep_peek *peek, struct ledger_string string)
{
	const struct ledger_table *table = &peek->view.header.table[LEDGER_TABLE_STRINGS];
	size_t bytes = string.bytes < SEEP_PEEK_TEXT_BYTES ? string.bytes : SEEP_PEEK_TEXT_BYTES;
	char *text = seep_xcalloc(bytes + 1, 1);

	if (string.offset > table->capacity || bytes > table->capacity - string.offset)
		return text;
	if (pread(peek->fd, text, bytes, (off_t)(table->offset + string.offset)) < 0)
		text[0] = '\0';
	return text;
}

/* ---- marks -------------------------------------------------------------------------------- */

/*
 * The page of item @index is real now. If it is the first that the table's ready count leaves out,
 * count it in, as the runtime does for pages that it makes real.
 */
static void count_page(struct seep_peek *peek, uint64_t index)
{
	enum { PER_PAGE = LEDGER_PAGE_BYTES / sizeof(struct ledger_mark) };
	struct ledger_table_state *table = &peek->state->table[LEDGER_TABLE_MARKS];
	uint64_t page_end = (index / PER_PAGE + 1) * PER_PAGE;
	uint64_t ready = atomic_load_explicit(&table->ready, memory_order_acquire);

	if (page_end > peek->view.header.table[LEDGER_TABLE_MARKS].capacity)
		page_end = peek->view.header.table[LEDGER_TABLE_MARKS].capacity;
	while (ready <= index && ready + PER_PAGE >= page_end) {
		if (!atomic_compare_exchange_strong_explicit(&table->ready, &ready, page_end,
							     memory_order_acq_rel,
							     memory_order_acquire))
			continue;
		atomic_fetch_add_explicit(&peek->state->real_bytes, LEDGER_PAGE_BYTES,
					  memory_order_relaxed);
		return;
	}
}

/* Written to the file, not through a mapping: a full file system is then an error, not a signal. */
static void write_mark(struct seep_peek *peek, uint64_t index, const struct ledger_mark *mark)
{
	const struct ledger_table *table = &peek->view.header.table[LEDGER_TABLE_MARKS];
	off_t at = (off_t)(table->offset + index * sizeof(*mark));
	const uint32_t ready = 1;

	if (pwrite(peek->fd, mark, sizeof(*mark), at) != (ssize_t)sizeof(*mark))
		return;
	count_page(peek, index);
	/* Last, so that a reader never meets half a mark. */
	(void)!pwrite(peek->fd, &ready, sizeof(ready), at);
}

uint32_t seep_peek_mark(struct seep_peek *peek, uint64_t now_ns)
{
	const struct ledger_table *table = &peek->view.header.table[LEDGER_TABLE_MARKS];
	struct ledger_table_state *state = &peek->state->table[LEDGER_TABLE_MARKS];
	struct ledger_mark mark = { .at_ns = now_ns };
	uint64_t index;

	if (atomic_load_explicit(&state->reserved, memory_order_relaxed) >= table->capacity)
		return 0;
	index = atomic_fetch_add_explicit(&state->reserved, 1, memory_order_relaxed);
	if (index >= table->capacity)
		return 0;
	mark.epoch = atomic_fetch_add_explicit(&peek->control->epoch, 1, memory_order_acq_rel) + 1;
	write_mark(peek, index, &mark);
	return mark.epoch;
}

/* ---- who lives ---------------------------------------------------------------------------- */

enum seep_process_life seep_peek_life(const struct seep_peek *peek)
{
	const struct ledger_header *header = &peek->view.header;
	enum seep_process_life life;
	uint32_t pid = header->pid;

	life = seep_profile_process_life(header, &pid);
	return pid == header->pid ? life : SEEP_PROCESS_UNKNOWN;
}

bool seep_peek_has_recorder(const struct seep_peek *peek)
{
	uint32_t pid = atomic_load_explicit(&peek->control->recorder_pid, memory_order_acquire);
	uint64_t start = atomic_load_explicit(&peek->control->recorder_start_ticks,
					      memory_order_acquire);

	return pid != 0 && !seep_profile_is_elsewhere(&peek->view.header) &&
	       seep_procfs_alive(pid, start);
}
