/* SPDX-License-Identifier: MIT */
/*
 * Chains of realloc: one block that grows from 10 to 960 bytes by 19 resizes, many chains that
 * grow and shrink at random, across the mmap threshold, from one function into another. A resize
 * is the end of the old block and a new allocation, never a temporary one.
 */
#include "truth.h"

enum { CHAINS = 2000, STEPS = 20 };

TRUTH_SITE(chain_first);
TRUTH_SITE(chain_step);
TRUTH_TAGGING_MAKER(chain_malloc, malloc(bytes));
TRUTH_SITE(chain_resize);
TRUTH_SITE(chain_mapped);

static void *kept[CHAINS + 2];

static SITE void *chain_first(void)
{
	void *block = malloc(10);

	truth_alloced(&site_chain_first, 10);
	return block;
}

static SITE void *chain_step(void *block, size_t bytes)
{
	void *grown = realloc(block, bytes);

	truth_alloced(&site_chain_step, bytes);
	return grown;
}

/* 10, 60, 110 … 960: after every step only the last one is live. */
static void *ten_to_960(void)
{
	void *block = chain_first();
	size_t bytes;

	for (bytes = 60; bytes <= 960; bytes += 50) {
		block = chain_step(block, bytes);
		if (bytes == 60)
			truth_freed(&site_chain_first, 10);
		else
			truth_freed(&site_chain_step, bytes - 50);
	}
	return block;
}

static SITE void *chain_resize(void *block, size_t bytes)
{
	void *resized;

	truth_untag_block(block);
	resized = realloc(block, bytes);
	truth_tag_block(resized, &site_chain_resize, bytes);
	return resized;
}

/* Large enough for mmap, so that glibc moves the pages instead of copying. */
static SITE void *chain_mapped(void *block, size_t bytes)
{
	void *resized;

	if (block)
		truth_untag_block(block);
	resized = realloc(block, bytes);
	truth_tag_block(resized, &site_chain_mapped, bytes);
	return resized;
}

static void check_contents(const unsigned char *block, size_t bytes, unsigned char want)
{
	size_t i;

	for (i = sizeof(struct truth_tag); i < bytes; i++)
		if (block[i] != want) {
			EXPECT(block[i] == want);
			return;
		}
}

static void *random_chain(uint64_t *state, unsigned char fill)
{
	size_t bytes = sizeof(struct truth_tag) + truth_random(state) % 200;
	void *block = chain_malloc(bytes);
	int step;

	for (step = 0; step < STEPS; step++) {
		size_t next = sizeof(struct truth_tag) + truth_random(state) % 4000;

		memset((char *)block + sizeof(struct truth_tag), fill,
		       bytes - sizeof(struct truth_tag));
		block = chain_resize(block, next);
		check_contents((unsigned char *)block, next < bytes ? next : bytes, fill);
		bytes = next;
	}
	return block;
}

static void *mapped_chain(void)
{
	void *block = NULL;
	size_t bytes;

	for (bytes = 100000; bytes < (size_t)100 << 20; bytes *= 3)
		block = chain_mapped(block, bytes + 1);
	return chain_mapped(block, 5000);
}

int main(void)
{
	uint64_t state = 42;
	int i;

	kept[CHAINS] = ten_to_960();
	kept[CHAINS + 1] = mapped_chain();
	for (i = 0; i < CHAINS; i++) {
		kept[i] = random_chain(&state, (unsigned char)i);
		if (i % 3 == 0) {
			truth_untag_block(kept[i]);
			free(kept[i]);
		}
	}
	truth_set_temporary(&site_chain_step, 0);
	truth_set_temporary(&site_chain_mapped, 0);
	truth_print();
	return truth_failures != 0;
}
