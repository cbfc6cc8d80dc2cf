/* SPDX-License-Identifier: MIT */
/*
 * The shared table of unwind rules: (program counter, generation) → rule, compiled once from
 * .eh_frame and then only read. Lock-free: an entry is reserved by a compare-and-swap of its key,
 * the rule stored, the key released; nothing is overwritten. A reservation that never completes
 * (its thread was killed by a fork) costs one entry and matches nothing.
 */
#ifndef SEEP_RUNTIME_RULES_H
#define SEEP_RUNTIME_RULES_H

#include "cfi/cfi.h"
#include "runtime/rt.h"

struct rt_rule_entry {
	_Atomic uint64_t key;
	_Atomic uint64_t rule;
};

struct rt_rule_table {
	uint64_t mask;
	_Atomic uint64_t used;
	uint64_t map_bytes;
	uint64_t generation; /* in which it was made */
	struct rt_rule_entry entries[];
};

enum { RT_PC_BITS = 47, RT_RULE_PROBES = 48 };
#define RT_RULE_RESERVED 1ull

extern _Atomic(struct rt_rule_table *) rt_rule_table;
/* Advanced when a module may have gone: rules and remembered walks of older ones are void. */
extern _Atomic uint32_t rt_generation;

/* generation 16 bits | exact 1 bit | pc 47 bits; pc >= 4096, so never 0 or RESERVED. */
static inline uint64_t rt_rule_key(uintptr_t pc, bool exact, uint32_t generation)
{
	return (uint64_t)generation << 48 | (uint64_t)exact << RT_PC_BITS | pc;
}

static inline uint64_t rt_rule_place(uint64_t key)
{
	return (key * 0x9e3779b97f4a7c15ull) >> 32;
}

/*
 * Two more rules beside those that src/cfi makes. Neither is zero: a zero in the table is a miss.
 * There is none for this pc; and: no table covers it, but a call stands before it, so that the
 * frame pointer may be followed if it points into the stack.
 */
#define RT_RULE_NONE cfi_rule_make(CFI_NONE, 1, 0)
#define RT_RULE_TRUSTS_FP cfi_rule_make((enum cfi_kind)7, 0, 0)

static inline bool rt_rule_trusts_fp(cfi_rule rule)
{
	return rule == RT_RULE_TRUSTS_FP;
}

/* Compile the rule for @pc and enter it. */
RT_COLD cfi_rule rt_rule_make(uintptr_t pc, bool exact, uint32_t generation);

/* The same without entering it anywhere: for code that interrupted our own. */
RT_COLD cfi_rule rt_rule_compile(uintptr_t pc, bool exact);

static inline bool rt_rule_seek(uint64_t key, cfi_rule *ret_rule)
{
	struct rt_rule_table *table = atomic_load_explicit(&rt_rule_table, memory_order_acquire);

	if (RT_LIKELY(table != NULL)) {
		uint64_t place = rt_rule_place(key);

		for (unsigned i = 0; i < RT_RULE_PROBES; i++) {
			struct rt_rule_entry *entry = &table->entries[(place + i) & table->mask];
			uint64_t seen = rt_load_acquire(&entry->key);

			if (RT_LIKELY(seen == key)) {
				/* Zero: the table has been given up meanwhile. */
				*ret_rule = rt_load(&entry->rule);
				return RT_LIKELY(*ret_rule != 0);
			}
			if (seen == 0)
				break;
		}
	}
	return false;
}

/* The rule for @pc in @generation. Any thread. */
static inline cfi_rule rt_rule_find(uintptr_t pc, bool exact, uint32_t generation)
{
	cfi_rule rule;

	if (RT_LIKELY(rt_rule_seek(rt_rule_key(pc, exact, generation), &rule)))
		return rule;
	return rt_rule_make(pc, exact, generation);
}

static inline cfi_rule rt_rule_peek(uintptr_t pc, bool exact, uint32_t generation)
{
	cfi_rule rule;

	if (rt_rule_seek(rt_rule_key(pc, exact, generation), &rule))
		return rule;
	return rt_rule_compile(pc, exact);
}

#endif
