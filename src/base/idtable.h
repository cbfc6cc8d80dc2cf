/* SPDX-License-Identifier: MIT */
/*
 * A hash table from 64-bit hashes to small numbers, by open addressing. Several numbers may share
 * a hash: which of them is meant is for the caller to say.
 *
 *	size_t at = SEEP_IDTABLE_START;
 *	uint32_t id;
 *
 *	while ((id = seep_idtable_find(&table, hash, &at)) != SEEP_IDTABLE_NONE)
 *		if (things_equal(&things[id], thing))
 *			return id;
 *	seep_idtable_add(&table, hash, new_id);
 */
#ifndef SEEP_BASE_IDTABLE_H
#define SEEP_BASE_IDTABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SEEP_IDTABLE_NONE UINT32_MAX
#define SEEP_IDTABLE_START SIZE_MAX

/* Zeroed storage is empty. */
struct seep_idtable {
	struct seep_idtable_bucket *buckets; /* a power of two, at most two thirds in use */
	size_t mask;
	size_t count;
};

/* An empty one with room for @expected numbers; more are no error. */
void seep_idtable_init(struct seep_idtable *table, size_t expected);

/* Release the storage; empty again. */
void seep_idtable_done(struct seep_idtable *table);

/*
 * The next number kept under @hash. *@at: SEEP_IDTABLE_START for the first, then as it was left.
 * Returns: a number, or SEEP_IDTABLE_NONE when there are no more.
 */
uint32_t seep_idtable_find(const struct seep_idtable *table, uint64_t hash, size_t *at);

/* Keep @id (not SEEP_IDTABLE_NONE) under @hash. */
void seep_idtable_add(struct seep_idtable *table, uint64_t hash, uint32_t id);

/* One step of a hash over words: mixes @word into @hash. For speed, not against floods. */
static inline uint64_t seep_hash_mix(uint64_t hash, uint64_t word)
{
	/*
	 * Multiply and fold, as in wyhash: the product's halves each depend on all input bits. A
	 * word that makes it 0 would make all alike that came before: so those stay in it.
	 */
	const unsigned __int128 product = (unsigned __int128)(hash ^ 0x9e3779b97f4a7c15u) *
					  (word ^ 0xe7037ed1a0b428dbu);

	return (uint64_t)product ^ (uint64_t)(product >> 64) ^ hash;
}

/* The same over a string; NULL differs from "". */
uint64_t seep_hash_text(uint64_t hash, const char *text);

/* NULL is a text of its own. */
static inline bool seep_text_equal(const char *a, const char *b)
{
	return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

#endif
