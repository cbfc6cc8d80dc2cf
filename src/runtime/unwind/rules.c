/* SPDX-License-Identifier: MIT */
#include "runtime/unwind/rules.h"

#include "runtime/sys/sys.h"
#include "runtime/unwind/modules.h"
#include "runtime/unwind/stack.h"

rt_memo rt_rules;
_Atomic uint32_t rt_generation;

#define RULES_MOST_BYTES (64ull << 20)

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

static rt_rule pack(struct cfi_rule rule)
{
	enum cfi_kind kind = rule.kind;
	int32_t cfa_offset = rule.cfa_offset, fp_offset = rule.fp_offset;
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
static rt_rule compile(const struct cfi_module *module, uintptr_t pc, bool exact,
		       struct cfi_work *work)
{
	struct cfi_rule rule, at_pc;

	switch (cfi_compile(module, pc, exact, work, &rule)) {
	case CFI_FOUND:
		return pack(rule);
	case CFI_MISS_PC:
		if (!exact && cfi_compile(module, pc, true, work, &at_pc) == CFI_FOUND)
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
	struct cfi_work *work;
	uint32_t flags = 0;
	bool loaded;

	if (!is_code_address(pc))
		return RT_RULE_NONE;
	loaded = rt_module_find(exact ? pc : pc - 1, &module);
	if (loaded) {
		work = rt_scratch_take(sizeof(*work));
		rule = work ? compile(&module, pc, exact, work) : RT_RULE_NONE;
		rt_scratch_give(work);
	} else {
		flags |= RT_RULE_NO_MODULE;
	}
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
		(void)atomic_fetch_or_explicit(&rt_unusual, RT_GENERATED_MET, memory_order_relaxed);
	rt_memo_put(&rt_rules, rt_rule_key(pc, exact, generation), rule, rt_load(&rt_generation),
		    RULES_MOST_BYTES);
	return rule;
}
