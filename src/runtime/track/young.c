/* SPDX-License-Identifier: MIT */
#include "runtime/track/young.h"

#include "runtime/sys/lock.h"
#include "runtime/sys/sys.h"
#include "runtime/track/pagemap.h"
#include "runtime/track/usable.h"
#include "runtime/unwind/memory.h"
#include "runtime/unwind/modules.h"
#include "runtime/unwind/wanted.h"

#include <string.h>

enum {
	OPS_KEPT_FREE = 64, /* for handlers that interrupt the log's use */
	PLACE_PROBES = 8,
};

struct rt_young rt_young;
struct rt_young_log rt_young_log;

_Static_assert(RT_YOUNG_PLACES_BYTES / RT_YOUNG_PLACE_ALIGN <= UINT16_MAX, "place_by_hash");
_Static_assert(RT_YOUNG_OPS <= UINT16_MAX, "freed");
_Static_assert(LEDGER_FORK_NS <= UINT32_MAX, "at_ns");

/* In place of the ledger's, which is an ancestor's. */
static struct ledger_state state;

static bool take_walk(const struct rt_walk *walk)
{
	if (walk)
		rt_young.walk = *walk;
	else if (!rt_young.is_on && !rt_walk_start(&rt_young.walk, NULL))
		return false;
	/* A young process that forked may have left the log's use by longjmp. */
	if (rt_load(&rt_young.busy))
		rt_walk_reset(&rt_young.walk);
	rt_young.walk.full_walks = &rt_young.full_walks;
	return true;
}

static void take_state(void)
{
	uint64_t private_bytes = rt_load(&rt_global.state->private_bytes);
	uint32_t unseen = rt_load(&rt_global.state->unseen) & RT_UNSEEN_INHERITED;

	rt_global.state = &state;
	rt_store(&state.private_bytes, private_bytes);
	rt_store(&state.unseen, unseen);
}

bool rt_young_begin(struct ledger_state *ancestor, uint32_t first_id, const struct rt_walk *walk,
		    uint64_t allocs_max)
{
	uint64_t now = rt_now_ns();
	uint32_t tid = rt_gettid();

	/*
	 * No younger than the one that forked it: when an ancestor's recording is written is known
	 * by that.
	 */
	if (rt_young.is_on && now - rt_young.since_ns >= LEDGER_FORK_NS)
		return false;
	/* Another thread than the one that came out of the fork: there are several. */
	if (rt_getpid_or_tid() != tid)
		return false;
	rt_lock_forked();
	if (first_id + 2 * RT_YOUNG_OPS >= LEDGER_ROW_ID_END || !take_walk(walk))
		return false;
	/* Of the parent's. If it has none: a page that is read before that costs two faults. */
	memset(rt_young_log.place_by_hash, 0, sizeof(rt_young_log.place_by_hash));
	take_state();
	rt_global.pid = rt_tls.tid = tid;
	rt_young = (struct rt_young){
		.ancestor = ancestor,
		.is_on = true,
		.first_id = first_id,
		.parent_rows_end = rt_young.is_on ? rt_young.parent_rows_end : first_id,
		.since_ns = rt_young.is_on ? rt_young.since_ns : now,
		.now_ns = now,
		.allocs_max = allocs_max,
		.walk = rt_young.walk,
	};
	rt_wanted = rt_wanted_of(ancestor);
	rt_add(&ancestor->forked.processes, 1);
	atomic_signal_fence(memory_order_seq_cst);
	rt_mine.young = &rt_young;
	return true;
}

enum stand {
	OUT,	/* to be left to a ledger */
	IN,	/* until leave() */
	NESTED, /* in a handler that interrupted the log's use */
};

/* @allocs, @bytes: that are about to be added. */
static enum stand enter(const void *frame, uint64_t allocs, uint64_t bytes)
{
	uint64_t outer = rt_load(&rt_young.busy);
	uint64_t now;

	/* It may have grown up since the hook looked. */
	if (rt_load(&rt_young.grows) || !rt_young_is_user())
		return OUT;
	if (outer && rt_walk_is_inside(frame, outer))
		return NESTED;
	/* What is added to a ledger whose process has ended comes too late for its recording. */
	if (rt_load(&rt_young.op_count) + OPS_KEPT_FREE > RT_YOUNG_OPS ||
	    rt_young.allocs + allocs >= rt_young.allocs_max ||
	    rt_young.alloc_bytes + bytes >= LEDGER_FORK_BYTES || rt_load(&rt_young.ancestor->ended))
		return OUT;
	now = rt_now_about_ns();
	if (now > rt_young.now_ns)
		rt_young.now_ns = now;
	if (rt_young.now_ns - rt_young.since_ns >= LEDGER_FORK_NS)
		return OUT;
	/*
	 * Whoever makes the ledger has looked at this word after that one, or we see that it does.
	 * And from here on a fork in a handler knows that we are here.
	 */
	atomic_store_explicit(&rt_young.busy, (uintptr_t)frame, memory_order_seq_cst);
	if (atomic_load_explicit(&rt_young.grows, memory_order_seq_cst) || !rt_mine.young) {
		rt_store_release(&rt_young.busy, 0);
		return OUT;
	}
	if (RT_UNLIKELY(outer != 0)) {
		rt_lock_recover(rt_tls.tid);
		rt_walk_reset(&rt_young.walk);
		rt_young.abandoned++;
	}
	return IN;
}

/* Always true, for the caller to return. */
static bool leave(enum stand stand)
{
	if (stand == IN)
		rt_store_release(&rt_young.busy, 0);
	return true;
}

/* NULL: too many handlers interrupted each other. */
static struct rt_young_op *new_op(void)
{
	uint32_t i = atomic_fetch_add_explicit(&rt_young.op_count, 1, memory_order_relaxed);
	struct rt_young_op *op;

	if (i >= RT_YOUNG_OPS)
		return NULL;
	op = &rt_young_log.ops[i];
	*op = (struct rt_young_op){ .at_ns = (uint32_t)(rt_young.now_ns - rt_young.since_ns) };
	return op;
}

void rt_young_sum(struct ledger_forked *to, const struct rt_young_op *op, uint32_t what)
{
	if (what & RT_YOUNG_ALLOC) {
		rt_add(&to->allocs, 1);
		rt_add(&to->alloc_bytes, op->size);
	}
	if (what & RT_YOUNG_FREE) {
		rt_add(&to->frees, 1);
		rt_add(&to->freed_bytes, rt_young_log.ops[op->freed].size);
	}
}

/* First the sums: whoever ends here has them, and no row that says so again. */
static void finish_op(struct rt_young_op *op, uint32_t what)
{
	rt_young_sum(&rt_young.ancestor->forked, op, what);
	rt_store_release(&op->what, (uint16_t)what);
	if (what & RT_YOUNG_ALLOC) {
		rt_young.allocs++;
		rt_young.alloc_bytes += op->size;
	}
}

/* Of the last walk; 0: it cannot be kept, or there is no room. */
static uint32_t place_new(uint64_t hash, struct rt_key key)
{
	uint32_t count = rt_walk_length(&rt_young.walk);
	size_t bytes = sizeof(struct rt_young_place) + count * sizeof(rt_kept_frame);
	struct rt_young_place *place;

	if (bytes > RT_YOUNG_PLACES_BYTES - rt_young.places_bytes)
		return 0;
	place = rt_young_place(rt_young.places_bytes + (uint32_t)bytes);
	*place = (struct rt_young_place){ hash, key, count, rt_young.walk.truncated, 0 };
	if (!rt_walk_keep(&rt_young.walk, place->frames))
		return 0;
	rt_young.places_bytes += (uint32_t)bytes;
	return rt_young.places_bytes;
}

/* 0 as above. */
static uint32_t place_of(struct rt_key key, const void *frame)
{
	uint64_t hash = rt_walk(&rt_young.walk, frame);
	uint64_t first = core_hash_step(hash, key.word);
	uint16_t *by_hash = &rt_young_log.place_by_hash[first % RT_YOUNG_HASHED];
	uint32_t at;

	for (unsigned i = 1; *by_hash; i++) {
		const struct rt_young_place *place;

		at = (uint32_t)*by_hash * RT_YOUNG_PLACE_ALIGN;
		place = rt_young_place(at);
		if (place->hash == hash && place->key.word == key.word)
			return at;
		/* It gives way: met again, it is noted a second time. */
		if (i == PLACE_PROBES)
			break;
		by_hash = &rt_young_log.place_by_hash[(first + i) % RT_YOUNG_HASHED];
	}
	at = place_new(hash, key);
	if (at)
		*by_hash = (uint16_t)(at / RT_YOUNG_PLACE_ALIGN);
	return at;
}

/* False where another block is noted whose free was not seen. */
static bool note_block(uintptr_t address, uint32_t row, uint64_t size, uint32_t flags)
{
	struct rt_block stale;
	uint64_t field;

	if (!rt_block_ready(address, size, rt_global.granule_shift, &field) &&
	    rt_block_take_stale(address, size, &stale)) {
		rt_block_note(stale.address, ledger_cell_row(stale.value), stale.size,
			      rt_cell_flags(stale.value));
		return false;
	}
	rt_block_note(address, row, size, flags);
	return true;
}

/* Of a block that an operation in the log allocated? */
static bool is_own(uint64_t cell)
{
	return ledger_cell_row(cell) - rt_young.first_id < RT_YOUNG_OPS;
}

static uint16_t op_of(uint64_t cell)
{
	return (uint16_t)(ledger_cell_row(cell) - rt_young.first_id);
}

/* The allocation of @block, and the free of the block of cell @freed, which is_own(), or 0. */
static bool log_alloc(enum stand stand, void *block, size_t size, struct rt_alloc what,
		      uint64_t freed, const void *frame)
{
	uintptr_t address = (uintptr_t)block;
	uint32_t place = stand == IN ? place_of(what.key, frame) : 0;
	struct rt_young_op *op;
	uint64_t usable = 0;

	if (stand == IN && !place)
		return false;
	op = new_op();
	if (!op)
		return true;
	if (!(what.cell & LEDGER_CELL_FOREIGN))
		usable = rt_usable(address, size, what.cell & LEDGER_CELL_CLASSED);
	if (usable > UINT32_MAX)
		usable = 0;
	op->place = place;
	op->freed = freed ? op_of(freed) : 0;
	op->size = size;
	op->usable = (uint32_t)usable;
	op->address = address;
	if (!note_block(address, rt_young.first_id + (uint32_t)(op - rt_young_log.ops), size,
			usable ? what.cell : what.cell | LEDGER_CELL_FOREIGN))
		return false;
	finish_op(op, freed ? RT_YOUNG_ALLOC | RT_YOUNG_FREE : RT_YOUNG_ALLOC);
	return true;
}

bool rt_young_record(void *block, size_t size, struct rt_alloc what, const void *frame)
{
	enum stand stand;
	bool logged;

	if (!block)
		return true;
	if ((uintptr_t)block & RT_BLOCK_MASK || size >> LEDGER_ADDRESS_BITS)
		return false;
	if (rt_load(&rt_unusual) & RT_GENERATED_MET)
		rt_modules_check_load(frame);
	stand = enter(frame, 1, size);
	if (stand == OUT)
		return false;
	logged = log_alloc(stand, block, size, what, 0, frame);
	(void)leave(stand);
	return logged;
}

/* @cell: 0, or of a block of @size that is not noted any more. */
static void log_free(uint64_t cell, uint64_t size)
{
	struct rt_young_op *op = new_op();

	if (!op)
		return;
	if (is_own(cell)) {
		op->freed = op_of(cell);
		finish_op(op, RT_YOUNG_FREE);
	} else {
		op->size = size;
		finish_op(op, cell ? RT_YOUNG_INHERITED : RT_YOUNG_UNTRACKED);
	}
}

bool rt_young_forget(void *block, struct rt_free how, const void *frame)
{
	enum stand stand = enter(frame, 0, 0);
	struct rt_block at;

	if (stand == OUT)
		return false;
	at = rt_block_at((uintptr_t)block, rt_global.granule_shift);
	if (how.is_others && (!at.value || ledger_cell_family(at.value) < LEDGER_FAMILY_NEW))
		return leave(stand);
	if (at.value)
		rt_store(at.cell, rt_cell_freed(at.value));
	log_free(at.value, at.size);
	return leave(stand);
}

bool rt_young_resize_begin(void *block, const void *frame, struct rt_resize *ret_resize)
{
	enum stand stand = enter(frame, 0, 0);
	struct rt_block at;

	if (stand == OUT)
		return false;
	at = rt_block_at((uintptr_t)block, rt_global.granule_shift);
	*ret_resize = (struct rt_resize){ .cell = at.value, .size = at.size };
	if (at.value)
		rt_store(at.cell, rt_cell_freed(at.value));
	return leave(stand);
}

bool rt_young_resize_end(const struct rt_resize *resize, void *before, void *after, size_t size,
			 const void *frame)
{
	const struct rt_alloc what = rt_alloc(LEDGER_KIND_REALLOC, 0,
					      rt_marks_after_resize(resize));
	uint64_t replaced = after && is_own(resize->cell) ? resize->cell : 0;
	enum stand stand;
	bool logged = true;

	if ((uintptr_t)after & RT_BLOCK_MASK || size >> LEDGER_ADDRESS_BITS)
		return false;
	stand = enter(frame, 1, size);
	if (stand == OUT)
		return false;
	if (!after && size > 0) {
		/* The next allocator kept the block. */
		if (resize->cell)
			rt_block_note((uintptr_t)before, ledger_cell_row(resize->cell),
				      resize->size, rt_cell_flags(resize->cell));
		return leave(stand);
	}
	if (after)
		logged = log_alloc(stand, after, size, what, replaced, frame);
	if (logged && !replaced)
		log_free(resize->cell, resize->size);
	(void)leave(stand);
	return logged;
}
