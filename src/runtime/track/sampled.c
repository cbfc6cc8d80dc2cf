/* SPDX-License-Identifier: MIT */
#include "runtime/track/sampled.h"

#include "runtime/track/guarded.h"

enum { PAGE_BYTES = LEDGER_PAGE_BYTES };

uintptr_t rt_region_start, rt_region_bytes;
RT_LARGE struct rt_sampled rt_sampled[RT_SAMPLED_MAX];

static uintptr_t first_changed(uintptr_t at, uintptr_t end)
{
	return at + ledger_guarded_first_other((const uint8_t *)at, end - at, LEDGER_GUARD_FILL);
}

/* The first byte beside the block, in its page, that was written; 0: none. */
static uintptr_t damage_of(const struct rt_sampled *slot)
{
	const uintptr_t page = rt_sampled_page(slot), end = page + PAGE_BYTES;
	uintptr_t at = first_changed(slot->block + slot->size, end);

	if (at < end)
		return at;
	at = first_changed(page, slot->block);
	return at < slot->block ? at : 0;
}

void rt_sampled_retire(const struct rt_block *at, const void *frame)
{
	struct rt_sampled *slot = rt_sampled_at(at->address);
	struct rt_finding finding = { .block = *at };

	if (slot->block != at->address)
		return;
	finding.pointer = damage_of(slot);
	finding.kind = finding.pointer < slot->block ? LEDGER_FINDING_FRONT_GUARD
						     : LEDGER_FINDING_REAR_GUARD;
	if (finding.pointer)
		rt_finding_note(&finding, frame);
	slot->cell = at->value;
	slot->freed_row = rt_finding_row(frame);
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

	if (is_live(slot)) {
		finding.block = rt_block_at(slot->block, rt_global.granule_shift);
		return finding;
	}
	finding.kind = LEDGER_FINDING_USE_AFTER_FREE;
	finding.freed_row = slot->freed_row;
	finding.block.value = slot->cell;
	finding.block.size = slot->size;
	finding.block.address = slot->block;
	return finding;
}
