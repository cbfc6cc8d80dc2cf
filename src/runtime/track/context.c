/* SPDX-License-Identifier: MIT */
#include "runtime/track/context.h"

#include "runtime/sys/sys.h"
#include "runtime/sys/tables.h"
#include "runtime/track/break.h"
#include "runtime/track/label.h"
#include "runtime/track/nodes.h"
#include "runtime/track/place.h"
#include "runtime/track/scope.h"
#include "runtime/unwind/rules.h"

rt_memo rt_raw_rows;

enum {
	RAW_SHARE = 4,	       /* of ledger_max: how large rt_raw_rows may grow */
	RAW_PER_FOLDED = 1024, /* raw paths of one folded context that are added there */
};

/*
 * What rt_entered says of a context: its index + 1, its present row and the low bits of that row's
 * epoch.
 */
enum {
	EPOCH_BITS = 14,
	EPOCH_SHIFT = 64 - EPOCH_BITS,
	ROW_SHIFT = EPOCH_SHIFT - LEDGER_ROW_ID_BITS
};

static uint64_t context_hash(uint32_t leaf, struct rt_key key, uint32_t flags)
{
	uint64_t hash = core_hash_step(core_hash_step(rt_global.seed, leaf), key.word);

	return core_hash_step(hash, flags);
}

static uint32_t context_of(uint64_t known)
{
	return (uint32_t)(known & ((1u << ROW_SHIFT) - 1)) - 1;
}

static uint32_t present_row(uint64_t known)
{
	return (uint32_t)(known >> ROW_SHIFT) & (LEDGER_ROW_ID_END - 1);
}

/* Of a context that was not met for 16,384 epochs the row would be wrong. */
static bool is_of_epoch(uint64_t known, uint32_t epoch)
{
	return known >> EPOCH_SHIFT == (epoch & ((1u << EPOCH_BITS) - 1));
}

static uint32_t row_id(uint64_t index)
{
	return rt_global.first_row + (uint32_t)index;
}

/* A new row for @context; 0 when there is none left. */
static uint32_t row_new(uint32_t context, uint32_t epoch)
{
	uint64_t index;
	struct ledger_row *row;

	if ((uint64_t)rt_global.first_row + rt_load(&rt_tables[LEDGER_TABLE_ROWS].reserved) >=
	    LEDGER_ROW_ID_END)
		return 0;
	index = rt_table_take(LEDGER_TABLE_ROWS, 1);
	if (index == RT_NO_INDEX || rt_global.first_row + index >= LEDGER_ROW_ID_END)
		return 0;
	row = &rt_global.rows[index];
	rt_store(&row->epoch, epoch);
	rt_store_release(&row->context_ready, context + 1);
	return row_id(index);
}

/*
 * The row of @context in @epoch; when rows have run out, the one that it has, @row, or 0. Threads
 * that meet an epoch at once may each make a row: readers add them up.
 */
static uint32_t row_for(uint32_t context, uint32_t epoch, uint32_t row)
{
	uint32_t id, none = 0;

	if (context < LEDGER_CONTEXT_FIRST)
		return row_id(context);
	id = row_new(context, epoch);
	if (id)
		return id;
	rt_note_unseen(LEDGER_UNSEEN_ROWS_FULL);
	(void)atomic_compare_exchange_strong_explicit(&rt_global.state->unexact_epoch, &none, epoch,
						      memory_order_relaxed, memory_order_relaxed);
	return row ? row : row_id(LEDGER_CONTEXT_OTHER);
}

static uint32_t context_new(uint32_t leaf, struct rt_key key, uint32_t flags)
{
	uint64_t index = rt_table_take(LEDGER_TABLE_CONTEXTS, 1);
	struct ledger_context *context;

	if (index == RT_NO_INDEX || index + 1 >= 1u << ROW_SHIFT)
		return LEDGER_CONTEXT_OTHER;
	context = &rt_global.contexts[index];
	context->leaf = leaf;
	context->kind = (uint8_t)rt_key_kind(key);
	context->align_log2 = rt_key_align_log2(key);
	context->thread = rt_label_text(rt_key_name(key));
	context->scope = rt_key_scope(key);
	context->sample = rt_key_sample(key);
	context->first_ns = rt_now_ns();
	rt_store_release(&context->flags, flags);
	return (uint32_t)index;
}

/* The row in @epoch of the context of @path; *@ret_hash is what it is known by. */
static uint32_t find_row(const struct rt_path *path, struct rt_key key, uint32_t flags,
			 uint32_t epoch, uint64_t *ret_hash)
{
	uint64_t hash = context_hash(path->leaf, key, flags);
	uint64_t known = path->full ? 0 : rt_memo_find(&rt_entered, hash);
	uint32_t context = LEDGER_CONTEXT_OTHER, row = 0;

	*ret_hash = hash;
	if (known && is_of_epoch(known, epoch))
		return present_row(known);
	if (known) {
		context = context_of(known);
		row = present_row(known);
	} else if (!path->full) {
		context = context_new(path->leaf, key, flags);
	}
	row = row_for(context, epoch, row);
	if (context != LEDGER_CONTEXT_OTHER)
		rt_entered_put(hash, (context + 1) | (uint64_t)row << ROW_SHIFT |
					     (uint64_t)epoch << EPOCH_SHIFT);
	return row;
}

/* One more raw path folds to the context with @hash. False: too many, it is folded each time. */
static bool may_keep_path(uint64_t hash)
{
	uint64_t paths;

	hash = core_hash_step(hash, RAW_PER_FOLDED);
	paths = rt_memo_find(&rt_entered, hash);
	if (paths < RAW_PER_FOLDED)
		rt_entered_put(hash, paths + 1);
	return paths < RAW_PER_FOLDED;
}

/* The row of @path, known by @hash from now on. */
static uint32_t enter(const struct rt_path *path, uint64_t hash, struct rt_key key, uint32_t flags,
		      uint32_t epoch)
{
	uint64_t known_by;
	uint32_t row = find_row(path, key, flags | LEDGER_CONTEXT_READY, epoch, &known_by);

	if (rt_key_scope(key))
		rt_scope_row(row, key);
	if (RT_UNLIKELY(rt_break.hash) && path->stack_hash == rt_break.hash)
		rt_store(&rt_break.row, row);
	/* Also stacks that the ledger has no room for; hence the bound. */
	if (!path->folded || may_keep_path(known_by))
		rt_memo_put(&rt_raw_rows, hash, (uint64_t)epoch << 32 | row,
			    rt_load(&rt_generation), rt_header.ledger_max_bytes / RAW_SHARE);
	return row;
}

uint32_t rt_context_make(struct rt_thread *thread, uint64_t hash, struct rt_key key, uint32_t epoch)
{
	const struct rt_walk *walk = &thread->walk;
	struct rt_path path;

	rt_nodes_add(&thread->walk, (uint8_t)rt_key_kind(key), &path);
	return enter(&path, hash, key,
		     (walk->truncated ? LEDGER_CONTEXT_TRUNCATED : 0) |
			     (path.cut ? LEDGER_CONTEXT_CUT : 0) |
			     (rt_walk_follows_fp(walk) ? LEDGER_CONTEXT_FRAME_POINTER : 0) |
			     (key.word & RT_KEY_WEIGHTED ? LEDGER_CONTEXT_WEIGHTED : 0),
		     epoch);
}

uint32_t rt_context_make_site(uintptr_t ra, uint64_t hash, struct rt_key key, uint32_t epoch)
{
	struct rt_path path;

	rt_nodes_add_site(ra, &path);
	return enter(&path, hash, key, LEDGER_CONTEXT_SITE, epoch);
}

static bool fixed_context(uint32_t index)
{
	if (rt_table_take(LEDGER_TABLE_CONTEXTS, 1) != index ||
	    rt_table_take(LEDGER_TABLE_ROWS, 1) != index)
		return false;
	rt_store_release(&rt_global.contexts[index].flags, LEDGER_CONTEXT_READY);
	rt_store_release(&rt_global.rows[index].context_ready, index + 1);
	return true;
}

const struct ledger_context *rt_context_of(uint32_t row)
{
	const struct ledger_row *of = rt_row_is_context(row) ? rt_row(row) : NULL;
	const uint32_t ready = of ? rt_load_acquire(&of->context_ready) : 0;

	return ready > LEDGER_CONTEXT_FIRST &&
			       ready <= rt_load(&rt_tables[LEDGER_TABLE_CONTEXTS].ready)
		       ? &rt_global.contexts[ready - 1]
		       : NULL;
}

bool rt_contexts_start(void)
{
	return rt_nodes_start() && fixed_context(LEDGER_CONTEXT_NO_STACK) &&
	       fixed_context(LEDGER_CONTEXT_OTHER);
}

void rt_contexts_forked(void)
{
	rt_memo_drop(&rt_raw_rows);
	rt_memo_drop(&rt_entered);
}
