/* SPDX-License-Identifier: MIT */

#include "core/bits.h"
#include "scan/scan_private.h"

struct scan_look scan_look_for_blocks(struct scan *scan, void (*take)(struct scan_look *look))
{
	const struct scan_index *index = &scan->private->index;

	return (struct scan_look){ .scan = scan,
				   .take = take,
				   .lowest = index->lowest,
				   .span = index->span,
				   .mask = UINT64_MAX,
				   .step = sizeof(uint64_t),
				   .block = SCAN_NO_BLOCK };
}

void scan_look_end(struct scan_look *look)
{
	if (look->count)
		look->take(look);
	look->count = 0;
}

static inline void add_word(struct scan_look *look, uint64_t word, uint64_t from)
{
	struct scan_word *found = &look->scan->private->words[look->count++];

	found->to = word;
	found->from = from | look->from_flag;
}

/* Whether one of @word's bytes is that of which @bytes has eight (Mycroft's test for zero). */
static inline bool has_byte(uint64_t word, uint64_t bytes)
{
	uint64_t x = word ^ bytes;

	return (x - UINT64_C(0x0101010101010101)) & ~x & UINT64_C(0x8080808080808080);
}

/* The words of one piece, from @begin. How far it came: not to its end if the batch is full. */
static uint64_t look_at_piece(struct scan_look *look, const uint8_t *data, uint64_t bytes,
			      uint64_t begin)
{
	enum { WORD = sizeof(uint64_t), LINE = 64, AHEAD = 2048, SIXTH = 5 };
	const uint64_t lowest = look->lowest, span = look->span;
	uint64_t at = 0, word;

	if (look->step == WORD && look->mask == UINT64_MAX)
		for (; at + LINE <= bytes && look->count + LINE / WORD <= SCAN_WORDS_AT_ONCE;
		     at += LINE) {
			__builtin_prefetch(data + at + AHEAD);
#pragma GCC unroll 8
			for (unsigned k = 0; k < LINE; k += WORD) {
				__builtin_memcpy(&word, data + at + k, WORD);
				if (CORE_UNLIKELY(word - lowest < span))
					add_word(look, word, begin + at + k);
			}
		}
	for (; at + WORD <= bytes && look->count < SCAN_WORDS_AT_ONCE; at += look->step) {
		/*
		 * No sixth byte of the next eight words is that of an address: none of them is one.
		 */
		while (look->sixth_bytes[0] && at + SIXTH + 2 * WORD <= bytes) {
			__builtin_memcpy(&word, data + at + SIXTH, WORD);
			if (has_byte(word, look->sixth_bytes[0]) ||
			    has_byte(word, look->sixth_bytes[1]))
				break;
			at += WORD;
		}
		__builtin_memcpy(&word, data + at, WORD);
		if (CORE_UNLIKELY((word & look->mask) - lowest < span))
			add_word(look, word, begin + at);
	}
	return at;
}

static uint64_t untouched(const struct scan *scan, uint64_t begin, uint64_t end)
{
	if (!scan->options.untouched)
		return 0;
	return core_smaller(
		       scan->options.untouched(scan->options.untouched_user, begin, end - begin),
		       end - begin) &
	       ~(uint64_t)(sizeof(uint64_t) - 1);
}

/* Of memory that is worth asking about. */
static uint64_t untouched_much(const struct scan *scan, uint64_t begin, uint64_t end)
{
	enum { WORTH_BYTES = 1 << 20 };

	return end - begin < WORTH_BYTES ? 0 : untouched(scan, begin, end);
}

/* What cannot be read. Of guard pages, and of a file beyond its end, nothing is missed. */
static void note_skipped(struct scan *scan, uint64_t begin, uint64_t end)
{
	uint64_t count = scan->skipped_count, rest = begin, none = 1;

	if (scan->private->quiet)
		return;
	/* Of many it does not matter; a scan that is interrupted has nothing but those. */
	for (; rest < end && none && count < SCAN_SKIPPED_MAX; rest += none)
		none = untouched(scan, rest, (end + 7) & ~UINT64_C(7));
	if (none && count < SCAN_SKIPPED_MAX)
		return;
	if (count && count <= SCAN_SKIPPED_MAX && scan->skipped[count - 1].end == begin) {
		scan->skipped[count - 1].end = end;
		return;
	}
	if (count < SCAN_SKIPPED_MAX)
		scan->skipped[count] = (struct scan_range){ begin, end };
	scan->skipped_count++;
}

uint64_t scan_look_some(struct scan_look *look, uint64_t begin, uint64_t end)
{
	struct scan *scan = look->scan;
	uint8_t word[sizeof(uint64_t)];

	if (look->step != 1)
		begin = (begin + sizeof(word) - 1) & ~(uint64_t)(sizeof(word) - 1);
	while (begin < end && end - begin >= sizeof(word) && look->count < SCAN_WORDS_AT_ONCE) {
		uint64_t some, done = untouched_much(scan, begin, end);
		const uint8_t *data;

		begin += done;
		if (done)
			continue;
		data = scan_view(scan, begin, end - begin, &some);

		if (!data) {
			/* Sizes may lie: what is almost all holes must come to an end. */
			if (!scan->private->holes_left)
				some = end - begin;
			else
				scan->private->holes_left--;
			note_skipped(scan, begin, begin + some);
			done = (some + look->step - 1) & ~(uint64_t)(look->step - 1);
		} else if (some >= sizeof(word)) {
			done = look_at_piece(look, data, some, begin);
		} else {
			/* A word that lies in two pieces. */
			done = look->step;
			if (scan_copy(scan, begin, word, sizeof(word)))
				look_at_piece(look, word, sizeof(word), begin);
		}
		if (data && !scan->private->quiet)
			scan->marked_bytes += core_smaller(done, end - begin);
		begin += done;
	}
	/* A rest that is no word is looked through too. */
	return look->count < SCAN_WORDS_AT_ONCE ? end : begin;
}

uint64_t scan_look_at_root(struct scan_look *look, const struct scan_root *root, uint64_t begin)
{
	const uint8_t *words = (const uint8_t *)root->words;

	if (!words)
		return scan_look_some(look, begin, root->end);
	begin += look_at_piece(look, words + (begin - root->begin), root->end - begin, begin);
	return look->count < SCAN_WORDS_AT_ONCE ? root->end : begin;
}
