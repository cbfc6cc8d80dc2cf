/* SPDX-License-Identifier: MIT */
/*
 * The kinds of allocation: the only list of them. A kind is part of a context, so allocations of
 * two kinds by one call stack are counted apart.
 */
#ifndef SEEP_LEDGER_KIND_H
#define SEEP_LEDGER_KIND_H

#include <stdbool.h>
#include <stdint.h>

/*
 * KIND(constant, name in reports, family, aligned). Numbered in this order, which is part of
 * ledgers, recordings and contexts' hashes: a new one goes to the end. Aligned: the caller gives an
 * alignment.
 */
#define LEDGER_KINDS(KIND)                                                              \
	KIND(MALLOC, "malloc", MALLOC, false)                                           \
	KIND(CALLOC, "calloc", MALLOC, false)                                           \
	KIND(REALLOC, "realloc", MALLOC, false)                                         \
	KIND(MEMALIGN, "memalign", MEMALIGN, true) /* and all of its relatives */       \
	KIND(NEW, "new", NEW, false)                                                    \
	KIND(NEW_ARRAY, "new[]", NEW_ARRAY, false)                                      \
	KIND(NEW_ALIGNED, "aligned new", NEW_ALIGNED, true)                             \
	KIND(NEW_ARRAY_ALIGNED, "aligned new[]", NEW_ARRAY_ALIGNED, true)               \
	KIND(FREE, "free", MALLOC, false) /* no allocation: where a finding was made */ \
	KIND(POOL, "pool", POOL, false)	  /* the program's own, out of a larger block */

#define LEDGER_KIND_CONSTANT(constant, name, family, aligned) LEDGER_KIND_##constant,
#define LEDGER_KIND_FAMILY(constant, name, family, aligned) LEDGER_FAMILY_##family,
#define LEDGER_KIND_ALIGNED(constant, name, family, aligned) aligned,

enum ledger_kind { LEDGER_KINDS(LEDGER_KIND_CONSTANT) LEDGER_KIND_COUNT };

/* Which functions may free a block; kept in its cell, in three bits. From NEW on: operators. */
enum ledger_family {
	LEDGER_FAMILY_MALLOC = 0,
	LEDGER_FAMILY_MEMALIGN,
	LEDGER_FAMILY_NEW,
	LEDGER_FAMILY_NEW_ARRAY,
	LEDGER_FAMILY_NEW_ALIGNED,
	LEDGER_FAMILY_NEW_ARRAY_ALIGNED,
	LEDGER_FAMILY_POOL, /* seep_pool_free() */
};

static inline enum ledger_family ledger_kind_family(enum ledger_kind kind)
{
	static const uint8_t families[] = { LEDGER_KINDS(LEDGER_KIND_FAMILY) };

	return (enum ledger_family)families[kind];
}

static inline bool ledger_kind_is_aligned(enum ledger_kind kind)
{
	static const bool are_aligned[] = { LEDGER_KINDS(LEDGER_KIND_ALIGNED) };

	return are_aligned[kind];
}

#endif
