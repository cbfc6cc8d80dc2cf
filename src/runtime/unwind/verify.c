/* SPDX-License-Identifier: MIT */
#include "runtime/unwind/verify.h"

#include "runtime/sys/sys.h"

#include <dlfcn.h>
#include <link.h>
#include <unwind.h>

static _Atomic uint64_t walk_number;

enum { SHOWN_MAX = 8, COMMON_SHOWN = 3 };

struct comparison {
	const struct rt_walk *walk;
	uintptr_t leaf_cfa; /* of the hook: frames up to it are ours */
	uint32_t at;	    /* frames compared, from the innermost */
	bool began;
	bool differs;
	uintptr_t theirs; /* where they differ */
};

static void show_address(const char *whose, uintptr_t pc)
{
	struct dl_find_object object = { 0 };
	char offset[RT_DIGITS_BYTES];
	const char *name = "?";
	uintptr_t bias = 0;

	if (_dl_find_object((void *)pc, &object) == 0) {
		name = *object.dlfo_link_map->l_name ? object.dlfo_link_map->l_name : "program";
		bias = object.dlfo_link_map->l_addr;
	}
	rt_say("seep: verify:   ", whose, name, " + 0x", rt_digits(pc - bias, 16, offset));
}

/* The first few, unsymbolised, on standard error: whoever asks for verify wants to report them. */
static RT_COLD void show(const struct comparison *c)
{
	static _Atomic uint32_t shown;
	uint32_t length = rt_walk_length(c->walk);
	bool exact;
	uint32_t from = c->at > COMMON_SHOWN ? c->at - COMMON_SHOWN : 0;

	if (atomic_fetch_add_explicit(&shown, 1, memory_order_relaxed) >= SHOWN_MAX)
		return;
	rt_say("seep: verify: a stack differs from libgcc's",
	       c->walk->truncated ? ", ours is truncated" : "", c->walk->landed ? ", landed" : "",
	       c->walk->stored ? "" : ", crosses a signal frame");
	for (uint32_t i = from; i < length && i <= c->at; i++)
		show_address(i == c->at ? "ours   " : "common ",
			     rt_walk_address(c->walk, length - 1 - i, &exact));
	show_address(c->at >= length ? "ours ends; libgcc's " : "libgcc ", c->theirs);
}

static _Unwind_Reason_Code compare(struct _Unwind_Context *context, void *argument)
{
	struct comparison *c = argument;
	uint32_t length = rt_walk_length(c->walk);
	int before = 0;
	uintptr_t ip = _Unwind_GetIPInfo(context, &before);
	bool exact;

	/* A context's CFA is the stack pointer in that frame: ours are below the hook's CFA. */
	if (!c->began && _Unwind_GetCFA(context) < c->leaf_cfa)
		return _URC_NO_REASON;
	c->began = true;
	if (ip == 0)
		return _URC_NORMAL_STOP;
	if (c->at >= length || rt_walk_address(c->walk, length - 1 - c->at, &exact) != ip) {
		c->differs = true;
		c->theirs = ip;
		return _URC_NORMAL_STOP;
	}
	c->at++;
	return _URC_NO_REASON;
}

/* Compare @walk, just made from hook frame @frame, with libgcc's. */
static bool equals_libgcc(const struct rt_walk *walk, const void *frame)
{
	struct comparison c = {
		.walk = walk,
		.leaf_cfa = (uintptr_t)frame + 16,
	};

	(void)_Unwind_Backtrace(compare, &c);
	/* Longer than libgcc's would be none: it ends where it knows less. */
	if (!c.differs && c.began)
		return true;
	show(&c);
	return false;
}

/* The remembered walks apart from the thread's own; NULL: no memory. */
static struct rt_walk *walk_apart(struct rt_proof **ret_proof)
{
	struct rt_proof *proof = *ret_proof;

	if (!proof)
		proof = *ret_proof = rt_mmap(sizeof(*proof));
	if (!proof)
		return NULL;
	if (!proof->started)
		rt_walk_start(&proof->walk, proof->room);
	proof->started = true;
	return &proof->walk;
}

void rt_verify_walk(struct rt_proof **proof, struct rt_walk *walk, const void *frame,
		    const uint64_t *hash)
{
	struct ledger_state *state = rt_global.state;
	uint32_t generation = walk->now->generation;
	bool same = true;

	if (atomic_fetch_add_explicit(&walk_number, 1, memory_order_relaxed) %
	    rt_global.verify_every)
		return;
	if (hash) {
		/* Walked apart: what the next one needs stays as it would be without us. */
		walk = walk_apart(proof);
		if (!walk)
			return;
		/*
		 * Another thread may have begun a new generation since: there, all hashes differ.
		 */
		same = rt_walk(walk, frame) == *hash || walk->now->generation != generation;
	}
	if (!same)
		rt_say("seep: verify: a walk that was not kept led elsewhere");
	same &= equals_libgcc(walk, frame);
	rt_add(&state->verify_walks, 1);
	rt_add(&state->verify_landed, hash || walk->landed);
	rt_add(&state->verify_truncated, walk->truncated);
	rt_add(&state->verify_differences, !same);
}
