/* SPDX-License-Identifier: MIT */
#include "runtime/unwind/shortcut.h"

#include "runtime/sys/sys.h"

/*
 * 64 entries are 12 KB; 1,024 are what a thread of a large program gets at last, 256 (47 KB) where
 * there are many threads.
 */
enum { LOG2_FIRST = 6, LOG2_STEP = 2, LOG2_MANY_THREADS = 8, LOG2_LAST = 10 };

enum { ONE_IN = 8, WAYS_LOG2 = 2 };
_Static_assert(RT_SHORTCUT_WAYS == 1 << WAYS_LOG2, "a set is a power of two");

static struct rt_shortcuts *table_new(unsigned log2)
{
	uint64_t before = sizeof(struct rt_shortcuts) + (sizeof(uint32_t) << log2);
	uint64_t bytes = before + (sizeof(struct rt_shortcut) << log2);
	struct rt_shortcuts *table = rt_mmap(bytes);

	if (table) {
		table->shift = 64 - (log2 - WAYS_LOG2);
		table->map_bytes = bytes;
		table->entries = (struct rt_shortcut *)((char *)table + before);
	}
	return table;
}

/* The table: an empty, larger one if its entries keep driving each other out. NULL: no memory. */
static struct rt_shortcuts *table_get(struct rt_walk *walk)
{
	struct rt_shortcuts *old = walk->shortcuts;
	unsigned log2 = old ? 64 - old->shift + WAYS_LOG2 : 0;
	struct rt_shortcuts *table;

	if (old && (old->replaced >> log2 == 0 ||
		    log2 >= (rt_threads_are_few() ? LOG2_LAST : LOG2_MANY_THREADS)))
		return old;
	table = table_new(old ? log2 + LOG2_STEP : LOG2_FIRST);
	if (!table) {
		/* Not at each walk. */
		if (old)
			old->replaced = 0;
		return old;
	}
	walk->shortcuts = table;
	atomic_signal_fence(memory_order_seq_cst);
	if (old)
		rt_munmap(old, old->map_bytes);
	return table;
}

/*
 * Copy @count words that end before @end, innermost first. False: they are not all on this stack.
 */
static bool copy_words(struct rt_shortcut *into, uintptr_t leaf, const struct rt_word *end,
		       uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct rt_word *word = end - 1 - i;
		int64_t at = (int64_t)(word->at - leaf);

		if (at != (int32_t)at)
			return false;
		into->at[i] = (int32_t)at;
		into->value[i] = word->value;
	}
	return true;
}

void rt_shortcut_offer(struct rt_walk *walk, const uintptr_t *fp, const struct rt_outcome *outcome)
{
	uintptr_t leaf = (uintptr_t)(fp + 1);
	const struct rt_word *first, *end;
	const struct rt_frame *landing;
	struct rt_shortcuts *table;
	struct rt_shortcut *into;
	uint64_t hash, place;

	if (!walk->landed || !walk->stored || walk->truncated || walk->leaf != leaf || !walk->base)
		return;
	landing = &walk->now->frames[walk->base - 1];
	first = walk->words + landing->words;
	end = walk->words + walk->last_word + 1;
	if (end - first > RT_SHORTCUT_WORDS)
		return;
	table = table_get(walk);
	if (!table || table->pause || ++table->offered % ONE_IN)
		return;
	hash = rt_shortcut_hash(fp);
	place = rt_shortcut_place(table, hash) + table->offered / ONE_IN % RT_SHORTCUT_WAYS;
	into = &table->entries[place];
	table->replaced += into->leaf != 0 && into->generation == walk->generation;
	/* Left by longjmp from here on, it is not in use. */
	into->leaf = 0;
	atomic_signal_fence(memory_order_seq_cst);
	into->words = (uint8_t)(end - first);
	if (!copy_words(into, leaf, end, into->words))
		return;
	into->generation = walk->generation;
	into->outcome = *outcome;
	into->landing = (walk->base - 1) & 0xffffff;
	into->landing_ra_at = landing->ra_at;
	into->landing_fp = landing->fp;
	into->landing_hash = landing->hash;
	into->hash = walk->hash;
	atomic_signal_fence(memory_order_seq_cst);
	into->leaf = leaf;
	table->tags[place] = rt_shortcut_tag(hash);
}
