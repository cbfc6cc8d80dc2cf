/* SPDX-License-Identifier: MIT */
#include "runtime/track/label.h"

#include "runtime/sys/tables.h"

#include <string.h>

enum { FIRST = RT_LABEL_OTHERS + 1, PLACES = 2 * RT_LABELS_MAX };

static const char others[] = "(all others)";

/*
 * Append only. A text that two threads meet at once may be here twice, and by one number only in by_text;
 * in the ledger it may stand twice.
 */
static RT_LARGE struct label {
	char text[RT_LABEL_BYTES];
	uint8_t bytes; /* 0: not there yet. Written last */
} labels[RT_LABELS_MAX];
/* Of each, its struct ledger_string as one word; 0: not in this ledger. */
static RT_LARGE _Atomic uint64_t texts[RT_LABELS_MAX];
static _Atomic uint32_t label_count = FIRST;
/* By hash: numbers. Open addressing; a place is written once, from 0, and half of them stay 0. */
static RT_LARGE _Atomic uint16_t by_text[PLACES];

static uint64_t hash_of(const char *text, size_t bytes)
{
	uint64_t hash = core_hash_step(rt_global.seed, bytes);
	uint64_t word;

	for (; bytes; text += sizeof(word)) {
		size_t part = bytes < sizeof(word) ? bytes : sizeof(word);

		word = 0;
		memcpy(&word, text, part);
		hash = core_hash_step(hash, word);
		bytes -= part;
	}
	return hash;
}

static bool is_text(const struct label *label, const char *text, size_t bytes)
{
	return __atomic_load_n(&label->bytes, __ATOMIC_ACQUIRE) == bytes &&
	       memcmp(label->text, text, bytes) == 0;
}

/* A number for @text, which is nobody's yet; RT_LABEL_OTHERS: there are too many. */
static RT_COLD uint16_t take_number(const char *text, size_t bytes)
{
	uint32_t number = RT_LABELS_MAX;

	if (rt_load(&label_count) < RT_LABELS_MAX)
		number = atomic_fetch_add_explicit(&label_count, 1, memory_order_relaxed);
	if (number >= RT_LABELS_MAX)
		return RT_LABEL_OTHERS;
	memcpy(labels[number].text, text, bytes);
	__atomic_store_n(&labels[number].bytes, (uint8_t)bytes, __ATOMIC_RELEASE);
	return (uint16_t)number;
}

uint32_t rt_label(const char *text, size_t bytes)
{
	uint16_t mine = 0;
	uint64_t at;

	bytes = bytes < RT_LABEL_BYTES ? bytes : RT_LABEL_BYTES;
	if (!bytes)
		return RT_LABEL_OTHERS;
	for (at = hash_of(text, bytes) >> 32;; at++) {
		_Atomic uint16_t *place = &by_text[at % PLACES];
		uint16_t number = rt_load_acquire(place);

		if (RT_UNLIKELY(!number)) {
			mine = mine ? mine : take_number(text, bytes);
			/* Whoever comes second takes the first one's, or goes on. */
			if (mine == RT_LABEL_OTHERS ||
			    atomic_compare_exchange_strong_explicit(place, &number, mine,
								    memory_order_acq_rel,
								    memory_order_acquire))
				return mine;
		}
		if (RT_LIKELY(is_text(&labels[number], text, bytes)))
			return number;
	}
}

size_t rt_label_say(uint32_t label, const char **ret_text)
{
	*ret_text = label == RT_LABEL_OTHERS ? others : labels[label].text;
	return label == RT_LABEL_OTHERS ? sizeof(others) - 1
					: __atomic_load_n(&labels[label].bytes, __ATOMIC_ACQUIRE);
}

uint32_t rt_label_find(struct ledger_string text)
{
	uint64_t word;

	memcpy(&word, &text, sizeof(word));
	for (uint32_t i = RT_LABEL_OTHERS; word && i < RT_LABELS_MAX; i++)
		if (rt_load(&texts[i]) == word)
			return i;
	return RT_LABEL_NONE;
}

struct ledger_string rt_label_text(uint32_t label)
{
	struct ledger_string string = { 0, 0 };
	const char *text;
	size_t bytes;
	uint64_t word;

	if (label == RT_LABEL_NONE || label >= RT_LABELS_MAX)
		return string;
	word = rt_load(&texts[label]);
	if (!word) {
		bytes = rt_label_say(label, &text);
		string = rt_table_string(text, bytes);
		memcpy(&word, &string, sizeof(word));
		rt_store(&texts[label], word);
	}
	memcpy(&string, &word, sizeof(string));
	return string;
}

void rt_labels_forked(void)
{
	for (uint32_t i = 0; i < rt_load(&label_count) && i < RT_LABELS_MAX; i++)
		if (rt_load(&texts[i]))
			rt_store(&texts[i], 0);
}
