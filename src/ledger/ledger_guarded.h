/* SPDX-License-Identifier: MIT */
/*
 * Blocks between guards. In front of the program's block stands one of the library's:
 *
 *	the next allocator's | header | front guard | the program's block | rear guard |
 *	                     32       guard_bytes                           guard_bytes, and up to 15
 *
 * The header is believed only if its tag says so, which is made of all that matters in it, of its
 * address and of a secret: no other memory passes for one, nor does a copy of one, or one that was
 * written over. Another process finds the secret in struct ledger_guards, and believes nothing else.
 */
#ifndef SEEP_LEDGER_LEDGER_GUARDED_H
#define SEEP_LEDGER_LEDGER_GUARDED_H

#include "core/bits.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* Eight of it are no address, and stand out in a debugger. */
enum { LEDGER_GUARD_FILL = 0xfd, LEDGER_GUARD_ALIGNMENT = 16, LEDGER_WAITING_MAX = 1 << 24 };

struct ledger_guarded {
	_Atomic uint64_t tag;
	uint64_t size; /* usable bytes, which are those requested */
	uint32_t
		distance; /* of the next allocator's block before ours, / 16; 0: not known any more */
	uint32_t freed_row; /* 0: not known */
	uint64_t cell;	    /* as it was, once the block was freed; 0: it was not recorded */
};

enum ledger_guarded_state {
	LEDGER_GUARDED_NONE, /* no such block */
	LEDGER_GUARDED_LIVE = 1,
	LEDGER_GUARDED_WAITING, /* freed by the program, and not by the library */
};

/* How blocks are guarded, in a process's private memory. Set at its start. */
struct ledger_guards {
	uint64_t seed;		/* the secret */
	uint32_t front_bytes;	/* header and front guard; 0: there are no such blocks */
	uint32_t waiting_byte;	/* what a block that waits is filled with */
	uint64_t waiting;	/* address of the list of those: of each the address, or 0 */
	uint64_t waiting_count; /* its entries, LEDGER_WAITING_MAX at most */
	uint64_t sampled_begin; /* no header is before blocks that begin there */
	uint64_t sampled_end;
};

/* The tag that the header of the block at @address has in this state. */
static inline uint64_t ledger_guarded_tag(uint64_t seed, uint64_t address,
					  const struct ledger_guarded *header,
					  enum ledger_guarded_state state)
{
	uint64_t hash = core_hash_step(seed, address);

	return core_hash_step(core_hash_step(hash, header->size), header->distance) + state;
}

static inline uint64_t ledger_guarded_rear_bytes(uint64_t guard_bytes, uint64_t size)
{
	return guard_bytes + (-size & (LEDGER_GUARD_ALIGNMENT - 1));
}

/* The first of @count @bytes that is not @byte; @count: all are. */
static inline size_t ledger_guarded_first_other(const uint8_t *bytes, size_t count, uint8_t byte)
{
	size_t at = 0;

	if (count && bytes[0] == byte && __builtin_memcmp(bytes, bytes + 1, count - 1) == 0)
		return count;
	while (at < count && bytes[at] == byte)
		at++;
	return at;
}

_Static_assert(sizeof(struct ledger_guarded) == 32, "header layout");

#endif
