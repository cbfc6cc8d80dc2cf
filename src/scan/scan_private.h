/* SPDX-License-Identifier: MIT */
/*
 * What the parts of a scan share. Memory is taken zeroed and becomes real where it is touched, so
 * that arrays by block cost what is used of them.
 */
#ifndef SEEP_SCAN_SCAN_PRIVATE_H
#define SEEP_SCAN_SCAN_PRIVATE_H

#include "scan/scan.h"
#include "scan/scan_index.h"

/* In from: the word is in a root. Never part of a user's address. */
#define SCAN_FROM_ROOT (UINT64_C(1) << 63)

enum {
	SCAN_WORDS_AT_ONCE = 256,
	SCAN_HOLES_MAX = 1 << 20, /* views that may fail, one by one */
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
struct scan_fate {
	uint32_t size; /* UINT32_MAX: that or more */
	uint8_t state, rule, root, spare;
};

struct scan_private {
	struct scan_index index;
	struct scan_fate *fates; /* by block */
	uint64_t *from;		 /* by block: the word that reached it */
	struct scan_range *todo; /* of blocks that are reached: not looked through yet */
	uint32_t *weak;		 /* blocks that weak pointers point to */
	uint64_t todo_count;
	uint64_t weak_count;
	uint64_t ignored_count;	       /* blocks marked LEDGER_CELL_IGNORED */
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

#endif
