/* SPDX-License-Identifier: MIT */
#include "export/export_trie.h"

#include <stdlib.h>

#include "base/xalloc.h"

void seep_trie_init(struct seep_trie *trie)
{
	*trie = (struct seep_trie){ .count = 0 };
	*SEEP_APPEND(trie->nodes, trie->count) = (struct seep_trie_node){ 0 };
	seep_idtable_init(&trie->ids, 0);
}

void seep_trie_done(struct seep_trie *trie)
{
	seep_idtable_done(&trie->ids);
	free(trie->nodes);
}

uint32_t seep_trie_child(struct seep_trie *trie, uint32_t parent, uint32_t key)
{
	const uint64_t hash = seep_hash_mix(parent, key);
	size_t at = SEEP_IDTABLE_START;
	uint32_t id;

	while ((id = seep_idtable_find(&trie->ids, hash, &at)) != SEEP_IDTABLE_NONE)
		if (trie->nodes[id].parent == parent && trie->nodes[id].key == key)
			return id;
	id = trie->count;
	*SEEP_APPEND(trie->nodes, trie->count) = (struct seep_trie_node){ parent, key };
	seep_idtable_add(&trie->ids, hash, id);
	return id;
}

uint32_t seep_trie_stack(struct seep_trie *trie, const struct seep_profile *profile, uint32_t from,
			 const struct seep_profile_context *context, uint32_t frames_max)
{
	uint32_t node = from;

	for (uint32_t i = 0; i < context->stack_count && i < frames_max; i++)
		node = seep_trie_child(trie, node, context->stack[i].frame);
	return context->stack_count > 0
		       ? node
		       : seep_trie_child(trie, from, seep_trie_no_stack(profile, context));
}
