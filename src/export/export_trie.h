/* SPDX-License-Identifier: MIT */
/*
 * Numbers for sequences of keys that share beginnings: stacks, runs of inlined frames, pairs. A
 * sequence is the node that its last key leads to; equal sequences are one node.
 */
#ifndef SEEP_EXPORT_EXPORT_TRIE_H
#define SEEP_EXPORT_EXPORT_TRIE_H

#include "base/idtable.h"
#include "profile/profile.h"

struct seep_trie_node {
	uint32_t parent; /* a lower number, unless the caller counts otherwise */
	uint32_t key;
};

/* Zeroed is not enough: begin by _init. */
struct seep_trie {
	struct seep_trie_node *nodes; /* [0] is the root, the empty sequence */
	uint32_t count;
	struct seep_idtable ids;
};

void seep_trie_init(struct seep_trie *trie);
void seep_trie_done(struct seep_trie *trie);

/* The node of @parent's sequence and @key; the last one, trie->count - 1, when it is new. */
uint32_t seep_trie_child(struct seep_trie *trie, uint32_t parent, uint32_t key);

/*
 * The node of @from's sequence and the call stack's frames by index, innermost first, @frames_max
 * at most. What stands for a stack that is not there is behind the indexes of frames.
 */
uint32_t seep_trie_stack(struct seep_trie *trie, const struct seep_profile *profile, uint32_t from,
			 const struct seep_profile_context *context, uint32_t frames_max);

/* The key of a context without a stack: one of the two numbers behind the indexes of frames. */
static inline uint32_t seep_trie_no_stack(const struct seep_profile *profile,
					  const struct seep_profile_context *context)
{
	return profile->frame_count + context->other;
}

#endif
