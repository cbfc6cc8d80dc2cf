/* SPDX-License-Identifier: MIT */
/*
 * Looks through memory for words that may point to blocks, and hands them on by the batch: a batch
 * has its look-ups under way at once, and may read elsewhere when a view's time is over.
 */
#ifndef SEEP_SCAN_SCAN_LOOK_H
#define SEEP_SCAN_SCAN_LOOK_H

#include "scan/scan.h"

struct scan_word;

struct scan_look {
	struct scan *scan;
	void (*take)(struct scan_look *look); /* what to do with a batch */
	uint64_t lowest, span;		      /* of words that are of interest */
	uint64_t mask;			      /* the bits of them that count */
	uint64_t sixth_bytes[2]; /* of 8 bytes each: the only ones of such words; 0: any */
	uint64_t from_flag;	 /* added to where a word was found */
	unsigned step;		 /* from one word to the next */
	unsigned count;		 /* in private->words, of a batch */
	/* For take(). */
	void *user;
	uint8_t state, root, root_rule;
	uint32_t block; /* that is looked through */
};

/* For any block, at aligned words. */
struct scan_look scan_look_for_blocks(struct scan *scan, void (*take)(struct scan_look *look));

/*
 * From @begin to @end, until a batch is full: how far it came. What cannot be read is passed over.
 * The caller hands the batch on.
 */
uint64_t scan_look_some(struct scan_look *look, uint64_t begin, uint64_t end);

/* All of @begin to @end, handing on what is found. */
void scan_look_through(struct scan_look *look, uint64_t begin, uint64_t end);

/* The same of a root, whose words may be in our memory. */
uint64_t scan_look_at_root(struct scan_look *look, const struct scan_root *root, uint64_t begin);

/* Hand on what was found. */
void scan_look_end(struct scan_look *look);

#endif
