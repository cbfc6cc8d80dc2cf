/* SPDX-License-Identifier: MIT */
/*
 * The leak scan: which live blocks can still be reached, from where, and by what kind of pointer.
 * Memory is read, and taken, through functions of the caller: of a stopped process or a copy of it.
 *
 *	scan_read_blocks(&scan, &memory, &options, &blocks);	to scan.blocks, by address
 *	scan_mark(&scan, roots, count);		in the order that reasons win
 *	scan_finish(&scan, &result);
 *
 * Nothing that is read is believed: the page map may be damaged or change while it is read.
 */
#ifndef SEEP_SCAN_SCAN_H
#define SEEP_SCAN_SCAN_H

#include "ledger/ledger_blocks.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct scan_memory {
	/*
	 * Memory at @address: a pointer to *@ret_bytes of it, 1 to @bytes, valid until the next
	 * call. NULL: none can be read there, for *@ret_bytes at least.
	 */
	const void *(*view)(void *user, uint64_t address, uint64_t bytes, uint64_t *ret_bytes);
	/* It will be asked for soon: have it fetched, if that is done without waiting. */
	void (*fetch)(void *user, uint64_t address);
	/* Zeroed, at a multiple of 4096, for as long as the scan; NULL: there is none. */
	void *(*allocate)(void *user, uint64_t bytes);
	void *user;
};

enum scan_error {
	SCAN_ENOMEM = 1, /* no memory to be had */
	SCAN_EBLOCKS,	 /* the page map makes no sense */
	SCAN_EROOM,	 /* it needs more memory than it may take: scan.need_bytes */
};

struct scan_range {
	uint64_t begin;
	uint64_t end;
};

struct scan_options {
	uint64_t blocks_max_bytes; /* of page map that may be read; bounds a damaged one */
	uint64_t memory_max_bytes; /* that the scan may take, and who judges its result */
	bool want_chains;	   /* keep for each block which word reached it: scan_chain() */
	/*
	 * How much of the @bytes at @address, from there on, was never touched and holds no
	 * pointer, so that a block that is huge and almost empty is soon done, and what cannot be
	 * read is not missed there. May be NULL.
	 */
	uint64_t (*untouched)(void *user, uint64_t address, uint64_t bytes);
	void *untouched_user;
	/* Mapped files of modules, by address, that do not touch: where C++ vtables may lie. */
	const struct scan_range *vtables;
	size_t vtable_count;
};

/* Where a pointer was found. In the order in which one wins over the next. */
enum scan_root_kind {
	SCAN_ROOT_NONE = 0,
	SCAN_ROOT_GLOBAL,   /* writable data of a module */
	SCAN_ROOT_TLS,	    /* a thread's control block and thread-local variables */
	SCAN_ROOT_REGION,   /* what the program registered */
	SCAN_ROOT_MAPPING,  /* any other writable mapping: mmap, shared memory, brk */
	SCAN_ROOT_EPOLL,    /* data that the kernel keeps for epoll */
	SCAN_ROOT_TIMER,    /* a value that the kernel keeps for a timer */
	SCAN_ROOT_REGISTER, /* of a thread */
	SCAN_ROOT_STACK,    /* from a thread's stack pointer outward */
	SCAN_ROOT_IGNORED,  /* an ignored block */
	SCAN_ROOT_COUNT,
};

/* How the pointer that reached a block points to it. Those below SCAN_RULE_WEAK keep it alive. */
enum scan_rule {
	SCAN_RULE_NONE = 0,
	SCAN_RULE_START,	 /* to its begin */
	SCAN_RULE_NEW_ARRAY,	 /* behind the count of new T[n] */
	SCAN_RULE_ZERO_ARRAY,	 /* new T[0]: to the end of a block that holds the count alone */
	SCAN_RULE_SECOND_BASE,	 /* to another base of a C++ object: both begin with a vtable */
	SCAN_RULE_STRING,	 /* to the text behind the header of a std::string or sds */
	SCAN_RULE_LENGTH,	 /* behind a word that holds the length of the rest */
	SCAN_RULE_HASH_TABLE,	 /* behind the buckets of a table of Rust's */
	SCAN_RULE_STACK_POINTER, /* a stack in a block, which a thread runs on */
	SCAN_RULE_THREAD_VECTOR, /* a thread's vector of thread-local storage */
	SCAN_RULE_WEAK,
	SCAN_RULE_INTERIOR = SCAN_RULE_WEAK, /* anywhere else into it */
	SCAN_RULE_LOW_TAG,		     /* to its begin, with low bits set */
	SCAN_RULE_UNREADABLE,		     /* from memory that the program may not read */
	SCAN_RULE_UNREAD,		     /* none was met, but some memory could not be read */
	/* Hints about lost blocks; these are never followed. */
	SCAN_RULE_HINTS,
	SCAN_RULE_HIGH_TAG = SCAN_RULE_HINTS, /* to its begin but for the uppermost 16 bits */
	SCAN_RULE_UNALIGNED,   /* to its begin, from an address that is no multiple of 8 */
	SCAN_RULE_LOST_BEFORE, /* to its begin, but it was lost before, and is as it was then */
	SCAN_RULE_COUNT,
};

enum scan_state {
	SCAN_LOST = 0,	/* no pointer to it but from lost blocks */
	SCAN_REACHABLE, /* by a chain of pointers that all keep alive */
	SCAN_MAYBE,	/* by a chain with a weak link only */
	SCAN_IGNORED,	/* the program said so, or it is reached from such a block only */
	SCAN_STATES,
};

/* There are many millions of them. */
struct scan_block {
	uint64_t address;
	uint64_t size;
	uint32_t row;
	uint8_t flags : 5; /* enum ledger_cell_flags */
	uint8_t marks : 2; /* enum ledger_cell_marks */
	uint8_t was_lost : 1;
	uint8_t state; /* enum scan_state, by scan_finish() */
	union {
		uint16_t lost;	      /* its cell's, until scan_mark() */
		struct {	      /* by scan_finish(): */
			uint8_t rule; /* of the pointer that reached it; of a lost one a hint */
			uint8_t root; /* enum scan_root_kind that its chain begins at */
		};
	};
};

/* A piece of the page map. */
struct scan_leaf {
	uint64_t address; /* that it stands for */
	uint64_t at;	  /* of the leaf itself */
};

struct scan_root {
	uint64_t begin; /* address; what cannot be read is passed over and noted */
	uint64_t end;
	/* The values themselves, e.g. registers, until the scan's end; NULL: read them at begin. */
	const uint64_t *words;
	uint32_t id;  /* the caller's: which thread, which mapping */
	uint8_t kind; /* enum scan_root_kind */
	/* What weak pointers from here count as; if it is weak itself, what all do. 0: as others. */
	uint8_t rule;
};

enum { SCAN_SKIPPED_MAX = 64 };

struct scan {
	struct scan_memory memory;
	struct scan_options options;
	struct scan_block *blocks; /* live ones, by address; none overlap */
	uint64_t block_count;
	struct scan_leaf *leaves;
	uint64_t leaf_count;
	uint64_t need_bytes;   /* of memory, by the blocks that were counted */
	uint64_t marked_bytes; /* of roots and blocks, that were looked through */
	uint64_t overlaps;     /* blocks left out since another one lies over them: a missed free */
	uint64_t strange;      /* cells that make no sense */
	struct scan_range skipped[SCAN_SKIPPED_MAX]; /* that could not be read, and is missed */
	uint64_t skipped_count;			     /* may be more */
	struct scan_private *private;		     /* index, work list, ... */
};

/*
 * Begin a scan and read the page map. @memory and @options are copied, but for the ranges. 0,
 * -SCAN_ENOMEM, -SCAN_EBLOCKS or -SCAN_EROOM.
 */
int scan_read_blocks(struct scan *scan, const struct scan_memory *memory,
		     const struct scan_options *options, const struct ledger_blocks *blocks);

/* The live block that @address is in, or NULL. One of 0 bytes has its begin alone. */
const struct scan_block *scan_find(const struct scan *scan, uint64_t address);

/*
 * Once: mark what is reachable from these roots, which are borrowed until scan_finish(). It follows
 * weak pointers, so that a chain without one wins.
 */
void scan_mark(struct scan *scan, const struct scan_root *roots, size_t count);

/* Lies in memory of the scan's. */
struct scan_result {
	struct scan_block *all; /* by address */
	uint64_t *from;		/* by block of these; read by scan_result_from() */
	uint64_t all_count;
	uint32_t *unreached; /* indices of those not SCAN_REACHABLE, which are numbered by it */
	uint64_t block_count;
	/*
	 * Pointers among them of any rule: edges[first_edge[i]] to edges[first_edge[i + 1]] of
	 * number i.
	 */
	uint32_t *first_edge;
	uint32_t *edges; /* numbers; none to itself, none twice in a row */
	bool is_blind;	 /* what is lost may be pointed to from memory that could not be read */
};

static inline struct scan_block *scan_result_block(const struct scan_result *result, uint64_t i)
{
	return &result->all[result->unreached[i]];
}

/* In from: the word is in a root. Never part of a user's address. */
#define SCAN_FROM_ROOT (UINT64_C(1) << 63)

/* Address of the word that reached number @i, or that hints at it; 0: none. */
static inline uint64_t scan_result_from(const struct scan_result *result, uint64_t i)
{
	return result->from[result->unreached[i]] & ~SCAN_FROM_ROOT;
}

static inline bool scan_result_in_root(const struct scan_result *result, uint64_t i)
{
	return result->from[result->unreached[i]] & SCAN_FROM_ROOT;
}

/* Follow weak pointers, then gather. 0, -SCAN_ENOMEM or -SCAN_EROOM. */
int scan_finish(struct scan *scan, struct scan_result *ret_result);

/* Where the cell of a block is, and what it is to say of that: ledger_cell_lost(). */
uint64_t scan_cell_at(const struct scan *scan, const struct scan_block *block);
uint16_t scan_cell_lost(const struct scan *scan, const struct scan_block *block);

/*
 * One step outward: the word at @from, in the block at @block (0: in a root), points to the block
 * before.
 */
struct scan_link {
	uint64_t from;
	uint64_t block;
	uint8_t rule;
	uint8_t root; /* of the last step */
};

/*
 * The chain that keeps the block at @address alive, from it outward. Returns how many steps it has;
 * of more than 2 * @half the first and the last @half are given. 0: the block is lost, or the scan
 * kept no chains.
 */
size_t scan_chain(const struct scan *scan, uint64_t address, struct scan_link *ret_links,
		  size_t half);

#endif
