/* SPDX-License-Identifier: MIT */
#include "profile/ledger_parts.h"

static uint32_t frame_of(struct seep_ledger_load *load, const struct ledger_node *node)
{
	const struct seep_profile_frame frame = {
		.address = node->address,
		.module = node->module <= load->profile->module_count ? node->module : 0,
		.exact = (node->flags & LEDGER_NODE_EXACT) != 0,
	};

	return seep_builder_frame(&load->builder, &frame);
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

/* A node that is published becomes a piece of one entry inside of its parent's. */
static void make_piece(struct seep_ledger_load *load, uint32_t index)
{
	const struct ledger_node *item = ledger_view_node(&load->view, index);
	uint32_t ready = item ? LEDGER_GET(item->parent_ready) : 0;
	struct seep_ledger_node *node = &load->nodes[index];
	struct seep_profile_stack_entry *entry;
	struct seep_ledger_node parent;

	if (ready == 0)
		return;
	/* A parent comes before its children; so a loop is damage, and no walk. */
	parent = load->nodes[ready <= index ? ready - 1 : 0];
	node->damaged = ready > index || parent.damaged || (ready > 1 && !parent.piece);
	node->folded = parent.folded;
	entry = seep_builder_room(&load->builder, 1);
	*entry = (struct seep_profile_stack_entry){ frame_of(load, item), item->period, 0 };
	if (entry->period) {
		entry->repeats = repeats_of(entry->period, item->folded, parent.folded);
		if (item->folded > node->folded)
			node->folded = item->folded;
	}
	node->piece = seep_builder_piece(&load->builder, parent.piece, 1);
}

void seep_ledger_load_nodes(struct seep_ledger_load *load)
{
	const uint64_t count = load->view.count[LEDGER_TABLE_NODES];

	load->nodes = seep_ledger_grow(load->nodes, &load->node_count, count, sizeof(*load->nodes));
	for (uint32_t i = 1; i < load->node_count; i++)
		if (load->nodes[i].piece == 0)
			make_piece(load, i);
}

bool seep_ledger_stack(struct seep_ledger_load *load, uint32_t leaf, uint32_t *ret_piece)
{
	*ret_piece = leaf < load->node_count ? load->nodes[leaf].piece : 0;
	return leaf == 0 || (*ret_piece && !load->nodes[leaf].damaged);
}
