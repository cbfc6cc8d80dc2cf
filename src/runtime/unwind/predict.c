/* SPDX-License-Identifier: MIT */
#include "runtime/unwind/predict.h"

#include "runtime/sys/sys.h"

/*
 * 32 entries are 6 KB; 2,048 are what a thread of a large program gets at last. Where there are
 * many threads it begins with 8, and 128 are most.
 */
enum {
	LOG2_FIRST = 5,
	LOG2_FIRST_MANY_THREADS = 3,
	LOG2_STEP = 2,
	LOG2_MANY_THREADS = 7,
	LOG2_LAST = 11,
};

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

/* The table: an empty, larger one if its entries keep driving each other out. NULL: no memory. */
static struct rt_predictions *table_get(struct rt_walk *walk)
{
	struct rt_predictions *old = walk->predictions;
	unsigned log2 = old ? 64 - old->shift : 0;
	unsigned most = rt_threads_are_few() ? LOG2_LAST : LOG2_MANY_THREADS;
	struct rt_predictions *table;

	if (old && (old->replaced >> log2 == 0 || log2 + LOG2_STEP > most))
		return old;
	if (old)
		log2 += LOG2_STEP;
	else
		log2 = rt_threads_are_few() ? LOG2_FIRST : LOG2_FIRST_MANY_THREADS;
	table = table_new(log2);
	if (!table) {
		/* Not at each walk. */
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
