/* SPDX-License-Identifier: MIT */
#include "runtime/track/scope_number.h"

#include "ledger/ledger_scope.h"
#include "runtime/sys/memo.h"
#include "runtime/sys/sys.h"
#include "runtime/sys/tables.h"
#include "runtime/track/label.h"

#include <string.h>

enum { MEMO_BYTES_MAX = 2 << 20 };

/* By number; what the ledger says of it is in the item before. They only become more. */
static RT_LARGE struct {
	uint16_t parent;
	uint16_t tag;
} scopes[RT_SCOPES_MAX];
static _Atomic uint32_t scope_count = 1; /* may exceed RT_SCOPES_MAX */
/* From a hash of parent and tag: the number, and RT_SCOPE_INNER. */
static rt_memo by_parent_and_tag;

/* In the ledger; the order of items is that of numbers. False: no room, readers find none. */
static bool publish(uint32_t scope)
{
	struct ledger_scope *item;

	if (!rt_table_offer(LEDGER_TABLE_SCOPES, scope) ||
	    scope > rt_header.table[LEDGER_TABLE_SCOPES].capacity)
		return false;
	item = rt_global.scopes + scope - 1;
	item->parent = scopes[scope].parent;
	item->tag = rt_label_text(scopes[scope].tag);
	rt_raise(&rt_global.state->table[LEDGER_TABLE_SCOPES].reserved, scope);
	rt_store_release(&item->ready, 1);
	return true;
}

static uint64_t hash_of(uint32_t parent, uint32_t tag)
{
	return core_hash_step(core_hash_step(rt_global.seed, parent), tag) | 1;
}

static void keep(uint32_t parent, uint32_t tag, uint64_t value)
{
	rt_memo_put(&by_parent_and_tag, hash_of(parent, tag), value, 0, MEMO_BYTES_MAX);
}

/* With the last one, which is kept for "all others". */
static uint64_t most_numbers(void)
{
	return core_smaller(rt_header.table[LEDGER_TABLE_SCOPES].capacity + 1, RT_SCOPES_MAX);
}

/* @tag, which is not open in @parent. RT_SCOPE_NONE: too many. */
static uint32_t child(uint32_t parent, uint32_t tag)
{
	uint32_t scope = (uint32_t)rt_memo_find(&by_parent_and_tag, hash_of(parent, tag));

	if (scope)
		return scope;
	if (rt_load(&scope_count) + (tag != RT_LABEL_OTHERS || parent) < most_numbers())
		scope = atomic_fetch_add_explicit(&scope_count, 1, memory_order_relaxed);
	if (scope == RT_SCOPE_NONE || scope >= RT_SCOPES_MAX)
		return RT_SCOPE_NONE;
	scopes[scope].parent = (uint16_t)parent;
	scopes[scope].tag = (uint16_t)tag;
	if (!publish(scope))
		return RT_SCOPE_NONE;
	keep(parent, tag, scope);
	return scope;
}

/* The path of @scope without @tag; RT_SCOPES_MAX: there is no number for it. */
static uint32_t path_without(uint32_t scope, uint32_t tag)
{
	uint16_t *path = rt_scratch_take(RT_SCOPES_MAX * sizeof(*path));
	uint32_t length = 0, without = path ? RT_SCOPE_NONE : RT_SCOPES_MAX;

	for (; path && scope; scope = scopes[scope].parent)
		if (scopes[scope].tag != tag)
			path[length++] = scopes[scope].tag;
	while (length && without != RT_SCOPES_MAX) {
		without = child(without, path[--length]);
		if (without == RT_SCOPE_NONE)
			without = RT_SCOPES_MAX;
	}
	rt_scratch_give(path);
	return without;
}

const char *rt_scope_say(uint32_t scope, char *buffer, size_t max)
{
	char *at = buffer + max - 1;

	*at = '\0';
	for (; scope && scope < RT_SCOPES_MAX; scope = scopes[scope].parent) {
		const char *tag;
		size_t bytes = rt_label_say(scopes[scope].tag, &tag);

		if ((size_t)(at - buffer) <= bytes)
			break;
		if (*at)
			*--at = '/';
		at = (char *)memcpy(at - bytes, tag, bytes);
	}
	return at;
}

static bool is_open(uint32_t scope, uint32_t tag)
{
	while (scope && scopes[scope].tag != tag)
		scope = scopes[scope].parent;
	return scope != RT_SCOPE_NONE;
}

/* The scope of @tag entered in @parent, and RT_SCOPE_INNER. Where there are too many, "all others" of none. */
static RT_COLD uint64_t find_scope(uint32_t parent, uint32_t tag)
{
	uint64_t inner = is_open(parent, tag) ? RT_SCOPE_INNER : 0;
	uint32_t around = inner ? path_without(parent, tag) : parent;
	uint32_t scope = around != RT_SCOPES_MAX ? child(around, tag) : RT_SCOPE_NONE;

	if (scope == RT_SCOPE_NONE || tag == RT_LABEL_OTHERS)
		rt_note_unseen(LEDGER_UNSEEN_SCOPE_TAGS);
	if (scope == RT_SCOPE_NONE)
		return child(RT_SCOPE_NONE, RT_LABEL_OTHERS) | inner;
	if (inner)
		keep(parent, tag, scope | inner);
	return scope | inner;
}

uint64_t rt_scope_number(uint32_t parent, uint32_t tag)
{
	uint64_t known = rt_memo_find(&by_parent_and_tag, hash_of(parent, tag));

	return RT_LIKELY(known != 0) ? known : find_scope(parent, tag);
}

uint16_t rt_scope_tag(uint32_t scope)
{
	return scopes[scope].tag;
}

uint32_t rt_scope_numbers(void)
{
	return (uint32_t)core_smaller(rt_load(&scope_count), RT_SCOPES_MAX);
}

void rt_scope_numbers_forked(void)
{
	for (uint32_t scope = 1; scope < rt_scope_numbers(); scope++)
		if (!publish(scope))
			rt_note_unseen(LEDGER_UNSEEN_SCOPE_TAGS);
}
