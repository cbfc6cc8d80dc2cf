/* SPDX-License-Identifier: MIT */
#include "ledger/ledger_view.h"

#include "core/bits.h"

#include <string.h>

enum { MAP_ALIGN = 64, SLOTS_LOG2_MASK = 0xff };

static const uint32_t item_bytes[LEDGER_TABLE_COUNT] = {
	[LEDGER_TABLE_CACHES] = sizeof(struct ledger_cache),
	[LEDGER_TABLE_SLOTS] = sizeof(struct ledger_slot),
	[LEDGER_TABLE_ROWS] = sizeof(struct ledger_row),
	[LEDGER_TABLE_CONTEXTS] = sizeof(struct ledger_context),
	[LEDGER_TABLE_NODES] = sizeof(struct ledger_node),
	[LEDGER_TABLE_MODULES] = sizeof(struct ledger_module),
	[LEDGER_TABLE_STRINGS] = 1,
	[LEDGER_TABLE_MARKS] = sizeof(struct ledger_mark),
	[LEDGER_TABLE_LOST] = sizeof(struct ledger_lost),
	[LEDGER_TABLE_FINDINGS] = sizeof(struct ledger_finding),
	[LEDGER_TABLE_SCOPES] = sizeof(struct ledger_scope),
	[LEDGER_TABLE_ENTRIES] = sizeof(struct ledger_entries),
};

/* Also sees to it that no two tables share a byte: regions stand in table order. */
static int tables_fit(const struct ledger_header *header)
{
	uint64_t end = LEDGER_FIXED_BYTES;

	for (int t = 0; t < LEDGER_TABLE_COUNT; t++) {
		const struct ledger_table *table = &header->table[t];
		uint64_t size;

		if (table->item_bytes != item_bytes[t])
			return 0;
		if (table->offset % LEDGER_PAGE_BYTES != 0 || table->offset < end)
			return 0;
		if (__builtin_mul_overflow(table->capacity, (uint64_t)table->item_bytes, &size) ||
		    __builtin_add_overflow(table->offset, size, &end) || end > header->file_bytes)
			return 0;
	}
	return 1;
}

/* A file that ends early has what is before its end, as long as nobody asks for more. */
static void cut_tables(struct ledger_view *view)
{
	for (int t = 0; t < LEDGER_TABLE_COUNT; t++) {
		struct ledger_table *table = &view->header.table[t];
		uint64_t left = view->bytes > table->offset ? view->bytes - table->offset : 0;
		uint64_t used = view->count[t];

		table->capacity = core_smaller(table->capacity, left / table->item_bytes);
		view->count[t] = core_smaller(used, table->capacity);
		view->lost += used - view->count[t];
	}
}

enum ledger_view_status ledger_view_init(struct ledger_view *view, const void *map, uint64_t bytes)
{
	*view = (struct ledger_view){ .base = map, .bytes = bytes };
	if (bytes < sizeof(view->header))
		return LEDGER_VIEW_SHORT;
	if ((uintptr_t)map % MAP_ALIGN != 0)
		return LEDGER_VIEW_MISALIGNED;
	memcpy(&view->header, map, sizeof(view->header));
	if (memcmp(view->header.magic, LEDGER_MAGIC, sizeof(view->header.magic)) != 0)
		return LEDGER_VIEW_FOREIGN;
	if (view->header.version != LEDGER_VERSION)
		return LEDGER_VIEW_NEWER;
	if (bytes < LEDGER_FIXED_BYTES)
		return LEDGER_VIEW_SHORT;
	if (view->header.header_bytes != sizeof(view->header))
		return LEDGER_VIEW_HEADER;
	if (!tables_fit(&view->header))
		return LEDGER_VIEW_TABLE;
	for (int t = 0; t < LEDGER_TABLE_COUNT; t++)
		view->readable[t] = UINT64_MAX;
	ledger_view_refresh(view);
	if (view->header.file_bytes <= bytes)
		return LEDGER_VIEW_OK;
	cut_tables(view);
	return LEDGER_VIEW_TRUNCATED;
}

void ledger_view_refresh(struct ledger_view *view)
{
	const struct ledger_state *state = ledger_view_state(view);

	for (int t = 0; t < LEDGER_TABLE_COUNT; t++) {
		const struct ledger_table_state *table = &state->table[t];
		uint64_t count = LEDGER_GET(table->reserved);

		count = core_smaller(count, LEDGER_GET(table->ready));
		count = core_smaller(count, view->readable[t]);
		view->count[t] = core_smaller(count, view->header.table[t].capacity);
	}
}

const struct ledger_control *ledger_view_control(const struct ledger_view *view)
{
	return (const void *)(view->base + LEDGER_PAGE_BYTES);
}

const struct ledger_state *ledger_view_state(const struct ledger_view *view)
{
	return (const void *)(view->base + 2 * LEDGER_PAGE_BYTES);
}

const struct ledger_sums *ledger_view_sums(const struct ledger_view *view)
{
	return (const void *)(view->base + 3 * LEDGER_PAGE_BYTES);
}

const void *ledger_view_item(const struct ledger_view *view, enum ledger_table_type type,
			     uint64_t index)
{
	if (index >= view->count[type])
		return NULL;
	return view->base + view->header.table[type].offset + index * item_bytes[type];
}

const char *ledger_view_string(const struct ledger_view *view, struct ledger_string string)
{
	uint64_t count = view->count[LEDGER_TABLE_STRINGS];

	if (string.bytes == 0 || string.offset >= count || string.bytes > count - string.offset)
		return NULL;
	return ledger_view_item(view, LEDGER_TABLE_STRINGS, string.offset);
}

uint64_t ledger_view_cache_slots(const struct ledger_view *view, const struct ledger_cache *cache,
				 uint64_t *ret_first)
{
	uint64_t word = LEDGER_GET(cache->slots);
	uint64_t first = word >> 8;
	uint64_t log2 = word & SLOTS_LOG2_MASK;
	uint64_t total = view->count[LEDGER_TABLE_SLOTS];

	if (word == 0 || log2 > 32 || first >= total || (1ull << log2) > total - first)
		return 0;
	*ret_first = first;
	return 1ull << log2;
}
