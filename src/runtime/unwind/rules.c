/* SPDX-License-Identifier: MIT */
#include "runtime/unwind/rules.h"

#include "runtime/life/sys.h"
#include "runtime/unwind/modules.h"
#include "runtime/unwind/stack.h"

#include <sys/mman.h>

_Atomic(struct rt_rule_table *) rt_rule_table;
_Atomic uint32_t rt_generation;

enum { FIRST_ENTRIES = 1 << 13, LAST_ENTRIES = 1 << 22 };

static struct rt_rule_table *table_new(uint64_t entries)
{
	size_t bytes = sizeof(struct rt_rule_table) + entries * sizeof(struct rt_rule_entry);
	struct rt_rule_table *table = rt_mmap(bytes);

	if (table) {
		table->mask = entries - 1;
		table->map_bytes = bytes;
	}
	return table;
}

/*
 * Replace a table that is three quarters full by an empty one; its entries are compiled again as they are met. It
 * is twice the size only if a single generation filled the old one: a program that loads and
 * unloads for ever needs no more room for it. The old one stays mapped, for readers that hold
 * it, but gives its pages back: its keys then read 0, which is a miss.
 */
static struct rt_rule_table *table_grow(struct rt_rule_table *old)
{
	uint64_t generation = rt_load(&rt_generation);
	uint64_t entries = old ? old->mask + 1 : FIRST_ENTRIES;
	struct rt_rule_table *table;

	if (old && old->generation == generation && entries < LAST_ENTRIES)
		entries *= 2;
	table = table_new(entries);
	if (!table)
		return old;
	table->generation = generation;
	if (!atomic_compare_exchange_strong_explicit(&rt_rule_table, &old, table,
						     memory_order_acq_rel, memory_order_acquire)) {
		rt_munmap(table, table->map_bytes);
		return old;
	}
	if (old) {
		uintptr_t pages = ((uintptr_t)old + 4095) & ~(uintptr_t)4095;

		/* The first page keeps the mask, which readers use. */
		if (pages == (uintptr_t)old)
			pages += 4096;
		(void)rt_syscall3(SYS_madvise, (long)pages,
				  (long)((uintptr_t)old + old->map_bytes - pages), MADV_DONTNEED);
	}
	return table;
}

static void table_insert(uint64_t key, cfi_rule rule)
{
	struct rt_rule_table *table = atomic_load_explicit(&rt_rule_table, memory_order_acquire);
	uint64_t place = rt_rule_place(key);

	if (!table || rt_load(&table->used) * 4 > table->mask * 3)
		table = table_grow(table);
	if (!table)
		return;
	for (unsigned i = 0; i < RT_RULE_PROBES; i++) {
		struct rt_rule_entry *entry = &table->entries[(place + i) & table->mask];
		uint64_t expected = 0;

		if (!atomic_compare_exchange_strong_explicit(&entry->key, &expected,
							     RT_RULE_RESERVED, memory_order_relaxed,
							     memory_order_relaxed)) {
			if (expected == key)
				return;
			continue;
		}
		rt_add(&table->used, 1);
		rt_store(&entry->rule, rule);
		rt_store_release(&entry->key, key);
		return;
	}
	/* A cluster this long: let the next growth spread it. */
	rt_add(&table->used, RT_RULE_PROBES);
}

/* The forms of a call, by the bytes before the return address: e8, and ff /2 with its operand. */
static bool ends_in_call(const uint8_t *end, unsigned bytes)
{
	static const uint8_t indirect[] = { 2, 3, 4, 6, 7 };

	if (bytes >= 5 && end[-5] == 0xe8)
		return true;
	for (unsigned i = 0; i < sizeof(indirect) && indirect[i] <= bytes; i++)
		if (end[-indirect[i]] == 0xff && (end[1 - indirect[i]] & 0x38) == 0x10)
			return true;
	return false;
}

/* Generated code, or assembly without tables: does a call stand before @pc? */
static cfi_rule rule_without_table(uintptr_t pc)
{
	uint8_t code[7];
	unsigned bytes = sizeof(code);

	if (!rt_read_memory(pc - bytes, code, bytes)) {
		/* The page before may not be code. */
		bytes = (unsigned)((pc - 1) & 4095) + 1;
		if (bytes >= sizeof(code) || !rt_read_memory(pc - bytes, code, bytes))
			return RT_RULE_NONE;
	}
	return ends_in_call(code + bytes, bytes) ? RT_RULE_TRUSTS_FP : RT_RULE_NONE;
}

/*
 * makecontext() gives its function a return address that is the first byte of a stub behind a
 * gap: nobody called from there, so the gap has no rule, and the stack ends.
 */
static cfi_rule compile(const struct cfi_module *module, uintptr_t pc, bool exact)
{
	cfi_rule rule, at_pc;

	switch (cfi_compile(module, pc, exact, &rule)) {
	case CFI_FOUND:
		return rule;
	case CFI_MISS_PC:
		if (!exact && cfi_compile(module, pc, true, &at_pc) == CFI_FOUND)
			return cfi_rule_make(CFI_STOP, 0, 0);
		break;
	case CFI_MISS_TABLE:
		break;
	default:
		return RT_RULE_NONE;
	}
	return exact ? RT_RULE_NONE : rule_without_table(pc);
}

static bool is_code_address(uintptr_t pc)
{
	return pc >= 4096 && !(pc >> RT_PC_BITS);
}

cfi_rule rt_rule_compile(uintptr_t pc, bool exact)
{
	struct cfi_module module;

	if (!is_code_address(pc))
		return RT_RULE_NONE;
	if (!rt_module_find(exact ? pc : pc - 1, &module))
		return exact ? RT_RULE_NONE : rule_without_table(pc);
	return compile(&module, pc, exact);
}

cfi_rule rt_rule_make(uintptr_t pc, bool exact, uint32_t generation)
{
	cfi_rule rule;

	if (!is_code_address(pc))
		return RT_RULE_NONE;
	/*
	 * A module that replaced another one advances the generation; the rule is then right for
	 * this walk and entered under a key that nobody asks for again.
	 */
	rt_module_remember(exact ? pc : pc - 1);
	rule = rt_rule_compile(pc, exact);
	table_insert(rt_rule_key(pc, exact, generation), rule);
	return rule;
}
