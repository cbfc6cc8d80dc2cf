/* SPDX-License-Identifier: MIT */
#include "runtime/unwind/rules.h"

#include "runtime/sys/sys.h"
#include "runtime/unwind/modules.h"
#include "runtime/unwind/stack.h"

_Atomic(struct rt_rule_table *) rt_rule_table;
_Atomic uint32_t rt_generation;

enum { FIRST_ENTRIES = 1 << 13, LAST_ENTRIES = 1 << 22 };

/* ---- tables that were given up ------------------------------------------------------------- */

/*
 * Such a table stays mapped, for readers that hold it, but gives all its pages back: mask and keys
 * then read 0, which is a miss. It is used again, so that a program that loads and unloads for ever
 * needs no more address space either, but not before every thread has been seen outside of its
 * hooks once: a reader that is between key and rule would find another key's rule. (Its busy word
 * and its load of the table are ordered by nothing. But a table is looked at only when the next one
 * is full or void, and that takes longer than a store does to become visible.) A thread that
 * stays inside (it left by longjmp and allocates no more) keeps tables from being used again, not
 * more. What is beyond the list is forgotten.
 */
enum { GIVEN_UP_MAX = 64 };

static struct given_up {
	struct rt_rule_table *table;
	uint64_t bytes;
	uint32_t caches; /* of these threads the first ones have not been seen outside yet */
} given_up[GIVEN_UP_MAX];
static uint32_t given_up_count;
/* A thread id; not waited for. */
static _Atomic uint32_t list_owner;

/* What a vanished owner left half done is forgotten: the list begins anew. */
static bool list_enter(uint32_t tid)
{
	uint32_t owner = 0;

	if (atomic_compare_exchange_strong_explicit(&list_owner, &owner, tid, memory_order_acquire,
						    memory_order_relaxed))
		return true;
	if (!rt_is_gone(rt_global.pid, owner) ||
	    !atomic_compare_exchange_strong_explicit(&list_owner, &owner, tid, memory_order_acquire,
						     memory_order_relaxed))
		return false;
	given_up_count = 0;
	return true;
}

static void list_leave(void)
{
	rt_store_release(&list_owner, 0);
}

void rt_rules_recover(uint32_t tid)
{
	if (rt_load(&list_owner) != tid)
		return;
	given_up_count = 0;
	list_leave();
}

/* Called in a hook; this thread holds no table. A forked child has only this thread. */
static bool is_outside(uint32_t index)
{
	struct rt_presence *_Atomic *threads = rt_load_acquire(&rt_global.threads);
	struct rt_presence *thread;
	uint32_t owner;

	if (!threads || index >= rt_load(&rt_global.control->caches))
		return true;
	thread = rt_load_acquire(&threads[index]);
	if (!thread || rt_load_acquire(&thread->busy) == 0)
		return true;
	owner = rt_load(&rt_global.caches[index].owner_tid);
	return owner == rt_gettid() || rt_is_gone(rt_global.pid, owner);
}

static void table_give_up(struct rt_rule_table *table)
{
	uint64_t bytes = table->map_bytes;

	rt_empty_table(table, 0, bytes);
	rt_add(&rt_global.state->private_bytes, -bytes);
	if (!list_enter(rt_gettid()))
		return;
	if (given_up_count < GIVEN_UP_MAX)
		given_up[given_up_count++] = (struct given_up){
			.table = table,
			.bytes = bytes,
			.caches = rt_load(&rt_global.control->caches),
		};
	list_leave();
}

/* NULL: none of this size can be used again yet. */
static struct rt_rule_table *table_again(uint64_t bytes)
{
	struct rt_rule_table *table = NULL;

	if (!list_enter(rt_gettid()))
		return NULL;
	for (uint32_t i = 0; i < given_up_count && !table; i++) {
		struct given_up *old = &given_up[i];

		while (old->caches && is_outside(old->caches - 1))
			old->caches--;
		if (old->caches || old->bytes != bytes)
			continue;
		table = old->table;
		*old = given_up[--given_up_count];
	}
	list_leave();
	if (!table)
		return NULL;
	/* Who was late may have added a rule after it was emptied. */
	rt_empty_table(table, 0, bytes);
	rt_add(&rt_global.state->private_bytes, bytes);
	return table;
}

/* ---- the table ----------------------------------------------------------------------------- */

static struct rt_rule_table *table_new(uint64_t entries)
{
	size_t bytes = sizeof(struct rt_rule_table) + entries * sizeof(struct rt_rule_entry);
	struct rt_rule_table *table = table_again(bytes);

	if (!table)
		table = rt_mmap(bytes);
	if (table) {
		table->mask = entries - 1;
		table->map_bytes = bytes;
	}
	return table;
}

/*
 * Replace a table that is three quarters full by an empty one; its entries are compiled again as
 * they are met. It is twice the size only if a single generation filled the old one: a program
 * that loads and unloads for ever needs no more room for it. The old one's figures may read 0.
 */
static struct rt_rule_table *table_grow(struct rt_rule_table *old)
{
	uint64_t generation = rt_load(&rt_generation);
	uint64_t entries = old ? old->mask + 1 : FIRST_ENTRIES;
	struct rt_rule_table *table;

	/* Given up meanwhile. */
	if (entries == 1)
		return atomic_load_explicit(&rt_rule_table, memory_order_acquire);
	if (old && old->generation == generation && entries < LAST_ENTRIES)
		entries *= 2;
	table = table_new(entries);
	if (!table)
		return old;
	table->generation = generation;
	if (!atomic_compare_exchange_strong_explicit(&rt_rule_table, &old, table,
						     memory_order_acq_rel, memory_order_acquire)) {
		table_give_up(table);
		return old;
	}
	if (old)
		table_give_up(old);
	return table;
}

void rt_rules_forget(void)
{
	struct rt_rule_table *table = atomic_exchange_explicit(&rt_rule_table, NULL,
							       memory_order_acq_rel);

	if (table)
		table_give_up(table);
}

static void table_insert(uint64_t key, rt_rule rule)
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

/* No table covers the pc; becomes one of the two rules that there are for that. */
#define RULE_NO_TABLE ((rt_rule)2 << 32)

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

/* @loaded: the code is some module's, and can be read where it is, within its page. */
static bool follows_call(uintptr_t pc, bool loaded)
{
	unsigned in_page = (unsigned)((pc - 1) & 4095) + 1;
	uint8_t code[7];

	if (in_page > sizeof(code))
		in_page = sizeof(code);
	if (loaded)
		return ends_in_call((const uint8_t *)pc, in_page);
	if (rt_read_memory(pc - sizeof(code), code, sizeof(code)))
		return ends_in_call(code + sizeof(code), sizeof(code));
	/* The page before may not be there. */
	return rt_read_memory(pc - in_page, code, in_page) && ends_in_call(code + in_page, in_page);
}

static rt_rule pack(cfi_rule rule)
{
	enum cfi_kind kind = cfi_rule_kind(rule);
	int32_t cfa_offset = cfi_rule_cfa_offset(rule);
	int32_t fp_offset = cfi_rule_fp_offset(rule);
	uint32_t flags = 0;

	/* Where fp is saved is inside the frame, or beside FP: never out of reach. */
	if (kind == CFI_NONE || fp_offset < -RT_RULE_FP_OFFSET_MAX ||
	    fp_offset >= (kind == CFI_DRAP ? RT_RULE_FP_OFFSET_MAX : 1))
		return RT_RULE_NONE;
	if (kind == CFI_SP && cfa_offset > 0 && cfa_offset <= RT_FRAME_BYTES_PLAUSIBLE &&
	    !(cfa_offset & 7))
		flags |= RT_RULE_FAST;
	if (kind == CFI_DRAP ||
	    ((kind == CFI_SP || kind == CFI_FP || kind == CFI_SP_MEMORY) && fp_offset != 0))
		flags |= RT_RULE_SAVES_FP;
	if (kind == CFI_FP || kind == CFI_DRAP)
		flags |= RT_RULE_USES_FP;
	if (kind == CFI_DRAP || kind == CFI_SP_MEMORY)
		flags |= RT_RULE_READS_CFA;
	return rt_rule_pack(kind, flags, cfa_offset, fp_offset);
}

/*
 * makecontext() gives its function a return address that is the first byte of a stub behind a
 * gap: nobody called from there, so the gap has no rule, and the stack ends.
 */
static rt_rule compile(const struct cfi_module *module, uintptr_t pc, bool exact)
{
	cfi_rule rule, at_pc;

	switch (cfi_compile(module, pc, exact, &rule)) {
	case CFI_FOUND:
		return pack(rule);
	case CFI_MISS_PC:
		if (!exact && cfi_compile(module, pc, true, &at_pc) == CFI_FOUND)
			return rt_rule_pack(CFI_STOP, 0, 0, 0);
		return RULE_NO_TABLE;
	case CFI_MISS_TABLE:
		return RULE_NO_TABLE;
	default:
		return RT_RULE_NONE;
	}
}

static bool is_code_address(uintptr_t pc)
{
	return pc >= 4096 && !(pc >> RT_PC_BITS);
}

rt_rule rt_rule_compile(uintptr_t pc, bool exact)
{
	struct cfi_module module;
	rt_rule rule = RULE_NO_TABLE;
	uint32_t flags = 0;
	bool loaded;

	if (!is_code_address(pc))
		return RT_RULE_NONE;
	loaded = rt_module_find(exact ? pc : pc - 1, &module);
	if (loaded)
		rule = compile(&module, pc, exact);
	else
		flags |= RT_RULE_NO_MODULE;
	if (!exact && follows_call(pc, loaded))
		flags |= RT_RULE_AFTER_CALL;
	if (rule != RULE_NO_TABLE)
		return rule | flags;
	/* Generated code, or assembly without tables. */
	if (!(flags & RT_RULE_AFTER_CALL))
		return RT_RULE_NONE | flags;
	return rt_rule_pack(RT_RULE_FOLLOWS_FP, RT_RULE_USES_FP | RT_RULE_SAVES_FP | flags, 16,
			    -16);
}

rt_rule rt_rule_make(uintptr_t pc, bool exact, uint32_t generation)
{
	rt_rule rule;

	if (!is_code_address(pc))
		return RT_RULE_NONE;
	/*
	 * A module that replaced another one advances the generation; the rule is then right for
	 * this walk and added under a key that nobody asks for again.
	 */
	rt_module_remember(exact ? pc : pc - 1);
	rule = rt_rule_compile(pc, exact);
	if (rule & RT_RULE_NO_MODULE)
		rt_store(&rt_generated_met, 1);
	table_insert(rt_rule_key(pc, exact, generation), rule);
	return rule;
}
