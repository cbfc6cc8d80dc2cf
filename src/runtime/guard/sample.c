/* SPDX-License-Identifier: MIT */
#include "runtime/guard/sample.h"

#include "runtime/next/next.h"
#include "runtime/sys/rt_facts.h"
#include "runtime/sys/sys.h"
#include "runtime/track/guarded.h"
#include "runtime/track/misuse.h"
#include "runtime/track/sampled.h"
#include "runtime/track/thread.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#ifndef SA_RESTORER
#define SA_RESTORER 0x04000000
#endif

enum { PAGE_BYTES = LEDGER_PAGE_BYTES, LOOKS = 16, LINES_MAX = 16 };

static _Atomic uint32_t next_slot;
static _Atomic uint64_t draws;
static uint64_t mean; /* allocations from one sample to the next */
static struct rt_next beneath;

/* What the program set for SIGSEGV. Another one is written to the other place first. */
static struct sigaction theirs[2];
static _Atomic uint32_t theirs_now;
static _Atomic bool is_trapped;
static _Atomic uint32_t lines; /* that were said */

static bool change_access(const struct rt_sampled *slot, int access)
{
	return rt_syscall3(SYS_mprotect, (long)rt_sampled_page(slot), PAGE_BYTES, access) == 0;
}

static const struct sigaction usual;

static const struct sigaction *set_now(void)
{
	return &theirs[rt_load_acquire(&theirs_now)];
}

static void set_theirs(const struct sigaction *action)
{
	const uint32_t other = !rt_load(&theirs_now);

	theirs[other] = *action;
	rt_store_release(&theirs_now, other);
}

static void say(const struct rt_finding *finding)
{
	const uintptr_t begin = finding->block.address, end = begin + finding->block.size;
	const bool is_front = finding->pointer < begin;
	const uintptr_t bytes = is_front		 ? begin - finding->pointer
				: finding->pointer < end ? finding->pointer - begin
							 : finding->pointer - end;
	char distance_text[RT_DIGITS_BYTES], size_text[RT_DIGITS_BYTES];

	rt_say("seep: ",
	       finding->kind == LEDGER_FINDING_OUT_OF_BOUNDS ? "out-of-bounds: "
							     : "use-after-free: ",
	       rt_digits(bytes, 10, distance_text), bytes == 1 ? " byte " : " bytes ",
	       is_front			? "in front of"
	       : finding->pointer < end ? "into"
					: "behind",
	       finding->kind == LEDGER_FINDING_OUT_OF_BOUNDS ? " a block of "
							     : " a freed block of ",
	       rt_digits(finding->block.size, 10, size_text), " bytes");
}

/*
 * As if this had not been here. What was sent comes again, and what is a fault happens again. A handler
 * that calls the one before it is given none: that is never ours.
 */
static void pass_on(int number, siginfo_t *info, void *context)
{
	const struct sigaction *action = set_now();
	const bool is_sent = info->si_code <= 0;

	if (action->sa_handler != SIG_DFL) {
		if (action->sa_flags & SA_RESETHAND)
			set_theirs(&usual);
		if (action->sa_flags & SA_SIGINFO)
			action->sa_sigaction(number, info, context);
		else
			action->sa_handler(number);
		return;
	}
	(void)rt_found.sigaction(number, &usual, NULL);
	if (is_sent)
		(void)rt_syscall3(SYS_tgkill, rt_getpid(), rt_gettid(), number);
}

/* Apart: a handler's stack may be small. */
static RT_APART void note_trap(uintptr_t address, const void *frame)
{
	const struct rt_finding finding = rt_sampled_judge(address);

	/* Whoever goes on after it may come here again and again. */
	if (atomic_fetch_add_explicit(&lines, 1, memory_order_relaxed) < LINES_MAX)
		say(&finding);
	rt_finding_note(&finding, frame);
}

static void trap(int number, siginfo_t *info, void *context)
{
	if (info->si_code > 0 && rt_is_sampled(info->si_addr))
		note_trap((uintptr_t)info->si_addr, __builtin_frame_address(0));
	pass_on(number, info, context);
}

/* Ours, with all else as the program wants it. Of a program that ignores the signal nothing is trapped. */
static int install(const struct sigaction *wanted)
{
	struct sigaction ours = *wanted;

	if (wanted->sa_handler == SIG_IGN)
		return rt_found.sigaction(SIGSEGV, wanted, NULL);
	ours.sa_sigaction = trap;
	ours.sa_flags = (ours.sa_flags & ~SA_RESETHAND) | SA_SIGINFO;
	return rt_found.sigaction(SIGSEGV, &ours, NULL);
}

/* Once. A program that sets a handler past our hooks has its faults from then on. */
static bool set_trap(void)
{
	struct sigaction now;
	bool is_set = rt_load_acquire(&is_trapped);

	if (is_set)
		return true;
	if (rt_found.sigaction(SIGSEGV, NULL, &now) != 0 || now.sa_handler == SIG_IGN ||
	    !atomic_compare_exchange_strong_explicit(&is_trapped, &is_set, true,
						     memory_order_acq_rel, memory_order_relaxed))
		return is_set;
	set_theirs(&now);
	return install(&now) == 0;
}

bool rt_sample_handles(int number)
{
	return number == SIGSEGV && rt_load_acquire(&is_trapped);
}

/* Frames are kept small: a program's stack may be. */
static int change(const struct sigaction *wanted)
{
	set_theirs(wanted);
	return install(wanted);
}

int rt_sample_sigaction(const void *action, void *ret_before)
{
	/* It stays where it is when another is set. */
	const struct sigaction *before = set_now();
	struct sigaction wanted;

	if (action)
		memcpy(&wanted, action, sizeof(wanted));
	/* A forked child may have asked the kernel, and give back what it heard: that changes nothing. */
	if (action && wanted.sa_sigaction != trap) {
		/* The C library says it of each. */
		wanted.sa_flags |= SA_RESTORER;
		if (change(&wanted) != 0)
			return -1;
	}
	if (ret_before)
		memcpy(ret_before, before, sizeof(*before));
	return 0;
}

void *rt_sample_signal(void *handler)
{
	const struct sigaction *before = set_now();
	struct sigaction wanted = { .sa_flags = SA_RESTART | SA_RESTORER };

	wanted.sa_handler = (void (*)(int))(uintptr_t)handler;
	return change(&wanted) == 0 ? (void *)(uintptr_t)before->sa_handler
				    : (void *)(uintptr_t)SIG_ERR;
}

/* NULL: some have a block, and perhaps all. Those that were freed last come last. */
static struct rt_sampled *take_slot(void)
{
	for (unsigned i = 0; i < LOOKS; i++) {
		struct rt_sampled *slot =
			&rt_sampled[atomic_fetch_add_explicit(&next_slot, 1, memory_order_relaxed) %
				    RT_SAMPLED_MAX];
		uint32_t state = rt_load(&slot->state);

		if ((state == RT_SAMPLED_NONE || state == RT_SAMPLED_FREED) &&
		    atomic_compare_exchange_strong_explicit(&slot->state, &state, RT_SAMPLED_TAKEN,
							    memory_order_acquire,
							    memory_order_relaxed))
			return slot;
	}
	return NULL;
}

/* For one of @size bytes; NULL: not this time. */
static void *sample(size_t size)
{
	const uint32_t draw = (uint32_t)rt_load(&draws);
	struct rt_sampled *slot;
	uintptr_t page;

	if (size > RT_SAMPLED_BYTES_MAX)
		return NULL;
	if (rt_load(&rt_guard_is_over)) {
		rt_note_unseen(LEDGER_UNSEEN_GUARDS_ENDED);
		return NULL;
	}
	slot = rt_load(&rt_guard_is_blind) ? NULL : take_slot();
	if (!slot) {
		rt_note_unseen(LEDGER_UNSEEN_SAMPLES);
		return NULL;
	}
	page = rt_sampled_page(slot);
	slot->cell = 0;
	slot->freed_row = 0;
	slot->size = size;
	/* At the end, so that what lies behind is found, or at the begin. */
	slot->block = draw & 1 || !size ? page : (page + PAGE_BYTES - size) & ~(uintptr_t)15;
	if (!set_trap() || !change_access(slot, PROT_READ | PROT_WRITE)) {
		rt_store_release(&slot->state, RT_SAMPLED_FREED);
		rt_note_unseen(LEDGER_UNSEEN_SAMPLES);
		return NULL;
	}
	memset((void *)page, LEDGER_GUARD_FILL, PAGE_BYTES);
	memset((void *)slot->block, 0, size);
	rt_store_release(&slot->state, RT_SAMPLED_LIVE);
	/* The quick way would look in front of it. */
	if (rt_tls.thread)
		rt_last_row_pause(rt_tls.thread);
	return (void *)slot->block;
}

/* Is this allocation one? The first of a thread is drawn as well: it may be the only one. */
static RT_COLD bool draw(void)
{
	const uint64_t number = atomic_fetch_add_explicit(&draws, 1, memory_order_relaxed);
	const uint64_t random = core_hash_step(rt_global.seed, number);
	const bool is_first = rt_tls.until_sample == 0;

	rt_tls.until_sample = (uint32_t)(1 + random % (2 * mean - 1));
	return !is_first || mean == 1;
}

RT_INLINE bool is_due(void)
{
	if (RT_LIKELY(rt_tls.until_sample > 1)) {
		rt_tls.until_sample--;
		return false;
	}
	return draw();
}

static void *sampled_malloc(size_t size)
{
	void *block = RT_UNLIKELY(is_due()) ? sample(size) : NULL;

	return RT_LIKELY(!block) ? beneath.malloc(size) : block;
}

static void *sampled_calloc(size_t count, size_t size)
{
	size_t bytes;
	void *block = NULL;

	/* The next one sets errno. */
	if (RT_UNLIKELY(is_due()) && !__builtin_mul_overflow(count, size, &bytes))
		block = sample(bytes);

	return RT_LIKELY(!block) ? beneath.calloc(count, size) : block;
}

/* Is it another place in the page of a live block, where the words before it, a chunk's header, can be read? */
static bool is_within(const struct rt_sampled *slot, const void *pointer)
{
	const size_t header_bytes = 2 * sizeof(uint64_t);

	return (uintptr_t)pointer != slot->block && rt_load(&slot->state) == RT_SAMPLED_LIVE &&
	       (uintptr_t)pointer - rt_sampled_page(slot) - header_bytes <
		       PAGE_BYTES - header_bytes;
}

static void sampled_free(void *block)
{
	struct rt_sampled *slot;
	uint32_t live = RT_SAMPLED_LIVE;

	if (RT_LIKELY(!rt_is_sampled(block))) {
		beneath.free(block);
		return;
	}
	slot = rt_sampled_at((uintptr_t)block);
	/* No block of anybody's: the next one is to say so, as it would have. */
	if (is_within(slot, block)) {
		beneath.free(block);
		return;
	}
	/* Freed before: that has been noted, and nobody else has to do with it. */
	if ((uintptr_t)block != slot->block ||
	    !atomic_compare_exchange_strong_explicit(&slot->state, &live, RT_SAMPLED_TAKEN,
						     memory_order_acquire, memory_order_relaxed))
		return;
	if (!rt_load(&rt_guard_is_blind)) {
		(void)change_access(slot, PROT_NONE);
		(void)rt_syscall3(SYS_madvise, (long)rt_sampled_page(slot), PAGE_BYTES,
				  MADV_DONTNEED);
	}
	rt_store_release(&slot->state, RT_SAMPLED_FREED);
}

static void *sampled_realloc(void *block, size_t size)
{
	const struct rt_sampled *slot;
	void *after;

	if (!block)
		return sampled_malloc(size);
	if (RT_LIKELY(!rt_is_sampled(block)))
		return beneath.realloc(block, size);
	slot = rt_sampled_at((uintptr_t)block);
	if (is_within(slot, block))
		return beneath.realloc(block, size);
	if ((uintptr_t)block != slot->block)
		return NULL;
	after = size ? beneath.malloc(size) : NULL;
	/* What was freed before has no contents, and that has been noted. */
	if (after && rt_load(&slot->state) == RT_SAMPLED_LIVE)
		memcpy(after, block, core_smaller(size, slot->size));
	if (after || !size)
		sampled_free(block);
	return after;
}

static size_t sampled_usable_size(void *block)
{
	return rt_is_sampled(block) ? rt_sampled_at((uintptr_t)block)->size
				    : beneath.malloc_usable_size(block);
}

void rt_sample_start(uint64_t every)
{
	const long region = rt_syscall6(SYS_mmap, 0, RT_REGION_BYTES, PROT_NONE,
					MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (region < 0) {
		rt_note_unseen(LEDGER_UNSEEN_SAMPLES);
		return;
	}
	rt_facts_own((void *)region, RT_REGION_BYTES);
	mean = core_smaller(every, UINT32_MAX / 4);
	beneath = rt_next;
	rt_region_start = (uintptr_t)region;
	rt_region_bytes = RT_REGION_BYTES;
	rt_facts.guards.sampled_begin = rt_region_start;
	rt_facts.guards.sampled_end = rt_region_start + rt_region_bytes;
	rt_next.malloc = sampled_malloc;
	rt_next.calloc = sampled_calloc;
	rt_next.realloc = sampled_realloc;
	rt_next.free = sampled_free;
	rt_next.free_sized = NULL;
	rt_next.free_aligned_sized = NULL;
	rt_next.malloc_usable_size = sampled_usable_size;
}
