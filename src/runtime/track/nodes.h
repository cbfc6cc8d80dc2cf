/* SPDX-License-Identifier: MIT */
/*
 * The ledger's tree of frames: folding recursion, finding or adding the nodes of a path. Without a
 * lock: what two threads add at the same time may be there twice, and readers take it for one.
 */
#ifndef SEEP_RUNTIME_NODES_H
#define SEEP_RUNTIME_NODES_H

#include "runtime/rt.h"
#include "runtime/sys/memo.h"
#include "runtime/unwind/walk.h"

/*
 * What was entered into the ledger, by hashes of what it is: nodes and contexts (index + 1), and
 * what context.c notes of contexts.
 */
extern RT_HIDDEN rt_memo rt_entered;

/* For as long as there is memory: what is forgotten would be added to the ledger again. */
RT_COLD void rt_entered_put(uint64_t hash, uint64_t value);

struct rt_path {
	uint32_t leaf;
	bool folded;	     /* some frames stand for several */
	bool cut;	     /* by depth= */
	bool full;	     /* there was no room: leaf means nothing */
	uint64_t stack_hash; /* core/stack_hash.h, where SEEP_BREAK asks for it */
};

/* Add the walk's frames, of an allocation of @kind; what was added before is noted in the remembered ones. */
void rt_nodes_add(struct rt_walk *walk, uint8_t kind, struct rt_path *ret_path);

/* The path of one frame: the return address @ra. */
RT_COLD void rt_nodes_add_site(uintptr_t ra, struct rt_path *ret_path);

/* Publish the root node; false when there is no room. */
bool rt_nodes_start(void);

#endif
