/* SPDX-License-Identifier: MIT */
#include "runtime/unwind/predict.h"

#include "runtime/sys/sys.h"

/*
 * 64 entries are 12 KB; 1,024 are what a thread of a large program gets at last. Where there are
 * many threads it begins with 16, and 256 are most.
 */
enum {
	LOG2_FIRST = 6,
	LOG2_FIRST_MANY_THREADS = 4,
	LOG2_STEP = 2,
	LOG2_MANY_THREADS = 8,
	LOG2_LAST = 10,
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
	struct rt_predictions *table;

	if (old && (old->replaced >> log2 == 0 ||
		    log2 >= (rt_threads_are_few() ? LOG2_LAST : LOG2_MANY_THREADS)))
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

void rt_predict_learn(struct rt_walk *walk, const uintptr_t *hook, const struct rt_peek *peek,
		      struct rt_outcome outcome)
{
	uintptr_t leaf = (uintptr_t)(hook + 1);
	struct rt_predictions *table;
	struct rt_prediction *way;

	if (peek->words > RT_PEEK_WORDS)
		return;
	table = table_get(walk);
	if (!table || table->pause)
		return;
	way = rt_prediction_place(table, walk->previous, hook);
	table->replaced += way->leaf != 0 && way->generation == walk->now->generation;
	/* Left by longjmp from here on, it is not in use. */
	way->leaf = 0;
	atomic_signal_fence(memory_order_seq_cst);
	for (uint32_t i = 0; i < RT_PEEK_WORDS; i++) {
		const struct rt_word *word = &peek->word[i < peek->words ? i : 0];
		int64_t at = (int64_t)(word->at - leaf);
		uint32_t far = i - RT_PREDICTION_NEAR;

		/* Not all on this stack. */
		if (at != (int32_t)at)
			return;
		*(i < RT_PREDICTION_NEAR ? &way->near.at[i] : &way->far.at[far]) = (int32_t)at;
		*(i < RT_PREDICTION_NEAR ? &way->near.value[i]
					 : &way->far.value[far]) = word->value;
	}
	way->words = (uint8_t)peek->words;
	way->generation = walk->now->generation;
	way->outcome = outcome;
	way->landing = peek->landing & 0xffffff;
	way->landing_offset = (uint32_t)(peek->landing * sizeof(struct rt_frame));
	way->landing_at = (int32_t)(walk->now->frames[peek->landing].ra_at - leaf);
	way->landing_hash = walk->now->frames[peek->landing].hash;
	way->landing_fp = walk->now->frames[peek->landing].fp;
	way->hash = peek->hash;
	atomic_signal_fence(memory_order_seq_cst);
	way->leaf = leaf;
}
