/* SPDX-License-Identifier: MIT */
/*
 * What every file of libseep.so shares. The code runs inside other people's malloc, so:
 * it calls no libc function outside the allow-list in tests/lint, allocates only by mmap, keeps
 * errno (system calls are made directly), waits for no other thread but while a ledger is made (2 ms
 * in all) and for its turn of a leak check, and on doubt stops recording and says so in the ledger. It
 * waits for the recorder at ends and where it is asked to, prints what is wrong with its options or
 * what was asked for, and exits only at the program's own word.
 */
#ifndef SEEP_RUNTIME_RT_H
#define SEEP_RUNTIME_RT_H

#include "core/bits.h"
#include "ledger/ledger.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RT_EXPORT __attribute__((visibility("default")))
#define RT_COLD __attribute__((noinline, cold))
#define RT_HOT __attribute__((hot))
/* Apart, though not so rare that what leads to it should be moved out of the way. */
#define RT_APART __attribute__((noinline))
/*
 * For arrays: the linker sorts variables by their alignment, so all that are small lie together.
 * Each page of them that a forked child writes to is a page fault and a copy.
 */
#define RT_LARGE _Alignas(4096)
/*
 * For declarations of variables: -fvisibility=hidden is about definitions only, and what may be
 * another object's is reached by way of a pointer.
 */
#define RT_HIDDEN __attribute__((visibility("hidden")))
/* Where the call itself would be a good part of the cost. */
#define RT_INLINE static inline __attribute__((always_inline))
#define RT_LIKELY(x) CORE_LIKELY(x)
#define RT_UNLIKELY(x) CORE_UNLIKELY(x)

/* Shared words are read and written with explicit order; these cover nearly all. */
#define rt_load(p) atomic_load_explicit((p), memory_order_relaxed)
#define rt_load_acquire(p) atomic_load_explicit((p), memory_order_acquire)
#define rt_store(p, v) atomic_store_explicit((p), (v), memory_order_relaxed)
#define rt_store_release(p, v) atomic_store_explicit((p), (v), memory_order_release)
#define rt_add(p, v) ((void)atomic_fetch_add_explicit((p), (v), memory_order_relaxed))

/*
 * The word becomes at least @value. Gives up after many tries: only a word of the ledger that
 * another process keeps changing takes so many, and that is a figure.
 */
#define rt_raise(word, value)                                                                \
	do {                                                                                 \
		__typeof__(rt_load(word)) rt_said = rt_load(word);                           \
		for (unsigned rt_i = 0; rt_said < (value) && rt_i < RT_RAISE_TRIES; rt_i++)  \
			if (atomic_compare_exchange_weak_explicit((word), &rt_said, (value), \
								  memory_order_release,      \
								  memory_order_relaxed))     \
				break;                                                       \
	} while (0)
enum { RT_RAISE_TRIES = 1000 };

/* A word with a single writer, in one instruction: no signal handler comes between. */
RT_INLINE void rt_bump(_Atomic uint64_t *word, uint64_t by)
{
	__asm__("addq %1, %0" : "+m"(*word) : "er"(by) : "cc");
}

/* Whose blocks the common case of src/runtime/track/quick.h is for. */
enum rt_quick {
	RT_QUICK_NONE,
	RT_QUICK_GLIBC,	  /* the chunk's header tells the usable size; inlined into the hooks */
	RT_QUICK_CLASSED, /* the requested size does: src/runtime/track/usable.h */
};

/* What makes an allocation from another place than the last walk look twice, in one word. */
enum rt_unusual {
	RT_GENERATED_MET = 1, /* in this generation a rule was made for code that is in no object */
	RT_SILENCE_MET = 2,   /* some thread has had its blocks ignored, or not recorded */
};
extern RT_HIDDEN _Atomic uint32_t rt_unusual;

/* Zero means "not started": what a new thread finds. At most 64 bytes. */
struct rt_tls {
	struct rt_thread *thread;
	uint32_t tid;	   /* as the kernel said when thread was looked for; 0: not yet */
	bool alone;	   /* looked for, but no cache was to be had */
	bool forks_inside; /* the fork in progress is a handler's that interrupted code of ours */
	/* What it allocates while this is not 0 is not to be reported as lost. */
	uint16_t ignoring;
	bool in_guards; /* another allocator makes a block for us, and may call one of our hooks */
	uint16_t unrecorded;   /* what it allocates while this is not 0 is not recorded */
	uint32_t until_sample; /* allocations; 0: not drawn yet */
	/* While there is no thread: the frame address of rt_thread_start, while it runs; else 0. */
	_Atomic uint64_t busy;
	_Atomic uintptr_t
		asks_at; /* frame address of the function that asked for a leak scan last */
	/* What the next allocator's free_sized() was given; our hooks have forgotten it. */
	void *freeing;
	uint64_t waits; /* its next place in quarantine; at the end of a batch: it needs another */
	/* In a forked child, while there is no thread: what its parent's thread had open. */
	struct rt_scopes *scopes;
};
extern RT_HIDDEN __thread struct rt_tls rt_tls __attribute__((tls_model("initial-exec")));

/*
 * "Is this ledger mine?" A page of its own with MADV_WIPEONFORK: in a child of any kind of fork,
 * even a raw clone, control reads NULL, and so it does before the start and after a failure.
 */
struct rt_mine {
	_Alignas(4096) struct ledger_control *control;
	/*
	 * The id that this process's row 0 has or will get: known before rt_global.first_row is
	 * set. 0: a forked child that was not noticed yet.
	 */
	_Atomic uint32_t first_row;
	char rest[4096 - 2 * sizeof(void *)];
};
extern RT_HIDDEN struct rt_mine rt_mine;

/* Everything else about this process's recording. Written at start and in the cold paths only. */
struct rt_global {
	uint8_t *base; /* the ledger's mapping */
	struct ledger_control
		*control; /* not wiped by a fork: in a child of no use before it has its own */
	struct ledger_state *state;
	struct ledger_sums *sums;
	struct ledger_cache *caches;
	struct ledger_slot *slots;
	struct ledger_row *rows;
	struct ledger_context *contexts;
	struct ledger_node *nodes;
	struct ledger_module *modules;
	struct ledger_finding *findings;
	struct ledger_scope *scopes;
	struct ledger_entries *entries;
	uint8_t *strings;
	uint32_t first_row;
	uint32_t glibc;		/* the next malloc is glibc's: chunk headers are readable */
	_Atomic uint32_t quick; /* enum rt_quick */
	uint32_t granule_shift; /* log2 of the address space per page map cell */
	uint32_t verify_every;	/* 0 = off */
	bool no_quick;		/* something is asked for that the quick way does not do */
	bool passes; /* tier "sampled" was in force: a block without a cell may be one that passed */
	/*
	 * What passes is added to the live total, and so what was taken stands there for itself. Until
	 * something is not recorded whose free would be taken for that of one that passed.
	 */
	_Atomic bool adds_passed;
	_Atomic uint32_t life; /* ledgers that were left before this one: life/join.h */
	uint64_t seed;
	_Atomic int64_t threshold_bytes; /* T of docs/internals/ledger.md, "peak" */
	uintptr_t loader_start;		 /* extent of ld.so */
	uintptr_t loader_bytes;
};
extern RT_HIDDEN struct rt_global rt_global;

/* rt_global.state where there is no ledger: whoever notes something need not ask. */
extern RT_HIDDEN struct ledger_state rt_nowhere;

/*
 * What the ledger's header says. The ledger is output: what another process could write is no
 * address, index, count or length for us. Those that count in it are private, as is this.
 */
extern RT_HIDDEN struct ledger_header rt_header;

/* So many threads at once may take memory as they like; where there are more, each gets less. */
enum { RT_FEW_THREADS = 16 };

/* The highest cache in use, plus 1; as ledger_control.caches. */
extern RT_HIDDEN _Atomic uint32_t rt_threads;

static inline bool rt_threads_are_few(void)
{
	return rt_load(&rt_threads) <= RT_FEW_THREADS;
}

static inline uint32_t rt_row_index(uint32_t row)
{
	return row - rt_global.first_row;
}

static inline void rt_note_unseen(uint32_t bit)
{
	if ((rt_load(&rt_global.state->unseen) & bit) != bit)
		(void)atomic_fetch_or_explicit(&rt_global.state->unseen, bit, memory_order_relaxed);
}

#endif
