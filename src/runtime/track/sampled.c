/* SPDX-License-Identifier: MIT */
#include "runtime/track/sampled.h"

#include "runtime/sys/sys.h"
#include "runtime/track/guarded.h"
#include "runtime/unwind/stack.h"

enum { PAGE_BYTES = LEDGER_PAGE_BYTES };

uintptr_t rt_region_start, rt_region_bytes;
RT_LARGE struct rt_sampled rt_sampled[RT_SAMPLED_MAX];

/* The first byte beside the block, of @page, which is its page or a copy, that was written; 0: none. */
static uintptr_t damage_of(const struct rt_sampled *slot, const uint8_t *page)
{
	const uintptr_t begin = rt_sampled_page(slot), front = slot->block - begin;
	const size_t behind = front + slot->size, rear = PAGE_BYTES - behind;
	size_t at = ledger_guarded_first_other(page + behind, rear, LEDGER_GUARD_FILL);

	if (at < rear)
		return begin + behind + at;
	at = ledger_guarded_first_other(page, front, LEDGER_GUARD_FILL);
	return at < front ? begin + at : 0;
}

void rt_sampled_retire(const struct rt_block *at, const void *frame)
{
	struct rt_sampled *slot = rt_sampled_at(at->address);

	if (slot->block != at->address)
		return;
	rt_guarded_note(at, damage_of(slot, (const uint8_t *)rt_sampled_page(slot)), frame);
	slot->cell = at->value;
	slot->freed_row = rt_finding_row(frame);
}

/* Its owner may free it at any time: what was read is its page only if it is live before and after. */
static void look_at_slot(const struct rt_sampled *slot, uint8_t *copy)
{
	const struct rt_block block = rt_block_at(slot->block, rt_global.granule_shift);
	uintptr_t damage;

	if (!block.value || rt_load_acquire(&slot->state) != RT_SAMPLED_LIVE ||
	    !rt_read_memory(rt_sampled_page(slot), copy, PAGE_BYTES))
		return;
	damage = damage_of(slot, copy);
	if (rt_load_acquire(&slot->state) == RT_SAMPLED_LIVE &&
	    rt_load_acquire(block.cell) == block.value && slot->block == block.address)
		rt_guarded_note(&block, damage, NULL);
}

void rt_sampled_look(void)
{
	uint8_t *copy = rt_region_bytes && !rt_load(&rt_guard_is_blind)
				? rt_scratch_take(PAGE_BYTES)
				: NULL;

	if (rt_region_bytes && !copy)
		rt_note_unseen(LEDGER_UNSEEN_GUARDS_UNREAD);
	for (size_t i = 0; copy && i < RT_SAMPLED_MAX; i++)
		look_at_slot(&rt_sampled[i], copy);
	rt_scratch_give(copy);
}

bool rt_sampled_is_freed(const void *block, uint32_t *ret_freed_row)
{
	const struct rt_sampled *slot = rt_sampled_at((uintptr_t)block);

	*ret_freed_row = slot->freed_row;
	return slot->block == (uintptr_t)block && rt_load(&slot->state) == RT_SAMPLED_FREED;
}

static bool is_live(const struct rt_sampled *slot)
{
	return rt_load(&slot->state) == RT_SAMPLED_LIVE;
}

static uintptr_t distance(const struct rt_sampled *slot, uintptr_t address)
{
	return address < slot->block ? slot->block - address : address - slot->block - slot->size;
}

/* Of a page between two blocks the nearer live one. */
static const struct rt_sampled *meant_by(uintptr_t address)
{
	const struct rt_sampled *slot = rt_sampled_at(address), *behind = slot + 1;

	if (address - rt_sampled_page(slot) < PAGE_BYTES || behind == &rt_sampled[RT_SAMPLED_MAX])
		return slot;
	return is_live(behind) && (!is_live(slot) ||
				   distance(behind, address) < distance(slot, address))
		       ? behind
		       : slot;
}

struct rt_finding rt_sampled_judge(uintptr_t address)
{
	const struct rt_sampled *slot = meant_by(address);
	struct rt_finding finding = { .kind = LEDGER_FINDING_OUT_OF_BOUNDS, .pointer = address };

	finding.block.size = slot->size;
	finding.block.address = slot->block;
	if (is_live(slot)) {
		const struct rt_block at = rt_block_at(slot->block, rt_global.granule_shift);

		finding.block = at.value ? at : finding.block;
		return finding;
	}
	finding.kind = LEDGER_FINDING_USE_AFTER_FREE;
	finding.block.value = slot->cell;
	finding.freed_row = slot->freed_row;
	return finding;
}
