/* SPDX-License-Identifier: MIT */
#include "profile/ledger_parts.h"

#include "base/xalloc.h"

enum { ON_PATH = UINT32_MAX }; /* in pieces: on the path that is being walked */

static uint32_t frame_of(struct seep_ledger_load *load, const struct ledger_node *node)
{
	const struct seep_profile_frame frame = {
		.address = node->address,
		.module = node->module <= load->profile->module_count ? node->module : 0,
		.exact = (node->flags & LEDGER_NODE_EXACT) != 0,
	};

	return seep_builder_frame(&load->builder, &frame);
}

/* The parent of @node, or 0 with *@ret_damaged when it is not to be had or closes a loop. */
static uint32_t parent_of(const struct seep_ledger_load *load, uint32_t node, uint8_t *ret_damaged)
{
	const struct ledger_node *item = ledger_view_node(&load->view, node);
	uint32_t word = item ? atomic_load_explicit(&item->parent_ready, memory_order_acquire) : 0;

	if (word == 0 || word > load->nodes.count ||
	    load->nodes.pieces[word - 1] == (uint32_t)ON_PATH) {
		*ret_damaged = 1;
		return 0;
	}
	return word - 1;
}

/* Of @folded frames those that are not told by the repeats of entries further out. */
static uint16_t repeats_of(uint16_t period, uint16_t folded, uint16_t told)
{
	if (folded == UINT16_MAX)
		return UINT16_MAX;
	if (folded <= told)
		return 0;
	return (uint16_t)((folded - told) / period);
}

/* One entry, inside of @parent, which is a piece, and of @caller, its node. */
static uint32_t make_piece(struct seep_ledger_load *load, uint32_t node, uint32_t parent,
			   uint32_t caller)
{
	const struct ledger_node *item = ledger_view_node(&load->view, node);
	struct seep_profile_stack_entry *entry = seep_builder_room(&load->builder, 1);
	uint16_t *folded = load->nodes.folded;

	folded[node] = folded[caller];
	if (!item)
		return parent;
	entry->frame = frame_of(load, item);
	entry->period = item->period;
	entry->repeats = 0;
	if (entry->period) {
		entry->repeats = repeats_of(entry->period, item->folded, folded[caller]);
		if (item->folded > folded[node])
			folded[node] = item->folded;
	}
	return seep_builder_piece(&load->builder, parent, 1);
}

/* From the leaf up to a node whose piece is there, or the root; then pieces from there inwards. */
bool seep_ledger_stack(struct seep_ledger_load *load, uint32_t leaf, uint32_t *ret_piece)
{
	struct seep_ledger_nodes *nodes = &load->nodes;
	uint64_t count = load->view.count[LEDGER_TABLE_NODES];
	uint32_t length = 0;
	uint32_t node = leaf;
	uint8_t damaged = 0;
	uint32_t piece;

	if (count >= ON_PATH)
		count = ON_PATH - 1;
	if (count > nodes->count) {
		nodes->pieces = seep_ledger_grow(nodes->pieces, nodes->count, count,
						 sizeof(*nodes->pieces));
		nodes->damaged = seep_ledger_grow(nodes->damaged, nodes->count, count,
						  sizeof(*nodes->damaged));
		nodes->folded = seep_ledger_grow(nodes->folded, nodes->count, count,
						 sizeof(*nodes->folded));
		nodes->count = count;
	}
	*ret_piece = 0;
	if (leaf == 0)
		return true;
	if (leaf >= nodes->count)
		return false;
	while (node != 0 && nodes->pieces[node] == 0) {
		nodes->path = seep_xgrow(nodes->path, &nodes->path_capacity, (size_t)length + 1,
					 sizeof(*nodes->path));
		nodes->path[length++] = node;
		nodes->pieces[node] = (uint32_t)ON_PATH;
		node = parent_of(load, node, &damaged);
	}
	damaged |= nodes->damaged[node];
	piece = nodes->pieces[node];
	for (uint32_t caller = node; length > 0; caller = node) {
		node = nodes->path[--length];
		piece = make_piece(load, node, piece, caller);
		nodes->pieces[node] = piece;
		nodes->damaged[node] = damaged;
	}
	*ret_piece = piece;
	return !nodes->damaged[leaf];
}
