/* SPDX-License-Identifier: MIT */
/*
 * What programs say of their blocks, and ask: LeakSanitizer's interface, which many have already,
 * and that of seep.h. Behind us may be a LeakSanitizer, which hears all of it too.
 */
#include "seep/seep.h"

#include "runtime/hook/exported.h"
#include "runtime/life/exit.h"
#include "runtime/life/rt_options.h"
#include "runtime/life/rt_scan_request.h"
#include "runtime/life/start.h"
#include "runtime/sys/rt_facts.h"
#include "runtime/sys/sys.h"
#include "runtime/sys/tables.h"
#include "runtime/track/pagemap.h"
#include "runtime/track/tier.h"
#include "runtime/track/thread.h"

#include <string.h>

/* As <sanitizer/lsan_interface.h> has it: what @ours does. */
#define LSAN(symbol, parameters, arguments, ours) \
	RT_EXPORT void symbol parameters          \
	{                                         \
		(void)(ours);                     \
		rt_next_find();                   \
		if (rt_next.symbol)               \
			rt_next.symbol arguments; \
	}

/* @word: of this thread. Returns what it was. */
static unsigned silence(uint16_t *word, unsigned off)
{
	unsigned before = *word;

	*word = off < UINT16_MAX ? (uint16_t)off : UINT16_MAX;
	if (off && !(rt_load(&rt_unusual) & RT_SILENCE_MET))
		(void)atomic_fetch_or_explicit(&rt_unusual, RT_SILENCE_MET, memory_order_relaxed);
	/* The common case does not look at it: off until the next walk. */
	if (rt_tls.thread) {
		rt_last_row_void(rt_tls.thread);
		rt_tier_void(rt_tls.thread);
	}
	return before;
}

RT_EXPORT unsigned seep_rt_leaks_off(unsigned off)
{
	return silence(&rt_tls.ignoring, off);
}

RT_EXPORT unsigned seep_rt_recording_off(unsigned off)
{
	return silence(&rt_tls.unrecorded, off);
}

LSAN(__lsan_disable, (void), (), seep_rt_leaks_off(rt_tls.ignoring + 1u))
LSAN(__lsan_enable, (void), (), rt_tls.ignoring ? seep_rt_leaks_off(rt_tls.ignoring - 1u) : 0)

static void mark_block(uintptr_t address, uint32_t mark)
{
	struct rt_block block;

	if (!rt_control())
		return;
	do {
		block = rt_block_around(address);
	} while (block.value && !rt_block_mark(&block, mark));
}

RT_EXPORT void seep_rt_leak_ignore(const void *block)
{
	mark_block((uintptr_t)block, LEDGER_CELL_IGNORED);
}

LSAN(__lsan_ignore_object, (const void *block), (block), seep_rt_leak_ignore(block))

RT_EXPORT void seep_rt_root_region_add(const void *begin, size_t bytes)
{
	rt_facts_add_region((uintptr_t)begin, (uintptr_t)begin + bytes);
}

RT_EXPORT void seep_rt_root_region_remove(const void *begin, size_t bytes)
{
	rt_facts_remove_region((uintptr_t)begin, (uintptr_t)begin + bytes);
}

LSAN(__lsan_register_root_region, (const void *begin, size_t bytes), (begin, bytes),
     seep_rt_root_region_add(begin, bytes))
LSAN(__lsan_unregister_root_region, (const void *begin, size_t bytes), (begin, bytes),
     seep_rt_root_region_remove(begin, bytes))

/* What a person can type after FILE@. */
static bool is_mark_name(const char *name, size_t bytes)
{
	if (bytes == 0 || bytes >= LEDGER_MARK_NAME_BYTES || strcmp(name, "now") == 0)
		return false;
	for (size_t i = 0; i < bytes; i++)
		if ((unsigned char)name[i] < ' ' || name[i] == 0x7f || name[i] == '@')
			return false;
	return true;
}

/* As tools do, src/recorder/ledger_control.c: whoever comes between, each has its own epoch. */
RT_EXPORT int seep_rt_mark(const char *name)
{
	const size_t bytes = name ? strlen(name) : 0;
	struct ledger_control *control = rt_control();
	const struct ledger_table *table;
	_Atomic uint64_t *reserved;
	struct ledger_mark *mark;
	uint64_t index;

	if (!control || !is_mark_name(name, bytes))
		return -1;
	table = &rt_header.table[LEDGER_TABLE_MARKS];
	reserved = &rt_global.state->table[LEDGER_TABLE_MARKS].reserved;
	/* That there are too many marks takes nothing from the figures, so it is not noted. */
	if (rt_load(reserved) >= table->capacity)
		return -1;
	index = atomic_fetch_add_explicit(reserved, 1, memory_order_relaxed);
	/* The word is anybody's. */
	if (index >= table->capacity || !rt_table_offer(LEDGER_TABLE_MARKS, index + 1))
		return -1;
	mark = (struct ledger_mark *)(rt_global.base + table->offset) + index;
	memcpy(mark->name, name, bytes);
	mark->at_ns = rt_now_ns();
	mark->epoch = atomic_fetch_add_explicit(&control->epoch, 1, memory_order_acq_rel) + 1;
	rt_store_release(&mark->ready, 1);
	return 0;
}

static seep_leaks_hook *leaks_hook;
static void *leaks_hook_user;

RT_EXPORT void seep_rt_leaks_set_hook(seep_leaks_hook *hook, void *user)
{
	leaks_hook_user = user;
	leaks_hook = hook;
}

static void call_hook(const struct rt_lost *lost)
{
	for (uint32_t i = 0; leaks_hook && i < lost->listed; i++) {
		const uintptr_t address = lost->list[i].address;
		const struct seep_leak leak = { (const void *)address, lost->list[i].bytes };

		/* Others may write to the list. */
		if (rt_block_at(address, rt_global.granule_shift).value)
			leaks_hook(&leak, leaks_hook_user);
	}
}

static void mark_reported(const struct rt_lost *lost)
{
	for (uint32_t i = 0; i < lost->listed; i++)
		mark_block(lost->list[i].address, LEDGER_CELL_REPORTED);
}

/*
 * As the hooks of ends do: what is lost may still stand on dead stack, or below in our own frames.
 * Calls ask_SYMBOL() with the argument, if there is one, and its caller's registers.
 */
#define ASKS(symbol)       \
	ASM_EXPORT(symbol, \
		   PUSH_CALLERS "mov %rsp, %rsi\n" CALL(ask_##symbol) GIVE_STACK(48) "ret\n")

ASKS(seep_rt_leaks_scan);
FROM_ASM long ask_seep_rt_leaks_scan(enum seep_leaks_scan what, const uint64_t *registers)
{
	enum ledger_scan_kind kind = what == SEEP_LEAKS_REPORT ? LEDGER_SCAN_REPORT
							       : LEDGER_SCAN_COUNT;
	struct rt_lost lost;
	uint64_t blocks = 0;
	const char *why;

	rt_next_find();
	do {
		why = rt_scan_request(kind, registers, __builtin_frame_address(0), &lost);
		if (why) {
			if (what == SEEP_LEAKS_REPORT && *why)
				rt_say("seep: not scanned for leaks: ", why);
			return blocks ? (long)blocks : -1;
		}
		if (what == SEEP_LEAKS_REPORT)
			call_hook(&lost);
		if (what == SEEP_LEAKS_MARK_REPORTED)
			mark_reported(&lost);
		rt_scan_done();
		blocks += what == SEEP_LEAKS_MARK_REPORTED ? lost.listed : lost.blocks;
		/* The list holds so many; those that are marked are not in the next one. */
	} while (what == SEEP_LEAKS_MARK_REPORTED && lost.listed && lost.listed < lost.blocks);
	return (long)blocks;
}

ASKS(__lsan_do_recoverable_leak_check);
FROM_ASM int ask___lsan_do_recoverable_leak_check(uint64_t none, const uint64_t *registers)
{
	(void)none;
	rt_next_find();
	if (rt_next.__lsan_do_recoverable_leak_check)
		return rt_next.__lsan_do_recoverable_leak_check();
	return ask_seep_rt_leaks_scan(SEEP_LEAKS_REPORT, registers) > 0;
}

ASKS(__lsan_do_leak_check);
FROM_ASM void ask___lsan_do_leak_check(uint64_t none, const uint64_t *registers)
{
	static _Atomic uint32_t is_done;

	(void)none;
	rt_next_find();
	if (rt_next.__lsan_do_leak_check)
		rt_next.__lsan_do_leak_check();
	if (rt_next.__lsan_do_leak_check ||
	    atomic_exchange_explicit(&is_done, 1, memory_order_relaxed))
		return;
	if (ask_seep_rt_leaks_scan(SEEP_LEAKS_REPORT, registers) <= 0 || !rt_options.leak_exitcode)
		return;
	rt_exit_notice(LEDGER_ENDED_EXIT, (int)rt_options.leak_exitcode);
	rt_next._exit((int)rt_options.leak_exitcode);
}
