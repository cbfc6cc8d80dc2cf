/* SPDX-License-Identifier: MIT */
#include "runtime/track/guarded.h"

#include "runtime/sys/memo.h"
#include "runtime/sys/rt_facts.h"
#include "runtime/sys/sys.h"
#include "runtime/track/misuse.h"
#include "runtime/track/record.h"
#include "runtime/track/sampled.h"
#include "runtime/track/usable.h"
#include "runtime/unwind/stack.h"

#include <string.h>

enum { VIEW_BYTES = 64 << 10, NOTED_MOST_BYTES = 1 << 20 };

size_t rt_guard_bytes, rt_guard_front_bytes;
_Atomic bool rt_guard_is_blind, rt_guard_is_over;

/* From a block that is damaged to what is known of it. */
static rt_memo noted;
enum { NOTED = 1, ENDED };

/* Small blocks lie side by side: one reading serves for many. */
struct view {
	uintptr_t at;
	size_t bytes;
	uint8_t data[VIEW_BYTES];
};

static bool is_tag(const void *block, const struct ledger_guarded *header,
		   enum ledger_guarded_state state)
{
	return rt_load(&header->tag) ==
	       ledger_guarded_tag(rt_global.seed, (uintptr_t)block, header, state);
}

enum ledger_guarded_state rt_guarded_state(const void *block)
{
	const uintptr_t address = (uintptr_t)block, at = address - rt_guard_front_bytes;
	const struct ledger_guarded *header = rt_guarded_of(block);

	if (!rt_guard_front_bytes || !block || address & RT_BLOCK_MASK)
		return LEDGER_GUARDED_NONE;
	/* In front of what is not ours there need be nothing. A call that is refused tells nothing. */
	if ((at ^ address) / LEDGER_PAGE_BYTES && !rt_load(&rt_is_strict) && !rt_is_readable(at))
		return LEDGER_GUARDED_NONE;
	return is_tag(block, header, LEDGER_GUARDED_LIVE)      ? LEDGER_GUARDED_LIVE
	       : is_tag(block, header, LEDGER_GUARDED_WAITING) ? LEDGER_GUARDED_WAITING
							       : LEDGER_GUARDED_NONE;
}

uint64_t rt_guarded_bytes(const void *block)
{
	switch (rt_guarded_state(block)) {
	case LEDGER_GUARDED_LIVE:
		return rt_guarded_of(block)->size;
	case LEDGER_GUARDED_WAITING:
		return 0;
	default:
		return rt_chunk_bytes((uintptr_t)block);
	}
}

/* @bytes at @address, NULL: they cannot be read. Without a view as they are. */
static const uint8_t *look_at(struct view *view, uintptr_t address, size_t bytes)
{
	if (!view)
		return (const uint8_t *)address;
	if (address - view->at < view->bytes && view->bytes - (address - view->at) >= bytes)
		return view->data + (address - view->at);
	view->at = address;
	view->bytes = 0;
	if (rt_read_memory(address, view->data, sizeof(view->data)))
		view->bytes = sizeof(view->data);
	else if (bytes <= sizeof(view->data) && rt_read_memory(address, view->data, bytes))
		view->bytes = bytes;
	return view->bytes ? view->data : NULL;
}

/*
 * The first byte that was written over of what guards @block; 0: none. Without its tag it is about to
 * be freed, by another thread.
 */
static uintptr_t damage_of(const struct rt_block *block, struct view *view)
{
	const uintptr_t begin = block->address - rt_guard_front_bytes;
	const uint8_t *bytes = look_at(view, begin, rt_guard_front_bytes);
	struct ledger_guarded header;
	size_t at, count;

	if (!bytes)
		return 0;
	memcpy((void *)&header, bytes, sizeof(header));
	at = ledger_guarded_first_other(bytes + sizeof(header), rt_guard_bytes, LEDGER_GUARD_FILL);
	if (at < rt_guard_bytes)
		return begin + sizeof(header) + at;
	if (!is_tag((const void *)block->address, &header, LEDGER_GUARDED_LIVE))
		return 0;
	count = ledger_guarded_rear_bytes(rt_guard_bytes, header.size);
	bytes = look_at(view, block->address + header.size, count);
	at = bytes ? ledger_guarded_first_other(bytes, count, LEDGER_GUARD_FILL) : count;
	return at < count ? block->address + header.size + at : 0;
}

/*
 * Unless a look has noted damage of this block: it is still there at the next one, and when the block
 * ends. The next block at its address is another one. @finding: NULL: it has none.
 */
static void note_once(uintptr_t block, const struct rt_finding *finding, const void *frame,
		      bool ends)
{
	const uint64_t key = core_hash_step(rt_global.seed, block);
	const bool is_known = rt_memo_find(&noted, key) == NOTED;

	if (is_known ? ends : finding && !ends)
		rt_memo_put(&noted, key, ends ? ENDED : NOTED, 0, NOTED_MOST_BYTES);
	if (finding && !is_known)
		rt_finding_note(finding, frame);
}

void rt_guarded_note(const struct rt_block *block, uintptr_t at, const void *frame)
{
	const struct rt_finding finding = {
		.kind = at < block->address ? LEDGER_FINDING_FRONT_GUARD
					    : LEDGER_FINDING_REAR_GUARD,
		.pointer = at,
		.block = *block,
	};

	note_once(block->address, at ? &finding : NULL, frame, frame != NULL);
}

bool rt_guarded_check_waiting(void *block, bool ends)
{
	const struct ledger_guarded *header = rt_guarded_of(block);
	const bool is_whole = rt_guarded_state(block) == LEDGER_GUARDED_WAITING;
	const size_t size = is_whole ? header->size : 0;
	const size_t at = ledger_guarded_first_other(block, size,
						     (uint8_t)rt_facts.guards.waiting_byte);
	struct rt_finding finding = {
		.kind = LEDGER_FINDING_USE_AFTER_FREE,
		.pointer = is_whole ? (uintptr_t)block + at : (uintptr_t)header,
	};

	if (is_whole) {
		finding.block = (struct rt_block){ NULL, header->cell, size, (uintptr_t)block };
		finding.freed_row = header->freed_row;
	}
	note_once((uintptr_t)block, is_whole && at == size ? NULL : &finding, NULL, ends);
	return is_whole;
}

void rt_guarded_retire(const struct rt_block *at, const void *frame)
{
	void *block = (void *)at->address;
	struct ledger_guarded *header = rt_guarded_of(block);
	uintptr_t damage;

	if (rt_is_sampled(block)) {
		rt_sampled_retire(at, frame);
		return;
	}
	damage = damage_of(at, NULL);
	if (!is_tag(block, header, LEDGER_GUARDED_LIVE)) {
		damage = damage ? damage : (uintptr_t)header;
		/* Where it begins nobody knows any more: it is not to be given back. */
		header->size = at->size;
		header->distance = 0;
		rt_store(&header->tag, ledger_guarded_tag(rt_global.seed, (uintptr_t)block, header,
							  LEDGER_GUARDED_LIVE));
	}
	rt_guarded_note(at, damage, frame);
	header->cell = at->value;
	header->freed_row = rt_finding_row(frame);
}

bool rt_guarded_waits(const void *block, uint32_t *ret_freed_row)
{
	const struct ledger_guarded *header = rt_guarded_of(block);

	*ret_freed_row = 0;
	if (rt_is_sampled(block))
		return rt_sampled_is_freed(block, ret_freed_row);
	/* What does not wait may be gone. */
	if (!rt_guard_front_bytes || !rt_is_readable((uintptr_t)header) ||
	    !rt_is_readable((uintptr_t)block - sizeof(uint64_t)) ||
	    rt_guarded_state(block) != LEDGER_GUARDED_WAITING)
		return false;
	*ret_freed_row = header->freed_row;
	return true;
}

/* Its owner may free it at any time: only what is so twice, of the same block, is so. */
static void look_at_block(const struct rt_block *block, void *user)
{
	struct view *view = user;
	uintptr_t damage;

	if (!ledger_flags_are_guarded(ledger_cell_flags(block->value)) ||
	    rt_is_sampled((void *)block->address) || !damage_of(block, view))
		return;
	for (unsigned i = 0; i < 2; i++) {
		if (view)
			view->bytes = 0;
		damage = damage_of(block, view);
		if (!damage || rt_load_acquire(block->cell) != block->value)
			return;
	}
	rt_guarded_note(block, damage, NULL);
}

void rt_guarded_look(void)
{
	/* A thread that allocates and frees has a number. This one alone may look without asking. */
	const bool is_alone = rt_load(&rt_threads) <= 1;
	struct view *view = is_alone || rt_load(&rt_guard_is_blind)
				    ? NULL
				    : rt_scratch_take(sizeof(*view));

	if (view)
		view->bytes = 0;
	else if (!is_alone) {
		rt_note_unseen(LEDGER_UNSEEN_GUARDS_UNREAD);
		return;
	}
	rt_blocks_each(look_at_block, view);
	rt_scratch_give(view);
}
