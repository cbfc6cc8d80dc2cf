/* SPDX-License-Identifier: MIT */
#include "scan/scan_hints.h"

#include "core/bits.h"
#include "scan/scan_look.h"
#include "scan/scan_private.h"

enum { HIGH_TAG_SHIFT = 48, SIXTH_SHIFT = 40 };
static const uint64_t hint_bytes_max = UINT64_C(1) << 30;

static uint8_t hint_of(const struct scan_block *block, const struct scan_word *word)
{
	uint64_t to = word->to & ((UINT64_C(1) << HIGH_TAG_SHIFT) - 1);
	bool aligned = !(word->from & (sizeof(uint64_t) - 1));

	if (block->address == to && aligned != (word->to == to))
		return aligned ? SCAN_RULE_HIGH_TAG : SCAN_RULE_UNALIGNED;
	if (block->address + block->size == to && aligned && word->to == to)
		return SCAN_RULE_PAST_END;
	return SCAN_RULE_NONE;
}

static void take_hints(struct scan_look *look)
{
	struct scan_private *private = look->scan->private;

	for (unsigned k = 0; k < look->count; k++) {
		const struct scan_word *word = &private->words[k];
		uint32_t i = scan_index_block(&private->index, word->to & look->mask);
		struct scan_block *block = &look->scan->blocks[i];
		uint8_t rule;

		if (i == SCAN_NO_BLOCK || block->state != SCAN_LOST || block->rule)
			continue;
		rule = hint_of(block, word);
		if (rule) {
			block->rule = rule;
			private->from[i] = word->from;
		}
	}
}

/* Up to what is left of the bound. */
static void look_further(struct scan_look *look, const struct scan_root *root, uint64_t *left_bytes)
{
	struct scan_root part = *root;

	part.end = part.begin + core_smaller(part.end - part.begin, *left_bytes);
	*left_bytes -= part.end - part.begin;
	for (uint64_t at = part.begin; at < part.end;) {
		at = scan_look_at_root(look, &part, at);
		scan_look_end(look);
	}
}

void scan_hints_find(struct scan *scan, const uint32_t *listed, uint64_t count)
{
	struct scan_look look = scan_look_for_blocks(scan, take_hints);
	uint64_t left_bytes = hint_bytes_max, first = count, last = 0;

	for (uint64_t k = 0; k < count; k++) {
		if (scan->blocks[listed[k]].state != SCAN_LOST)
			continue;
		first = core_smaller(first, k);
		last = k;
	}
	if (first == count)
		return;
	look.lowest = scan->blocks[listed[first]].address;
	look.span = scan->blocks[listed[last]].address + scan->blocks[listed[last]].size + 1 -
		    look.lowest;
	look.mask = (UINT64_C(1) << HIGH_TAG_SHIFT) - 1;
	look.step = 1;
	look.sixth_bytes[0] = (look.lowest >> SIXTH_SHIFT & 0xff) * UINT64_C(0x0101010101010101);
	look.sixth_bytes[1] = ((look.lowest + look.span) >> SIXTH_SHIFT & 0xff) *
			      UINT64_C(0x0101010101010101);
	for (const struct scan_kept_roots *kept = scan->private->roots; kept; kept = kept->next)
		for (size_t i = 0; i < kept->count; i++)
			look_further(&look, &kept->roots[i], &left_bytes);
	for (uint64_t i = 0; i < scan->block_count && left_bytes; i++) {
		const struct scan_block *block = &scan->blocks[i];
		struct scan_root part = { .begin = block->address,
					  .end = block->address + block->size };

		if (block->state == SCAN_REACHABLE)
			look_further(&look, &part, &left_bytes);
	}
}
