/* SPDX-License-Identifier: MIT */
/*
 * Code beside a module whose own allocator is recorded: what attaching writes into the process so that
 * calls inside the module lead to libseep.so. It lies in a mapping of its own, near the module, and stays
 * there: a thread may stand in it at any time. Who detaches finds by it what to put back.
 */
#ifndef SEEP_LEDGER_ENTRY_H
#define SEEP_LEDGER_ENTRY_H

#include <stdint.h>

enum {
	LEDGER_ENTRY_PATCH_BYTES = 5, /* a jump */
	LEDGER_ENTRY_BEFORE_BYTES = 24,
	LEDGER_ENTRY_CODE_BYTES = 64,
	LEDGER_ENTRY_STUB_BYTES = 16,
	LEDGER_ENTRIES_MAX = 56, /* of one module */
	LEDGER_ENTRY_MODULES_MAX = 4,
};

/* What a function does, by its arguments. */
enum ledger_entry_form {
	LEDGER_ENTRY_ALLOC = 1,	  /* (bytes, …) */
	LEDGER_ENTRY_ALLOC_MANY,  /* (count, bytes, …) */
	LEDGER_ENTRY_ALIGNED,	  /* (alignment, bytes, …) */
	LEDGER_ENTRY_POSIX,	  /* (where the block is written, alignment, bytes) */
	LEDGER_ENTRY_RESIZE,	  /* (block, bytes, …) */
	LEDGER_ENTRY_RESIZE_MANY, /* (block, count, bytes, …) */
	LEDGER_ENTRY_FREE,	  /* (block, …) */
};

struct ledger_entry {
	uint64_t function; /* where it begins, */
	uint64_t at;	   /* and where the jump is put: behind an endbr64 */
	uint64_t next;	   /* @code, by which the function itself is called */
	uint64_t hook;	   /* where the stub leads: the library's to fill in */
	uint32_t form;	   /* enum ledger_entry_form */
	uint32_t bytes;	   /* that the jump takes the place of: whole instructions */
	uint8_t before[LEDGER_ENTRY_BEFORE_BYTES]; /* what stood there */
	uint8_t stub[LEDGER_ENTRY_STUB_BYTES];	   /* where the jump leads */
	uint8_t code[LEDGER_ENTRY_CODE_BYTES];	   /* these instructions, and a jump behind them */
};

#define LEDGER_ENTRY_MAGIC UINT64_C(0x31656e7472706565)

struct ledger_entry_page {
	uint64_t magic;
	uint64_t module; /* where it begins */
	uint64_t count;
	struct ledger_entry items[LEDGER_ENTRIES_MAX];
};

enum { LEDGER_ENTRY_PAGE_BYTES = 8192 }; /* that are mapped */
_Static_assert(sizeof(struct ledger_entry_page) <= LEDGER_ENTRY_PAGE_BYTES, "one mapping");

#endif
