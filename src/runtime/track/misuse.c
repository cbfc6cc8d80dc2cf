/* SPDX-License-Identifier: MIT */
#include "runtime/track/misuse.h"

#include "runtime/next/next.h"
#include "runtime/sys/memo.h"
#include "runtime/sys/sys.h"
#include "runtime/sys/tables.h"
#include "runtime/track/context.h"
#include "runtime/track/guarded.h"
#include "runtime/track/place.h"
#include "runtime/track/record.h"
#include "runtime/track/usable.h"
#include "runtime/unwind/stack.h"

#include <linux/prctl.h>

bool rt_finding_aborts;
_Atomic bool rt_finding_met;

/* From what makes a finding to its index + 1. */
static rt_memo known;

enum { KNOWN_MOST_BYTES = 1 << 20, CHUNK_BYTES_MIN = 32, CHUNK_IN_USE = 1, COOKIE_BYTES = 8 };

/* None in bookkeeping further out, or if there is no room. */
uint32_t rt_finding_row(const void *frame)
{
	struct rt_thread *thread = frame ? rt_thread_self() : NULL;
	struct ledger_control *control = thread ? rt_enter(thread, frame) : NULL;
	uint32_t row;

	if (!control)
		return 0;
	/* Of one epoch, whatever marks there are: nothing is counted there. */
	row = rt_place_row(thread, rt_alloc(LEDGER_KIND_FREE, 0, 0).key, 0, frame);
	/* The walk that is kept is to be an allocation's: those come again and again. */
	if (thread->walk.leaf == (uintptr_t)frame + sizeof(uintptr_t)) {
		rt_walk_reset(&thread->walk);
		rt_last_row_void(thread);
	}
	rt_leave(thread);
	return rt_row_is_context(row) ? row : 0;
}

/* The same for all blocks of one context, however many marks there were. */
static uint64_t origin_of(uint32_t row)
{
	const struct ledger_context *context = rt_context_of(row);

	return context ? (uint64_t)(context - rt_global.contexts) << LEDGER_ROW_ID_BITS : row;
}

static uint64_t key_of(const struct rt_finding *finding, uint32_t here_row)
{
	const uint64_t what = (uint64_t)here_row << 16 | (unsigned)finding->freeing << 8 |
			      finding->kind;

	return core_hash_step(core_hash_step(rt_global.seed, what),
			      origin_of(ledger_cell_row(finding->block.value)));
}

static void fill(struct ledger_finding *to, const struct rt_finding *from, uint32_t here_row)
{
	to->kind = (uint8_t)from->kind;
	to->freeing = (uint8_t)from->freeing;
	to->here_row = here_row;
	to->freed_row = from->freed_row;
	to->doubtful = from->is_doubtful;
	to->tid = rt_gettid();
	to->at_ns = rt_now_ns();
	to->pointer = from->pointer;
	to->expected = from->expected;
	to->actual = from->actual;
	if (from->block.value) {
		to->family = ledger_cell_family(from->block.value);
		to->block_row = ledger_cell_row(from->block.value);
	}
	/* One that tier "sampled" did not take has no cell. */
	if (from->block.address) {
		to->block_bytes = from->block.size;
		to->offset = (int64_t)(from->pointer - from->block.address);
	}
	/* A sandbox may kill for it. */
	if (!rt_load(&rt_guard_is_blind))
		(void)rt_syscall3(SYS_prctl, PR_GET_NAME, (long)to->thread, 0);
	rt_store(&to->count, 1);
	rt_store_release(&to->ready, 1);
}

static void lose(void)
{
	rt_add(&rt_global.state->findings_lost, 1);
	rt_note_unseen(LEDGER_UNSEEN_FINDINGS_FULL);
}

/* Two threads that meet the same at once may each make an item: readers add them up. */
static void note(const struct rt_finding *finding, uint32_t here_row)
{
	const uint64_t key = key_of(finding, here_row);
	const uint64_t place = rt_memo_find(&known, key);
	uint64_t index = RT_NO_INDEX;

	if (place) {
		rt_add(&rt_global.findings[place - 1].count, 1);
		return;
	}
	/* One that is full is no reason to say that stacks were lost. */
	if (rt_load(&rt_tables[LEDGER_TABLE_FINDINGS].reserved) <
	    rt_header.table[LEDGER_TABLE_FINDINGS].capacity)
		index = rt_table_take(LEDGER_TABLE_FINDINGS, 1);
	if (index == RT_NO_INDEX) {
		lose();
		return;
	}
	fill(&rt_global.findings[index], finding, here_row);
	rt_memo_put(&known, key, index + 1, 0, KNOWN_MOST_BYTES);
}

static void end_program(enum ledger_finding_kind kind)
{
#define NAME(constant, name) [LEDGER_FINDING_##constant] = name,
	static const char *const names[] = { LEDGER_FINDINGS(NAME) };

	rt_say("seep: ", names[kind], ": the program ends here, as it was to (abort_on_error)");
	rt_next.abort();
}

void rt_finding_note(const struct rt_finding *finding, const void *frame)
{
	const uint32_t here_row = rt_finding_row(frame);

	rt_store(&rt_finding_met, true);
	if (rt_mine.control)
		note(finding, here_row);
	else
		lose();
	if (rt_finding_aborts)
		end_program(finding->kind);
}

bool rt_misuse_is_aligned(const struct rt_block *block, uint8_t align_log2)
{
	const struct ledger_context *context = rt_context_of(ledger_cell_row(block->value));

	return !context || context->align_log2 == align_log2;
}

/*
 * May glibc have given what begins at @pointer, and not have taken it back? By what free() looks at
 * first (malloc.c, "malloc_chunk details"): the chunk's size, and that the next one says that it is in
 * use. What is read lies in the page that free() is about to read, or the kernel is asked.
 */
static bool is_chunk(uintptr_t pointer)
{
	const uint64_t *words = (const uint64_t *)pointer;
	uint64_t bytes, next;

	if (pointer & RT_BLOCK_MASK || pointer < LEDGER_PAGE_BYTES ||
	    pointer >> LEDGER_ADDRESS_BITS || !rt_is_readable(pointer - 2 * sizeof(*words)))
		return false;
	bytes = words[-1] & ~(uint64_t)RT_CHUNK_FLAGS;
	if (bytes < CHUNK_BYTES_MIN || bytes & RT_BLOCK_MASK || bytes >> LEDGER_ADDRESS_BITS)
		return false;
	if (words[-1] & RT_CHUNK_MMAPPED)
		return ((pointer - 16 - words[-2]) | (words[-2] + bytes)) % LEDGER_PAGE_BYTES == 0;
	next = pointer + bytes - sizeof(*words);
	if (next / LEDGER_PAGE_BYTES != (pointer - sizeof(*words)) / LEDGER_PAGE_BYTES)
		return rt_is_readable(next);
	return *(const uint64_t *)next & CHUNK_IN_USE;
}

static bool is_delete(struct rt_free how)
{
	return how.freeing >= LEDGER_FREEING_DELETE;
}

/*
 * An array of objects that have destructors begins behind a word that says how many they are: delete of
 * the first one comes that far into the block of new[], delete[] of a single one as far in front of it.
 */
static bool is_cookie(const struct rt_block *block, uintptr_t pointer, struct rt_free how)
{
	const enum ledger_family family = ledger_cell_family(block->value);
	const uint64_t bytes = pointer - block->address;

	if (how.freeing == LEDGER_FREEING_DELETE_ARRAY)
		return family == LEDGER_FAMILY_NEW && bytes == -(uint64_t)COOKIE_BYTES;
	return family == LEDGER_FAMILY_NEW_ARRAY && is_delete(how) &&
	       (bytes == COOKIE_BYTES || bytes == 2 * COOKIE_BYTES);
}

/* Nothing begins at the pointer of @finding, which was never a block: is it near or inside one? */
static bool find_near(struct rt_finding *finding, struct rt_free how)
{
	struct rt_block behind = rt_block_at(finding->pointer + COOKIE_BYTES,
					     rt_global.granule_shift);

	finding->kind = LEDGER_FINDING_MISMATCHED_FREE;
	finding->block = behind;
	if (behind.value && is_cookie(&behind, finding->pointer, how))
		return !rt_operators_foreign;
	if (is_chunk(finding->pointer))
		return false;
	finding->block = rt_block_around(finding->pointer);
	if (!finding->block.value) {
		finding->kind = LEDGER_FINDING_UNKNOWN_FREE;
		return true;
	}
	if (rt_operators_foreign || !is_cookie(&finding->block, finding->pointer, how))
		finding->kind = LEDGER_FINDING_INTERIOR_FREE;
	return true;
}

/* No live block begins there. Of another allocator's not everything comes to our hooks. */
static bool judge_unknown(struct rt_finding *finding, struct rt_free how)
{
	const bool waits = rt_guarded_waits((void *)finding->pointer, &finding->freed_row);
	/* Once: the process may be left meanwhile. */
	const struct ledger_control *control = rt_mine.control;

	if (!(rt_global.glibc || waits) || !control)
		return false;
	finding->block = rt_block_freed(finding->pointer);
	if (finding->block.value &&
	    (waits ||
	     (rt_load(&control->filtered_once) != LEDGER_FILTERED_ALL && !rt_global.passes))) {
		finding->kind = LEDGER_FINDING_DOUBLE_FREE;
		finding->is_doubtful = !waits && is_chunk(finding->pointer);
		return true;
	}
	if (!rt_global.glibc)
		return false;
	/* With a filter nearly all are of blocks that were not recorded. Without a call nobody can look. */
	if (rt_load(&control->filtered_once) || rt_global.passes || rt_load(&rt_is_strict))
		return false;
	/* Also one that there was no memory to record. */
	if (rt_is_sampled((void *)finding->pointer) &&
	    rt_sampled_at(finding->pointer)->block == finding->pointer)
		return false;
	return find_near(finding, how);
}

static bool judge_known(struct rt_finding *finding, struct rt_free how)
{
	const struct ledger_context *context;

	if (!rt_free_is_of_family(how, ledger_cell_family(finding->block.value))) {
		finding->kind = LEDGER_FINDING_MISMATCHED_FREE;
		finding->is_doubtful = true;
		return !rt_operators_foreign;
	}
	if (how.has_size && how.size != finding->block.size) {
		finding->kind = LEDGER_FINDING_SIZE_MISMATCH;
		finding->expected = finding->block.size;
		finding->actual = how.size;
		return true;
	}
	context = rt_context_of(ledger_cell_row(finding->block.value));
	finding->kind = LEDGER_FINDING_ALIGN_MISMATCH;
	finding->expected = context ? UINT64_C(1) << (context->align_log2 & 63) : 0;
	finding->actual = UINT64_C(1) << how.align_log2;
	return true;
}

bool rt_misuse_judge(void *pointer, const struct rt_block *at, struct rt_free how,
		     const void *frame)
{
	struct rt_finding finding = {
		.freeing = (enum ledger_freeing)how.freeing,
		.pointer = (uintptr_t)pointer,
		.block = *at,
	};

	if (!(at->value ? judge_known(&finding, how) : judge_unknown(&finding, how)))
		return false;
	rt_finding_note(&finding, frame);
	return true;
}

void rt_findings_forked(void)
{
	rt_memo_drop(&known);
	rt_store(&rt_finding_met, false);
}
