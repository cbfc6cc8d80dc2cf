/* SPDX-License-Identifier: MIT */
#include "runtime/track/label.h"

#include "runtime/sys/memo.h"
#include "runtime/sys/tables.h"

#include <string.h>

enum { FIRST = RT_LABEL_OTHERS + 1, MEMO_BYTES_MAX = 1 << 20 };

static const char others[] = "(all others)";

/*
 * Append only. One that two threads meet at once may be there twice, and a text in the ledger, too:
 * readers take them for one.
 */
static RT_LARGE struct label {
	char text[RT_LABEL_BYTES];
	uint8_t bytes; /* 0: not there yet. Written last */
} labels[RT_LABELS_MAX];
/* Of each, its struct ledger_string as one word; 0: not in this ledger. */
static RT_LARGE _Atomic uint64_t texts[RT_LABELS_MAX];
static _Atomic uint32_t label_count = FIRST;
static rt_memo by_text;

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
	return hash | 1;
}

static bool is_text(const struct label *label, const char *text, size_t bytes)
{
	return __atomic_load_n(&label->bytes, __ATOMIC_ACQUIRE) == bytes &&
	       memcmp(label->text, text, bytes) == 0;
}

static RT_COLD uint32_t label_new(const char *text, size_t bytes, uint64_t hash)
{
	uint32_t number = RT_LABEL_OTHERS;

	if (rt_load(&label_count) < RT_LABELS_MAX)
		number = atomic_fetch_add_explicit(&label_count, 1, memory_order_relaxed);
	if (number >= RT_LABELS_MAX)
		return RT_LABEL_OTHERS;
	memcpy(labels[number].text, text, bytes);
	__atomic_store_n(&labels[number].bytes, (uint8_t)bytes, __ATOMIC_RELEASE);
	rt_memo_put(&by_text, hash, number, 0, MEMO_BYTES_MAX);
	return number;
}

uint32_t rt_label(const char *text, size_t bytes)
{
	uint64_t hash, number;

	bytes = bytes < RT_LABEL_BYTES ? bytes : RT_LABEL_BYTES;
	if (!bytes)
		return RT_LABEL_OTHERS;
	hash = hash_of(text, bytes);
	number = rt_memo_find(&by_text, hash);
	if (RT_LIKELY(number != 0) && is_text(&labels[number], text, bytes))
		return (uint32_t)number;
	return label_new(text, bytes, hash);
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
