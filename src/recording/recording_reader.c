/* SPDX-License-Identifier: MIT */
#include "recording/recording_reader.h"

#include "base/arena.h"
#include "base/xalloc.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Of the shortest row of any of our tables: its place in the page, its length and its header. */
enum { ROW_BYTES_MIN = 6 };

int seep_reader_damaged(struct seep_reader *l, const char *what)
{
	return seep_fail(l->err, SEEP_ECORRUPT, "%s", what);
}

uint64_t seep_reader_number(struct seep_reader *l, int column)
{
	return (uint64_t)sqlite3_column_int64(l->statement, column);
}

uint64_t seep_reader_figure(struct seep_reader *l, int column)
{
	uint64_t value = seep_reader_number(l, column);

	if (value <= INT64_MAX)
		return value;
	l->impossible = true;
	return 0;
}

bool seep_reader_flag(struct seep_reader *l, int column)
{
	return sqlite3_column_int64(l->statement, column) != 0;
}

bool seep_reader_is_null(struct seep_reader *l, int column)
{
	return sqlite3_column_type(l->statement, column) == SQLITE_NULL;
}

uint32_t seep_reader_small(struct seep_reader *l, int column, uint32_t max)
{
	uint64_t value = seep_reader_number(l, column);

	return value <= max ? (uint32_t)value : 0;
}

char *seep_reader_text(struct seep_reader *l, int column)
{
	const char *bytes;
	uint64_t count;

	if (seep_reader_is_null(l, column))
		return NULL;
	bytes = (const char *)sqlite3_column_text(l->statement, column);
	count = (uint64_t)sqlite3_column_bytes(l->statement, column);
	if (!bytes || count + 1 > l->text_left)
		return NULL;
	l->text_left -= count + 1;
	return seep_profile_strndup(l->profile, bytes, count);
}

char *seep_reader_text_or_empty(struct seep_reader *l, int column)
{
	char *copy = seep_reader_text(l, column);

	return copy ? copy : seep_profile_strndup(l->profile, "", 0);
}

/* Pages that several places of a table's tree name would give rows without end. */
static int count_row(struct seep_reader *l, const struct seep_reader_table *table, uint64_t count)
{
	if (count > l->held_bytes / ROW_BYTES_MIN)
		return seep_reader_damaged(l, "it has more rows than it has room for");
	if (count > table->rows_max)
		return seep_fail(l->err, SEEP_ELIMIT, "too many rows");
	return 0;
}

static int each_row(struct seep_reader *l, const struct seep_reader_table *table)
{
	uint64_t count = 0;
	int rc = sqlite3_prepare_v2(l->db, table->sql, -1, &l->statement, NULL);
	int r = 0;

	while (rc == SQLITE_OK && r == 0) {
		rc = sqlite3_step(l->statement);
		if (rc != SQLITE_ROW)
			break;
		rc = SQLITE_OK;
		r = count_row(l, table, ++count);
		if (r == 0)
			r = table->row(l);
		if (r == 0 && l->impossible)
			r = seep_reader_damaged(l, "a count or a size is negative");
	}
	if (r == 0 && rc != SQLITE_DONE)
		r = seep_db_fail(l->db, rc, l->err);
	(void)sqlite3_finalize(l->statement);
	l->statement = NULL;
	return r;
}

static void move_items(struct seep_reader *l, const struct seep_reader_table *table)
{
	char *profile = (char *)l->profile;
	uint32_t count;
	void *items = seep_reader_take(l, table->item_bytes, &count);

	memcpy(profile + table->items_at, &items, sizeof(items));
	memcpy(profile + table->count_at, &count, sizeof(count));
}

int seep_reader_tables(struct seep_reader *l, const struct seep_reader_table *tables, size_t count)
{
	int r = 0;

	for (size_t i = 0; i < count && r == 0; i++) {
		r = each_row(l, &tables[i]);
		if (r == 0 && tables[i].item_bytes)
			move_items(l, &tables[i]);
		if (r == 0 && tables[i].finish)
			r = tables[i].finish(l);
		seep_reader_drop(l);
	}
	return r;
}

void *seep_reader_add(struct seep_reader *l, size_t bytes)
{
	char *item;

	l->items = seep_xgrow(l->items, &l->item_capacity, (size_t)l->item_count + 1, bytes);
	item = (char *)l->items + l->item_count++ * bytes;
	memset(item, 0, bytes);
	return item;
}

/* What there is room for too much of is left: of pages that were never touched. */
void *seep_reader_take(struct seep_reader *l, size_t bytes, uint32_t *ret_count)
{
	void *items = l->items;

	*ret_count = l->item_count;
	if (!items)
		return seep_profile_calloc(l->profile, 0, bytes);
	seep_arena_take(l->profile->arena, items);
	l->items = NULL;
	seep_reader_drop(l);
	return items;
}

void seep_reader_drop(struct seep_reader *l)
{
	free(l->items);
	l->items = NULL;
	l->item_capacity = 0;
	l->item_count = 0;
}
