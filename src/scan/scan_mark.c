/* SPDX-License-Identifier: MIT */
/*
 * A block is put on the list once, when its bit in the index is set. Words go through in batches, each
 * look-up's loads under way while others are done.
 */
#include "scan/scan_mark.h"

#include "core/bits.h"
#include "scan/scan_private.h"
#include "scan/scan_rules.h"

void scan_mark_block(struct scan_look *look, uint32_t i, uint8_t rule, uint64_t from)
{
	struct scan_private *private = look->scan->private;
	struct scan_block *block = &look->scan->blocks[i];

	block->state = look->state;
	block->root = look->root;
	block->rule = rule;
	if (look->scan->options.want_chains || look->state != SCAN_REACHABLE)
	private->from[i] = from;
	private->todo[private->todo_count++] = i;
}

/* A pointer into a block, or to its end. */
static void mark_inner(struct scan_look *look, const struct scan_word *word)
{
	struct scan *scan = look->scan;
	struct scan_private *private = scan->private;
	uint32_t i = scan_index_block(&private->index, word->to);
	struct scan_block *block;
	uint8_t rule;

	if (i == SCAN_NO_BLOCK)
		return;
	block = &scan->blocks[i];
	if (block->state != SCAN_LOST || word->to - block->address > block->size)
		return;
	rule = scan_rule_of(scan, block, word->to);
	if (rule == SCAN_RULE_NONE)
		return;
	if (look->root_rule && rule >= SCAN_RULE_WEAK)
		rule = look->root_rule;
	if (rule < SCAN_RULE_WEAK || look->state != SCAN_REACHABLE) {
		scan_index_meet(&private->index, block->address);
		scan_mark_block(look, i, rule, word->from);
	} else if (block->rule == SCAN_RULE_NONE) {
		block->rule = rule;
		block->root = look->root;
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
			scan_mark_block(look, scan_page_block(page, word->to), SCAN_RULE_START,
					word->from);
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

void scan_mark_follow(struct scan_look *look)
{
	struct scan *scan = look->scan;
	struct scan_private *private = scan->private;

	look->root_rule = SCAN_RULE_NONE;
	look->from_flag = 0;
	for (;;) {
		while (private->todo_count) {
			const struct scan_block *block =
				&scan->blocks[private->todo[--private->todo_count]];

			scan_look_through(look, block->address, block->address + block->size);
		}
		if (!look->count)
			break;
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

		look.root_rule = root->rule;
		look.from_flag = SCAN_FROM_ROOT;
		if (root->words)
			scan_look_at(&look, root->words,
				     (root->end - root->begin) / sizeof(uint64_t), root->begin);
		else
			scan_look_through(&look, root->begin, root->end);
		scan_look_end(&look);
		scan_mark_follow(&look);
	}
	return 0;
}
