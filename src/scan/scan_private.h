/* SPDX-License-Identifier: MIT */
/*
 * What the parts of a scan share. Memory is taken zeroed and becomes real where it is touched, so
 * that arrays by block cost what is used of them.
 */
#ifndef SEEP_SCAN_SCAN_PRIVATE_H
#define SEEP_SCAN_SCAN_PRIVATE_H

#include "scan/scan.h"
#include "scan/scan_index.h"

enum {
	SCAN_WORDS_AT_ONCE = 256,
	SCAN_HOLES_MAX = 1 << 20, /* views that may fail, one by one */
	/* Of an unreached block: first_edge, and what components.c and verdicts.c take. */
	SCAN_UNREACHED_BYTES = 4 + 17 + 18,
};

/* A word that may point to a block. */
struct scan_word {
	uint64_t to;
	uint64_t from;	/* where it was found, with SCAN_FROM_ROOT */
	uint32_t entry; /* of the index */
	uint32_t block; /* the last one that begins at or below it */
};

/*
 * What the marker knows of a block; so small that of a million blocks it stays in the processor's
 * cache. scan_finish() tells scan->blocks.
 */
union scan_fate {
	struct {
		uint8_t words; /* of its size; SCAN_WORDS_MAX: that or more */
		uint8_t state, rule, root;
	};
	uint32_t number; /* in the result, once it is told */
};

/* A block of the work list is its address and, from this bit on, its fate's words. */
enum { SCAN_WORK_SHIFT = 48, SCAN_WORDS_MAX = UINT8_MAX };

/* One of them that is looked through in part. */
struct scan_part {
	uint64_t at;	/* the rest begins here */
	uint64_t depth; /* of its place on the list */
};

struct scan_private {
	struct scan_index index;
	union scan_fate *fates;	 /* by block */
	uint64_t *from;		 /* by block: the word that reached it */
	uint64_t *todo;		 /* blocks that are reached and not looked through yet */
	struct scan_part *parts; /* of these */
	uint32_t *weak;		 /* blocks that weak pointers point to */
	uint64_t todo_count;
	uint64_t part_count;
	uint64_t weak_count;
	uint64_t ignored_count; /* blocks marked LEDGER_CELL_IGNORED */
	uint64_t lost_count;	/* blocks that were lost before */
	unsigned granule_shift;
	const struct scan_root *roots; /* for a second look */
	size_t root_count;
	uint64_t holes_left;
	bool replaced_new; /* operator new[] may be the program's own, that calls malloc */
	bool quiet;	   /* what cannot be read has been noted already */
	struct scan_word words[SCAN_WORDS_AT_ONCE];
};

static inline void *scan_take(const struct scan *scan, uint64_t count, uint64_t size)
{
	if (count > (UINT64_C(1) << LEDGER_ADDRESS_BITS) / size)
		return NULL;
	return scan->memory.allocate(scan->memory.user, count ? count * size : size);
}

/* memory.view() with its promises kept. */
static inline const uint8_t *scan_view(const struct scan *scan, uint64_t address, uint64_t bytes,
				       uint64_t *ret_bytes)
{
	const uint8_t *data;

	*ret_bytes = 0;
	data = scan->memory.view(scan->memory.user, address, bytes, ret_bytes);
	if (!*ret_bytes) {
		*ret_bytes = LEDGER_PAGE_BYTES - (address & (LEDGER_PAGE_BYTES - 1));
		data = NULL;
	}
	if (*ret_bytes > bytes)
		*ret_bytes = bytes;
	return data;
}

/* False if some of it cannot be read. */
static inline bool scan_copy(const struct scan *scan, uint64_t address, void *to, uint64_t bytes)
{
	while (bytes) {
		uint64_t some;
		const uint8_t *data = scan_view(scan, address, bytes, &some);

		if (!data)
			return false;
		__builtin_memcpy(to, data, some);
		to = (uint8_t *)to + some;
		address += some;
		bytes -= some;
	}
	return true;
}

static inline bool scan_read_word(const struct scan *scan, uint64_t address, uint64_t *ret_word)
{
	return scan_copy(scan, address, ret_word, sizeof(*ret_word));
}

/*
 * scan_look.c: looks through memory for words that may point to blocks, and hands them on by the
 * batch: a batch has its look-ups under way at once, and may read elsewhere when a view's time is
 * over.
 */
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
	bool sees_lost; /* a pointer from here is new, and shows that somebody knows the block */
	uint32_t block; /* that is looked through */
};

/* For any block, at aligned words. */
struct scan_look scan_look_for_blocks(struct scan *scan, void (*take)(struct scan_look *look));

/*
 * From @begin to @end, until a batch is full: how far it came. What cannot be read is passed over.
 * The caller hands the batch on.
 */
uint64_t scan_look_some(struct scan_look *look, uint64_t begin, uint64_t end);

/* The same of a root, whose words may be in our memory. */
uint64_t scan_look_at_root(struct scan_look *look, const struct scan_root *root, uint64_t begin);

/* Hand on what was found. */
void scan_look_end(struct scan_look *look);

/*
 * scan_mark.c: from what is reached to what that points to, with a list of blocks, no recursion.
 *
 * Mark a block that has no state, which the word in private->from reached, and all that it leads
 * to. Unless @state is SCAN_REACHABLE, weak pointers count.
 */
void scan_mark_from(struct scan *scan, uint32_t block, enum scan_state state, uint8_t root,
		    uint8_t rule);

/*
 * scan_lost.c: what an earlier scan found lost stays lost. All of it was unreachable then, so that
 * a pointer that is found now was either in memory that nobody used (a freed block, a stack that
 * has grown since), and is an old word; or somebody had hidden it. An old word leads nowhere: such
 * blocks are set apart before roots are marked. Hidden ones come back where the block has changed
 * since, or a pointer to it is in memory that was looked at then, too.
 */
void scan_lost_set_apart(struct scan *scan);
void scan_lost_take_back(struct scan *scan, uint32_t block, uint64_t to);

static inline bool scan_lost_is_apart(const union scan_fate *fate)
{
	return fate->state == SCAN_LOST && fate->rule == SCAN_RULE_LOST_BEFORE;
}

/* The bits around the begin of a block that the index has. */
static inline struct scan_page *scan_page_of(const struct scan *scan, uint64_t address)
{
	const struct scan_index *index = &scan->private->index;

	return &index->records[scan_index_entry(index, address) - 1];
}

/*
 * scan_rules.c: what kind of pointer an address is to the block around it: pointers that C++, its
 * library and others keep instead of one to the begin are told by what the block holds there.
 *
 * The rule by which @address, which is not the begin of @block, points to it. SCAN_RULE_NONE: it
 * does not, it is behind its end. Reads memory by scan->memory.
 */
enum scan_rule scan_rule_of(const struct scan *scan, const struct scan_block *block,
			    uint64_t address);

#endif
