/* SPDX-License-Identifier: MIT */
/* What a ledger says of scopes, beside what contexts say of what was allocated in them. */
#ifndef SEEP_LEDGER_LEDGER_SCOPE_H
#define SEEP_LEDGER_LEDGER_SCOPE_H

#include "ledger/ledger.h"

/* A tag under those that were open when it was opened. */
struct ledger_scope {
	_Atomic uint32_t ready; /* 1 once filled */
	uint32_t parent;	/* index + 1; 0 = none was open */
	struct ledger_string tag;
};

enum { LEDGER_DURATION_BUCKETS = 40 };

/* How often and for how long a scope was open. Of one thread, whoever has its cache; written by it only. */
struct ledger_entries {
	_Atomic uint32_t scope; /* index + 1; 0 = not published */
	uint32_t spare;
	_Atomic uint64_t entries;
	_Atomic uint64_t exits;
	/* Of those that were left, without a tag's that was open already further out. */
	_Atomic uint64_t wall_ns;
	_Atomic uint64_t cpu_ns;
	_Atomic uint64_t least_ns; /* + 1; 0 = none was left */
	_Atomic uint64_t most_ns;
	_Atomic uint64_t first_ns; /* when it was first entered */
	_Atomic uint64_t last_ns;  /* when it was last left */
	/* Frees while it was the innermost: of what was allocated under the same tag, and of the rest. */
	_Atomic uint64_t own_frees;
	_Atomic uint64_t own_freed_bytes;
	_Atomic uint64_t foreign_frees;
	_Atomic uint64_t foreign_freed_bytes;
	_Atomic uint64_t histogram[LEDGER_DURATION_BUCKETS]; /* [i]: those < 2^i ns */
};

_Static_assert(sizeof(struct ledger_scope) == 16, "scope layout");
_Static_assert(sizeof(struct ledger_entries) == 424, "entries layout");

#endif
