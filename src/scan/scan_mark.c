/* SPDX-License-Identifier: MIT */
/*
 * A block is put on the list once, when its bit in the index is set. Words go through in batches,
 * each look-up's loads under way while others are done.
 */

#include "core/bits.h"
#include "scan/scan_private.h"

/* Block @i, which begins at @address and has no state yet, goes on the list. */
static void mark_block(struct scan_look *look, uint32_t i, uint64_t address, uint8_t rule,
		       uint64_t from)
{
	struct scan_private *own = look->scan->private;
	union scan_fate *fate = &own->fates[i];

	fate->state = look->state;
	fate->root = look->root;
	fate->rule = rule;
	if (look->scan->options.want_chains || look->state != SCAN_REACHABLE)
		own->from[i] = from;
	if (fate->words)
		own->todo[own->todo_count++] = address | (uint64_t)fate->words << SCAN_WORK_SHIFT;
}

/* The same of one that was not met by a pointer to its begin. */
static void meet_block(struct scan_look *look, uint32_t i, uint8_t rule, uint64_t from)
{
	const uint64_t address = look->scan->blocks[i].address;
	struct scan_page *page = scan_page_of(look->scan, address);

	page->met[scan_unit(address)] |= scan_unit_bit(address);
	mark_block(look, i, address, rule, from);
}

/* A pointer into a block, or to its end; or to its begin, of a root whose pointers are all weak. */
static void mark_inner(struct scan_look *look, const struct scan_word *word)
{
	struct scan *scan = look->scan;
	struct scan_private *own = scan->private;
	const uint32_t i = word->block;
	const struct scan_block *block = &scan->blocks[i];
	union scan_fate *fate = &own->fates[i];
	uint8_t rule;

	if (fate->state != SCAN_LOST || scan_lost_is_apart(fate) ||
	    word->to - block->address > block->size)
		return;
	rule = scan_rule_of(scan, block, word->to);
	if (rule == SCAN_RULE_NONE)
		return;
	if (look->root_rule && (rule >= SCAN_RULE_WEAK || look->root_rule >= SCAN_RULE_WEAK))
		rule = look->root_rule;
	if (rule < SCAN_RULE_WEAK || look->state != SCAN_REACHABLE) {
		meet_block(look, i, rule, word->from);
	} else if (fate->rule == SCAN_RULE_NONE) {
		fate->rule = rule;
		fate->root = look->root;
		own->from[i] = word->from;
		own->weak[own->weak_count++] = i;
	}
}

/* The record around a word at which a block begins; NULL: none does. */
static struct scan_page *begins_at(const struct scan_index *index, const struct scan_word *word)
{
	struct scan_page *page;

	if (word->entry & SCAN_COVERED)
		return NULL;
	page = &index->records[word->entry - 1];
	return scan_page_begins(page, word->to) ? page : NULL;
}

/*
 * Which block each word means, without those that were reached; what is needed of the others is
 * fetched.
 */
static unsigned find_blocks(const struct scan_look *look, unsigned found)
{
	struct scan *scan = look->scan;
	struct scan_private *own = scan->private;
	unsigned count = 0;

	for (unsigned i = 0; i < found; i++) {
		struct scan_word word = own->words[i];
		const struct scan_page *page = begins_at(&own->index, &word);

		if (page && page->met[scan_unit(word.to)] & scan_unit_bit(word.to) &&
		    !look->sees_lost)
			continue;
		word.block = word.entry & SCAN_COVERED
				     ? word.entry & ~SCAN_COVERED
				     : scan_page_block(&own->index.records[word.entry - 1],
						       word.to);
		if (word.block == SCAN_NO_BLOCK)
			continue;
		__builtin_prefetch(&own->fates[word.block]);
		if (!page)
			__builtin_prefetch(&scan->blocks[word.block]);
		scan->memory.fetch(scan->memory.user, word.to);
		own->words[count++] = word;
	}
	return count;
}

/* Not by a weak one, which would be chance. */
static bool keeps(const struct scan *scan, const struct scan_block *block, uint64_t to)
{
	const unsigned rule = to == block->address ? SCAN_RULE_START
						   : scan_rule_of(scan, block, to);

	return rule != SCAN_RULE_NONE && rule < SCAN_RULE_WEAK;
}

static void mark_batch(struct scan_look *look)
{
	struct scan_private *own = look->scan->private;
	struct scan_index *index = &own->index;
	unsigned count = 0;

	for (unsigned i = 0; i < look->count; i++) {
		struct scan_word word = own->words[i];

		word.entry = scan_index_entry(index, word.to);
		if (!word.entry)
			continue;
		if (!(word.entry & SCAN_COVERED))
			__builtin_prefetch(&index->records[word.entry - 1]);
		own->words[count++] = word;
	}
	count = find_blocks(look, count);
	for (unsigned i = 0; i < count; i++) {
		const struct scan_word *word = &own->words[i];
		const unsigned unit = scan_unit(word->to);
		struct scan_page *page = begins_at(index, word);

		if (look->sees_lost && scan_lost_is_apart(&own->fates[word->block]) &&
		    keeps(look->scan, &look->scan->blocks[word->block], word->to))
			scan_lost_take_back(look->scan, word->block, word->to);
		if (!page || look->root_rule >= SCAN_RULE_WEAK) {
			mark_inner(look, word);
		} else if (!(page->met[unit] & scan_unit_bit(word->to))) {
			page->met[unit] |= scan_unit_bit(word->to);
			mark_block(look, word->block, word->to, SCAN_RULE_START, word->from);
		}
	}
}

/* What is marked from here on gets this @state and @root. */
static struct scan_look mark_begin(struct scan *scan, enum scan_state state, uint8_t root)
{
	struct scan_look look = scan_look_for_blocks(scan, mark_batch);

	look.state = (uint8_t)state;
	look.root = root;
	return look;
}

/* The block on top of the list, as far as the batch has room. Its rest waits on the list. */
static void look_at_next(struct scan_look *look)
{
	struct scan_private *own = look->scan->private;
	const uint64_t depth = own->todo_count, work = own->todo[depth - 1];
	const uint64_t words = work >> SCAN_WORK_SHIFT;
	uint64_t at = work & ((UINT64_C(1) << SCAN_WORK_SHIFT) - 1), end;

	end = at +
	      (words < SCAN_WORDS_MAX ? words * sizeof(uint64_t) : scan_find(look->scan, at)->size);
	if (own->part_count && own->parts[own->part_count - 1].depth == depth)
		at = own->parts[--own->part_count].at;
	at = scan_look_some(look, at, end);
	if (at == end)
		own->todo_count--;
	else
		own->parts[own->part_count++] = (struct scan_part){ at, depth };
}

/* The block on top of the list was lost, and somebody knows it again, with all that it leads to. */
static bool is_back(const struct scan *scan)
{
	const struct scan_private *own = scan->private;
	const uint64_t work = own->todo[own->todo_count - 1];

	return own->lost_count &&
	       scan_find(scan, work & ((UINT64_C(1) << SCAN_WORK_SHIFT) - 1))->was_lost;
}

static void mark_follow(struct scan_look *look)
{
	struct scan_private *own = look->scan->private;

	look->root_rule = SCAN_RULE_NONE;
	look->from_flag = 0;
	while (own->todo_count) {
		look->sees_lost = is_back(look->scan);
		while (own->todo_count && look->count < SCAN_WORDS_AT_ONCE &&
		       look->sees_lost == is_back(look->scan))
			look_at_next(look);
		scan_look_end(look);
	}
}

void scan_mark(struct scan *scan, const struct scan_root *roots, size_t count)
{
	scan->private->roots = roots;
	scan->private->root_count = count;
	scan_lost_set_apart(scan);
	for (size_t i = 0; i < count && scan->block_count; i++) {
		const struct scan_root *root = &roots[i];
		struct scan_look look = mark_begin(scan, SCAN_REACHABLE, root->kind);
		uint64_t at = root->begin;

		while (at < root->end) {
			look.root_rule = root->rule;
			look.from_flag = SCAN_FROM_ROOT;
			look.sees_lost = scan->private->lost_count &&
					 root->kind < SCAN_ROOT_REGISTER &&
					 root->rule < SCAN_RULE_WEAK;
			at = scan_look_at_root(&look, root, at);
			scan_look_end(&look);
			mark_follow(&look);
		}
	}
}

void scan_mark_from(struct scan *scan, uint32_t i, enum scan_state state, uint8_t root,
		    uint8_t rule)
{
	struct scan_look look = mark_begin(scan, state, root);

	meet_block(&look, i, rule, scan->private->from[i]);
	mark_follow(&look);
}
