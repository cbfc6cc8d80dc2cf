/* SPDX-License-Identifier: MIT */
/*
 * Bounds-checked reading of a ledger whose every byte may be hostile or change meanwhile.
 *
 * A view keeps its own copy of the header and of how many items each table has, so what was
 * checked once stays true whatever happens to the file. Items are reached only through
 * ledger_view_*(), which give NULL outside those counts; the fields inside an item are the
 * caller's to check.
 *
 * The mapping must stay at least @bytes long: who maps a file that others may truncate reads it
 * into memory instead (see seep_profile_load_ledger()).
 */
#ifndef SEEP_LEDGER_LEDGER_VIEW_H
#define SEEP_LEDGER_LEDGER_VIEW_H

#include "ledger/ledger.h"
#include "ledger/ledger_scope.h"

#include <stdint.h>

/* A field that may change meanwhile: what was published before it is there as well. */
#define LEDGER_GET(field) atomic_load_explicit(&(field), memory_order_acquire)

enum ledger_view_status {
	LEDGER_VIEW_OK = 0,
	LEDGER_VIEW_SHORT,	/* fewer bytes than the four fixed pages */
	LEDGER_VIEW_FOREIGN,	/* not a ledger: no magic */
	LEDGER_VIEW_NEWER,	/* a layout version that is not known here */
	LEDGER_VIEW_HEADER,	/* sizes in the header contradict the layout version */
	LEDGER_VIEW_TRUNCATED,	/* the header promises more bytes than there are; usable */
	LEDGER_VIEW_TABLE,	/* a table lies outside the file, or over something else */
	LEDGER_VIEW_MISALIGNED, /* the mapping does not begin at a multiple of 64 */
};

struct ledger_view {
	const unsigned char *base;
	uint64_t bytes;
	struct ledger_header header;	    /* private copy */
	uint64_t count[LEDGER_TABLE_COUNT]; /* items that may be touched; see _refresh() */
	uint64_t readable
		[LEDGER_TABLE_COUNT]; /* more are never: whoever maps the file may lower it */
	uint64_t lost;		      /* items, of all tables, beyond the end of the file */
};

/**
 * ledger_view_init - check the header at @map and take the first counts
 * @map:   at least @bytes readable bytes; the first three pages are read, no other
 * @bytes: size of the file. More than the header promises is accepted
 *
 * @view is usable after LEDGER_VIEW_OK. After LEDGER_VIEW_TRUNCATED it is, too, for a caller who
 * says so: capacities are then what fits in @bytes, and view->lost is more than 0 if anything that
 * was counted is gone. view->header is filled from _NEWER on.
 */
enum ledger_view_status ledger_view_init(struct ledger_view *view, const void *map, uint64_t bytes);

/*
 * Take the counts again, with acquire. They are the smallest of what is handed out, what is real,
 * and the capacity; they never shrink in a ledger that is well.
 */
void ledger_view_refresh(struct ledger_view *view);

const struct ledger_control *ledger_view_control(const struct ledger_view *view);
const struct ledger_state *ledger_view_state(const struct ledger_view *view);
const struct ledger_sums *ledger_view_sums(const struct ledger_view *view);

/* Item @index, published or not; NULL when there is none. */
const void *ledger_view_item(const struct ledger_view *view, enum ledger_table_type type,
			     uint64_t index);

/* The same by type. */
#define LEDGER_VIEW_ITEM(view, name, table, index) \
	((const struct ledger_##name *)ledger_view_item(view, LEDGER_TABLE_##table, index))
#define ledger_view_cache(view, index) LEDGER_VIEW_ITEM(view, cache, CACHES, index)
#define ledger_view_slot(view, index) LEDGER_VIEW_ITEM(view, slot, SLOTS, index)
#define ledger_view_row(view, index) LEDGER_VIEW_ITEM(view, row, ROWS, index)
#define ledger_view_context(view, index) LEDGER_VIEW_ITEM(view, context, CONTEXTS, index)
#define ledger_view_node(view, index) LEDGER_VIEW_ITEM(view, node, NODES, index)
#define ledger_view_module(view, index) LEDGER_VIEW_ITEM(view, module, MODULES, index)
#define ledger_view_mark(view, index) LEDGER_VIEW_ITEM(view, mark, MARKS, index)
#define ledger_view_finding(view, index) LEDGER_VIEW_ITEM(view, finding, FINDINGS, index)
#define ledger_view_scope(view, index) LEDGER_VIEW_ITEM(view, scope, SCOPES, index)
#define ledger_view_entries(view, index) LEDGER_VIEW_ITEM(view, entries, ENTRIES, index)

/* The bytes of @string, not terminated; NULL when it is empty or lies outside the table. */
const char *ledger_view_string(const struct ledger_view *view, struct ledger_string string);

/**
 * ledger_view_cache_slots - the run of slots that @cache uses
 * @ret_first: index of the first, in the slots table
 *
 * Returns: how many, a power of two; 0 when it has none or the word is out of bounds.
 */
uint64_t ledger_view_cache_slots(const struct ledger_view *view, const struct ledger_cache *cache,
				 uint64_t *ret_first);

#endif
