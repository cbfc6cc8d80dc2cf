/* SPDX-License-Identifier: MIT */
/*
 * What whoever looks through a process's memory has to know of it, in its own private memory:
 * header.blocks.facts of its ledger is the address. Written by libseep.so; a reader believes
 * nothing.
 */
#ifndef SEEP_LEDGER_LEDGER_FACTS_H
#define SEEP_LEDGER_LEDGER_FACTS_H

#include "ledger/ledger_guarded.h"

#include <stdatomic.h>
#include <stdint.h>

enum {
	LEDGER_OWN_MAX = 8192,	   /* ranges of libseep.so's memory */
	LEDGER_TAKEN_MAX = 256,	   /* ranges that the program took by brk() or sbrk() itself */
	LEDGER_REGIONS_MAX = 1024, /* that it registered as roots */
	LEDGER_EXIT_REGISTERS = 6, /* rbx, rbp, r12 to r15 */
};

/* Changed as a whole. */
struct ledger_range {
	_Alignas(16) _Atomic uint64_t begin; /* 0: none */
	_Atomic uint64_t end;
};

/*
 * A list has count entries, of which some may be none; entries may lie over each other. More were
 * met than it holds: count > its maximum.
 */
struct ledger_facts {
	uint32_t bytes; /* sizeof(struct ledger_facts) */
	_Atomic uint32_t own_count;
	_Atomic uint32_t taken_count;
	_Atomic uint32_t region_count;

	/*
	 * Of the thread that is in exit(), or waits for a leak scan: what its caller had. Void
	 * while exit_tid is 0.
	 */
	_Atomic uint32_t exit_tid;
	uint32_t spare;
	_Atomic uint64_t exit_stack; /* stack pointer at the entry of exit(): its return address */
	_Atomic uint64_t exit_registers[LEDGER_EXIT_REGISTERS];
	/*
	 * The library's memory, its variables, the ledger and what guards them included: addresses
	 * of blocks there are no roots.
	 */
	struct ledger_range own[LEDGER_OWN_MAX];
	struct ledger_range taken[LEDGER_TAKEN_MAX];
	struct ledger_range regions[LEDGER_REGIONS_MAX];
	struct ledger_guards guards;
};

#endif
