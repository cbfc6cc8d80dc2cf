/* SPDX-License-Identifier: MIT */
/*
 * What the finders of roots share: reading the process's memory, its modules, the lists that
 * grow. Roots are what remains of the writable mappings when "cut" is taken away; what is cut, and
 * yet a root in part, is added by who cuts it.
 */
#ifndef SEEP_TARGET_ROOTS_PARTS_H
#define SEEP_TARGET_ROOTS_PARTS_H

#include "target/roots.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PAGE_BYTES = 4096 };

/* Bits of the size word of a chunk of glibc's, which begins CHUNK_HEAD_BYTES in front of its block. */
enum {
	CHUNK_BEFORE_IN_USE = 1,
	CHUNK_MMAPPED = 2,
	CHUNK_OF_ARENA = 4,
	CHUNK_BITS = 7,
	CHUNK_HEAD_BYTES = 16,
};

/* Its malloc_state: bins, two words each, between what is in front and what is behind. */
enum {
	ARENA_BINS = 127,
	ARENA_BIN_BYTES = 16,
	ARENA_BEFORE_BINS_BYTES = 112,
	ARENA_AFTER_BINS_BYTES = 56,
	ARENA_BYTES = ARENA_BEFORE_BINS_BYTES + ARENA_BINS * ARENA_BIN_BYTES +
		      ARENA_AFTER_BINS_BYTES,
};

/* What glibc keeps at the begin of each heap of an arena. The first one has the arena behind it. */
struct seep_heap_info {
	uint64_t arena;
	uint64_t previous; /* heap of the same arena */
	uint64_t bytes;
	uint64_t writable_bytes;
};

struct seep_roots_work {
	const struct seep_roots_from *from;
	struct seep_roots *roots;
	struct seep_memory *memory; /* read past what is kept: what is wanted lies far apart */
	struct seep_ranges globals; /* writable data of modules, with .bss */
	struct seep_ranges libc;    /* of these what is the C library's and the loader's */
	struct seep_ranges heap;    /* memory of the allocator, and libseep.so's own */
	struct seep_ranges areas;   /* where chunks lie side by side; two that touch are two */
	uint64_t main_arena;	    /* 0: it was not found */
	struct seep_ranges cut;	    /* the heap, stacks and thread-local storage */
	size_t word_count;	    /* at no address; those of roots->words come first */
};

/* The word at @address; 0 if it cannot be read. */
uint64_t seep_roots_word(const struct seep_roots_work *work, uint64_t address);

/* Returns the new one, whose words and rule may be set until the next. */
struct scan_root *seep_roots_add(struct seep_roots_work *work, uint64_t begin, uint64_t end,
				 enum scan_root_kind kind, uint32_t id);

/* Words that are at no address, and live as long as the roots. */
void seep_roots_add_words(struct seep_roots_work *work, const uint64_t *words, size_t count,
			  enum scan_root_kind kind, enum scan_rule rule, uint32_t id);

/* The pieces of [@begin, @end) that are in none of @but. */
void seep_roots_add_but(struct seep_roots_work *work, uint64_t begin, uint64_t end,
			const struct seep_ranges *but, enum scan_root_kind kind, uint32_t id);

void seep_roots_caveat(struct seep_roots_work *work, const char *format, ...) SEEP_PRINTF(2, 3);

/* The first block from index @at on that begins at @address or behind it. */
uint64_t seep_roots_block_from(const struct scan *scan, uint64_t at, uint64_t address);
bool seep_roots_in_block(const struct scan *scan, uint64_t address);

/* Anonymous and private: the program's own. */
bool seep_roots_is_anonymous(const struct seep_mapping *mapping);

/*
 * The memory of the allocator: chunks, arenas, what they are kept in. Pointers in it are in blocks,
 * or left over from blocks that were freed. And libseep.so's memory, which is full of addresses.
 * Adds both to work->heap, which is settled then. The modules are known.
 */
void seep_roots_find_heap(struct seep_roots_work *work);

/*
 * What of the heap the program holds though no block is recorded there: chunks in use of glibc's,
 * where not all allocations were recorded; by address. What is free is not among it: what lies there
 * is left over. After seep_roots_find_threads(). Release with seep_ranges_done().
 */
struct seep_ranges seep_roots_unrecorded(struct seep_roots_work *work);

/*
 * Registers, stacks and thread-local storage of the threads that there are, and the stacks of those
 * that ended, which glibc keeps for later ones. Adds roots; what is theirs is added to work->cut.
 * After seep_roots_find_heap().
 */
void seep_roots_find_threads(struct seep_roots_work *work);

#endif
