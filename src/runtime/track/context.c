/* SPDX-License-Identifier: MIT */
#include "runtime/track/context.h"

#include "runtime/sys/lock.h"
#include "runtime/sys/sys.h"
#include "runtime/sys/tables.h"
#include "runtime/track/nodes.h"
#include "runtime/track/thread_names.h"
#include "runtime/unwind/rules.h"

#include <string.h>

rt_memo rt_raw_rows;

enum {
	RAW_SHARE = 4,	       /* of ledger_max: how large rt_raw_rows may grow */
	RAW_PER_FOLDED = 1024, /* raw paths of one folded context that are added to it */
};

/* Per context, by index: its present row and epoch, as in rt_raw_rows; how many raw paths. */
struct present {
	uint64_t row;
	uint32_t raw_paths;
	uint32_t spare;
};

static struct present *present;
static uint32_t present_count;
static struct rt_index_set contexts;

static uint64_t context_hash(uint32_t leaf, struct rt_key key, uint32_t flags)
{
	uint64_t hash = core_hash_step(core_hash_step(rt_global.seed, leaf), key.word);

	return core_hash_step(hash, flags);
}

static uint32_t row_id(uint64_t index)
{
	return rt_global.first_row + (uint32_t)index;
}

/* Room for what is known of @context; false: no memory. */
static bool reserve_present(uint32_t context)
{
	uint32_t count = present_count ? present_count : LEDGER_PAGE_BYTES / sizeof(*present);
	struct present *larger, *old = present;

	if (RT_LIKELY(context < present_count))
		return true;
	while (count <= context)
		count *= 2;
	larger = rt_mmap(count * sizeof(*larger));
	if (!larger)
		return false;
	if (old)
		memcpy(larger, old, present_count * sizeof(*old));
	/* Left by longjmp in between, there is more room than is known of. */
	present = larger;
	atomic_signal_fence(memory_order_seq_cst);
	rt_munmap(old, present_count * sizeof(*old));
	present_count = count;
	return true;
}

/* A new row for @context; 0 when there is none left. */
static uint32_t row_new(uint32_t context, uint32_t epoch)
{
	uint64_t index;
	struct ledger_row *row;

	if ((uint64_t)rt_global.first_row +
		    rt_load(&rt_global.state->table[LEDGER_TABLE_ROWS].reserved) >=
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

/* The row of @context in @epoch; when rows have run out, the one that it has. */
static uint64_t row_now(uint32_t context, uint32_t epoch)
{
	struct present *now = &present[context];
	uint32_t row = (uint32_t)now->row;

	if (now->row && now->row >> 32 == epoch)
		return now->row;
	if (context < LEDGER_CONTEXT_FIRST) {
		row = row_id(context);
	} else {
		uint32_t id = row_new(context, epoch);

		if (id) {
			row = id;
		} else {
			uint32_t none = 0;

			rt_note_unseen(LEDGER_UNSEEN_ROWS_FULL);
			(void)atomic_compare_exchange_strong_explicit(
				&rt_global.state->unexact_epoch, &none, epoch, memory_order_relaxed,
				memory_order_relaxed);
			if (!row)
				row = row_id(LEDGER_CONTEXT_OTHER);
		}
	}
	now->row = (uint64_t)epoch << 32 | row;
	return now->row;
}

static uint32_t context_new(uint32_t leaf, struct rt_key key, uint32_t flags)
{
	uint64_t index = rt_table_take(LEDGER_TABLE_CONTEXTS, 1);
	struct ledger_context *context;

	if (index == RT_NO_INDEX)
		return LEDGER_CONTEXT_OTHER;
	context = &rt_global.contexts[index];
	context->leaf = leaf;
	context->kind = (uint8_t)rt_key_kind(key);
	context->align_log2 = rt_key_align_log2(key);
	context->thread = rt_name_text(rt_key_name(key));
	context->first_ns = rt_now_ns();
	rt_store_release(&context->flags, flags);
	return (uint32_t)index;
}

static uint32_t context_find(const struct rt_path *path, struct rt_key key,
			     const struct rt_walk *walk)
{
	uint32_t flags = LEDGER_CONTEXT_READY | (walk->truncated ? LEDGER_CONTEXT_TRUNCATED : 0) |
			 (path->cut ? LEDGER_CONTEXT_CUT : 0) |
			 (rt_walk_follows_fp(walk) ? LEDGER_CONTEXT_FRAME_POINTER : 0);
	uint64_t hash = context_hash(path->leaf, key, flags);
	uint32_t name_offset = rt_name_text(rt_key_name(key)).offset;
	uint64_t place = rt_index_place(hash);
	uint32_t candidate;
	uint32_t index;

	if (path->full || !rt_index_reserve(&contexts))
		return LEDGER_CONTEXT_OTHER;
	while ((candidate = rt_index_next(&contexts, hash, &place)) != UINT32_MAX) {
		const struct ledger_context *context = &rt_global.contexts[candidate];

		if (context->leaf == path->leaf && context->kind == rt_key_kind(key) &&
		    context->align_log2 == rt_key_align_log2(key) &&
		    context->thread.offset == name_offset && rt_load(&context->flags) == flags)
			return candidate;
	}
	index = context_new(path->leaf, key, flags);
	if (index != LEDGER_CONTEXT_OTHER)
		rt_index_put(&contexts, hash, place, index);
	return index;
}

static uint32_t context_of_row(uint32_t id)
{
	return rt_load(&rt_global.rows[rt_row_index(id)].context_ready) - 1;
}

uint32_t rt_context_make(struct rt_thread *thread, uint64_t hash, struct rt_key key, uint32_t epoch)
{
	struct rt_path path = { 0 };
	uint32_t context;
	uint64_t row;

	if (!rt_lock_slow(rt_tls.tid))
		return row_id(LEDGER_CONTEXT_NO_STACK);
	row = rt_memo_find(&rt_raw_rows, hash);
	if (row && thread->walk.now->generation == rt_load(&rt_generation)) {
		context = context_of_row((uint32_t)row);
	} else {
		rt_nodes_add(&thread->walk, &path);
		context = context_find(&path, key, &thread->walk);
	}
	if (!reserve_present(context))
		context = LEDGER_CONTEXT_OTHER;
	row = row_now(context, epoch);
	/* Later paths that fold to the same are folded afresh each time. */
	if (!path.folded || present[context].raw_paths < RAW_PER_FOLDED) {
		present[context].raw_paths += path.folded;
		/* Stacks that the ledger has no room for are added too: not without an end. */
		rt_memo_put(&rt_raw_rows, hash, row, rt_load(&rt_generation),
			    rt_global.header->ledger_max_bytes / RAW_SHARE);
	}
	rt_unlock_slow(rt_tls.tid);
	return (uint32_t)row;
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

bool rt_contexts_start(void)
{
	return reserve_present(LEDGER_CONTEXT_OTHER) && rt_nodes_start() &&
	       fixed_context(LEDGER_CONTEXT_NO_STACK) && fixed_context(LEDGER_CONTEXT_OTHER);
}

void rt_contexts_forked(void)
{
	rt_memo_drop(&rt_raw_rows);
	rt_munmap(contexts.entries, (contexts.mask + 1) * sizeof(*contexts.entries));
	contexts = (struct rt_index_set){ 0 };
	rt_munmap(present, present_count * sizeof(*present));
	present = NULL;
	present_count = 0;
	rt_nodes_forked();
}
