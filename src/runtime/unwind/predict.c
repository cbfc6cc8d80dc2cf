/* SPDX-License-Identifier: MIT */
#include "runtime/unwind/predict.h"

#include "runtime/sys/sys.h"

enum {
	NOT_NOTED = 64, /* walks of a thread: what allocates less than that needs no table */
	LOG2_FIRST = 4, /* a page */
	LOG2_STEP = 3,
	LOG2_LAST = 11, /* 400 KB */
};

/* Where there are many threads: twice as many, and a table has at most half as many entries. */
static unsigned log2_most(void)
{
	uint32_t threads = rt_load(&rt_threads);
	unsigned less = core_bit_width((threads - 1) / RT_FEW_THREADS);

	return less < LOG2_LAST - LOG2_FIRST ? LOG2_LAST - less : LOG2_FIRST;
}

static struct rt_predictions *table_new(unsigned log2)
{
	uint64_t bytes = sizeof(struct rt_predictions) + (sizeof(struct rt_prediction) << log2);
	struct rt_predictions *table = rt_mmap(bytes);

	if (table) {
		table->shift = 64 - log2;
		table->map_bytes = bytes;
	}
	return table;
}

static unsigned log2_of(const struct rt_predictions *table)
{
	return table ? 64 - table->shift : 0;
}

/* Larger, where entries keep driving each other out. 0: none yet. */
static unsigned log2_wanted(struct rt_walk *walk)
{
	const struct rt_predictions *table = walk->predictions;
	unsigned log2 = log2_of(table);
	unsigned most = log2_most();

	if (!table)
		return walk->not_noted++ < NOT_NOTED ? 0 : LOG2_FIRST;
	if (table->replaced >> log2 == 0 || log2 >= most)
		return log2;
	return log2 + LOG2_STEP < most ? log2 + LOG2_STEP : most;
}

/* An empty one when it has grown. NULL: not yet, or no memory. */
static struct rt_predictions *table_get(struct rt_walk *walk)
{
	struct rt_predictions *old = walk->predictions;
	unsigned log2 = log2_wanted(walk);
	struct rt_predictions *table;

	if (log2 == log2_of(old))
		return old;
	table = table_new(log2);
	if (!table) {
		/* Not at each walk. */
		walk->not_noted = 0;
		if (old)
			old->replaced = 0;
		return old;
	}
	walk->predictions = table;
	atomic_signal_fence(memory_order_seq_cst);
	if (old)
		rt_munmap(old, old->map_bytes);
	return table;
}

/* @count of the words of @peek from @first on. False: not all are on the leaf's stack. */
static bool note_words(const struct rt_peek *peek, uint32_t first, uint32_t count, uintptr_t leaf,
		       uint64_t *value, int32_t *at)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct rt_word *word = &peek->word[first + i < peek->words ? first + i : 0];
		int64_t offset = (int64_t)(word->at - leaf);

		if (offset != (int32_t)offset)
			return false;
		at[i] = (int32_t)offset;
		value[i] = word->value;
	}
	return true;
}

void rt_predict_learn(struct rt_walk *walk, const uintptr_t *hook, const struct rt_peek *peek,
		      struct rt_outcome outcome)
{
	uintptr_t leaf = (uintptr_t)(hook + 1);
	const struct rt_frame *landing;
	struct rt_predictions *table;
	struct rt_prediction *way;

	if (peek->words > RT_PEEK_WORDS)
		return;
	table = table_get(walk);
	if (!table || table->pause)
		return;
	way = rt_prediction_place(table, walk->previous, hook);
	table->replaced += way->leaf != 0 && way->generation == walk->now->generation &&
			   (way->leaf != leaf || way->outcome.row != outcome.row);
	/* Left by longjmp from here on, it is not in use. */
	way->leaf = 0;
	atomic_signal_fence(memory_order_seq_cst);
	if (!note_words(peek, 0, RT_PREDICTION_NEAR, leaf, way->near.value, way->near.at) ||
	    !note_words(peek, RT_PREDICTION_NEAR, RT_PREDICTION_FAR, leaf, way->far.value,
			way->far.at))
		return;
	landing = &walk->now->frames[peek->landing];
	way->words = peek->words;
	way->generation = walk->now->generation;
	way->outcome = outcome;
	way->landing_offset = (uint32_t)(peek->landing * sizeof(*landing));
	way->landing_at = (int32_t)(landing->ra_at - leaf);
	way->landing_hash = landing->hash;
	way->landing_fp = landing->fp;
	way->hash = peek->hash;
	atomic_signal_fence(memory_order_seq_cst);
	way->leaf = leaf;
}
