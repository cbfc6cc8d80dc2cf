/* SPDX-License-Identifier: MIT */
#include "scan/scan_look.h"

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
				   .step = scan->options.unaligned ? 1 : sizeof(uint64_t),
				   .block = SCAN_NO_BLOCK };
}

void scan_look_end(struct scan_look *look)
{
	if (look->count)
		look->take(look);
	look->count = 0;
}

/* The words of one piece. How far it came: not to its end if the batch is full. */
static uint64_t look_at_piece(struct scan_look *look, const uint8_t *data, uint64_t bytes,
			      uint64_t begin)
{
	struct scan_word *words = look->scan->private->words;
	const uint64_t lowest = look->lowest, span = look->span, mask = look->mask;
	const uint64_t step = look->step;
	unsigned count = look->count;
	uint64_t at = 0;

	for (; at + sizeof(uint64_t) <= bytes && count < SCAN_WORDS_AT_ONCE; at += step) {
		uint64_t word;

		__builtin_memcpy(&word, data + at, sizeof(word));
		if (CORE_LIKELY((word & mask) - lowest >= span))
			continue;
		words[count].to = word;
		words[count++].from = begin + at;
	}
	look->count = count;
	return at;
}

static void note_skipped(struct scan *scan, uint64_t begin, uint64_t end)
{
	uint64_t count = scan->skipped_count;

	if (scan->private->quiet)
		return;
	if (count && count <= SCAN_SKIPPED_MAX && scan->skipped[count - 1].end == begin) {
		scan->skipped[count - 1].end = end;
		return;
	}
	if (count < SCAN_SKIPPED_MAX)
		scan->skipped[count] = (struct scan_range){ begin, end };
	scan->skipped_count++;
}

void scan_look_through(struct scan_look *look, uint64_t begin, uint64_t end)
{
	struct scan *scan = look->scan;
	uint8_t word[sizeof(uint64_t)];

	if (look->step != 1)
		begin = (begin + sizeof(word) - 1) & ~(uint64_t)(sizeof(word) - 1);
	while (begin < end && end - begin >= sizeof(word)) {
		uint64_t some, done;
		const uint8_t *data = scan_view(scan, begin, end - begin, &some);

		if (!data) {
			/* Sizes may lie: what is almost all holes must come to an end. */
			if (!scan->private->holes_left)
				some = end - begin;
			else
				scan->private->holes_left--;
			note_skipped(scan, begin, begin + some);
			done = (some + look->step - 1) & ~(uint64_t)(look->step - 1);
		} else if (some >= sizeof(word)) {
			done = look_at_piece(look, data, some, begin | look->from_flag);
		} else {
			/* A word that lies in two pieces. */
			done = look->step;
			if (scan_copy(scan, begin, word, sizeof(word)))
				look_at_piece(look, word, sizeof(word), begin | look->from_flag);
		}
		if (data && !scan->private->quiet)
			scan->marked_bytes += core_smaller(done, end - begin);
		begin += done;
		if (look->count == SCAN_WORDS_AT_ONCE)
			scan_look_end(look);
	}
}

void scan_look_at(struct scan_look *look, const uint64_t *words, uint64_t count, uint64_t begin)
{
	for (uint64_t i = 0; i < count; i++) {
		look_at_piece(look, (const uint8_t *)&words[i], sizeof(*words),
			      (begin + i * sizeof(*words)) | look->from_flag);
		if (look->count == SCAN_WORDS_AT_ONCE)
			scan_look_end(look);
	}
}
