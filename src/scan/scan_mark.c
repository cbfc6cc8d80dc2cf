/* SPDX-License-Identifier: MIT */
/*
 * A block is put on the list once, when its bit in the index is set. Words go through in batches, each
 * look-up's loads under way while others are done.
 */
#include "scan/scan_mark.h"

#include "core/bits.h"
#include "scan/scan_private.h"
#include "scan/scan_rules.h"

void scan_mark_block(struct scan_look *look, uint32_t i, uint64_t address, uint8_t rule,
		     uint64_t from)
{
	struct scan_private *private = look->scan->private;
	struct scan_fate *fate = &private->fates[i];
	uint64_t size = fate->size;

	fate->state = look->state;
	fate->root = look->root;
	fate->rule = rule;
	if (look->scan->options.want_chains || look->state != SCAN_REACHABLE)
	private->from[i] = from;
	if (CORE_UNLIKELY(size == UINT32_MAX))
		size = look->scan->blocks[i].size;
	if (size)
	private->todo[private->todo_count++] = (struct scan_range){ address, address + size };
}

/* A pointer into a block, or to its end. */
static void mark_inner(struct scan_look *look, const struct scan_word *word)
{
	struct scan *scan = look->scan;
	struct scan_private *private = scan->private;
	uint32_t i = scan_index_block(&private->index, word->to);
	const struct scan_block *block;
	struct scan_fate *fate;
	uint8_t rule;

	if (i == SCAN_NO_BLOCK)
		return;
	block = &scan->blocks[i];
	fate = &private->fates[i];
	if (fate->state != SCAN_LOST || word->to - block->address > block->size)
		return;
	rule = scan_rule_of(scan, block, word->to);
	if (rule == SCAN_RULE_NONE)
		return;
	if (look->root_rule && rule >= SCAN_RULE_WEAK)
		rule = look->root_rule;
	if (rule < SCAN_RULE_WEAK || look->state != SCAN_REACHABLE) {
		scan_index_meet(&private->index, block->address);
		scan_mark_block(look, i, block->address, rule, word->from);
	} else if (fate->rule == SCAN_RULE_NONE) {
		fate->rule = rule;
		fate->root = look->root;
		private->from[i] = word->from;
		private->weak[private->weak_count++] = i;
	}
}

static void mark_batch(struct scan_look *look)
{
	struct scan_private *private = look->scan->private;
	struct scan_index *index = &private->index;
	unsigned count = 0;

	for (unsigned i = 0; i < look->count; i++) {
		struct scan_word word = private->words[i];

		word.entry = scan_index_entry(index, word.to);
		if (!word.entry)
			continue;
		if (!(word.entry & SCAN_COVERED))
			__builtin_prefetch(&index->records[word.entry - 1]);
		private->words[count++] = word;
	}
	for (unsigned i = 0; i < count; i++) {
		const struct scan_word *word = &private->words[i];
		unsigned unit = scan_unit(word->to);
		struct scan_page *page;

		if (word->entry & SCAN_COVERED) {
			mark_inner(look, word);
			continue;
		}
		page = &index->records[word->entry - 1];
		if (!scan_page_begins(page, word->to)) {
			mark_inner(look, word);
		} else if (!(page->met[unit] & scan_unit_bit(word->to))) {
			page->met[unit] |= scan_unit_bit(word->to);
			scan_mark_block(look, scan_page_block(page, word->to), word->to,
					SCAN_RULE_START, word->from);
		}
	}
}

struct scan_look scan_mark_begin(struct scan *scan, enum scan_state state, uint8_t root)
{
	struct scan_look look = scan_look_for_blocks(scan, mark_batch);

	look.state = (uint8_t)state;
	look.root = root;
	return look;
}

/* A large block's rest waits below what its first part points to. */
void scan_mark_follow(struct scan_look *look)
{
	struct scan_private *private = look->scan->private;

	look->root_rule = SCAN_RULE_NONE;
	look->from_flag = 0;
	while (private->todo_count) {
		while (private->todo_count && look->count < SCAN_WORDS_AT_ONCE) {
			struct scan_range *range = &private->todo[private->todo_count - 1];

			range->begin = scan_look_some(look, range->begin, range->end);
			if (range->begin == range->end)
			private->todo_count--;
		}
		scan_look_end(look);
	}
}

static int keep_roots(struct scan *scan, const struct scan_root *roots, size_t count)
{
	struct scan_private *private = scan->private;
	struct scan_kept_roots *kept = scan_take(scan, 1,
						 sizeof(*kept) + count * sizeof(kept->roots[0]));

	if (!kept)
		return -SCAN_ENOMEM;
	for (size_t i = 0; i < count; i++)
		kept->roots[i] = roots[i];
	kept->count = count;
	*private->roots_end = kept;
	private->roots_end = &kept->next;
	return 0;
}

int scan_mark(struct scan *scan, const struct scan_root *roots, size_t count)
{
	if (scan->options.want_hints && keep_roots(scan, roots, count))
		return -SCAN_ENOMEM;
	for (size_t i = 0; i < count && scan->block_count; i++) {
		const struct scan_root *root = &roots[i];
		struct scan_look look = scan_mark_begin(scan, SCAN_REACHABLE, root->kind);
		uint64_t at = root->begin;

		while (at < root->end) {
			look.root_rule = root->rule;
			look.from_flag = SCAN_FROM_ROOT;
			at = scan_look_at_root(&look, root, at);
			scan_look_end(&look);
			scan_mark_follow(&look);
		}
	}
	return 0;
}
