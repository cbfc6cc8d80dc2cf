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

/* A node that is published becomes a piece of one entry inside of its parent's. */
static void make_piece(struct seep_ledger_load *load, uint32_t index)
{
	const struct ledger_node *item = ledger_view_node(&load->view, index);
	uint32_t ready = item ? LEDGER_GET(item->parent_ready) : 0;
	struct seep_ledger_node *node = &load->nodes[index];
	struct seep_ledger_node parent;

	if (ready == 0)
		return;
	/* A parent comes before its children; so a loop is damage, and no walk. */
	parent = load->nodes[ready <= index ? ready - 1 : 0];
	/* Published since we passed it, and of no context that was read: the next time. */
	if (load->live && ready > 1 && ready <= index && !parent.piece)
		return;
	node->damaged = ready > index || parent.damaged || (ready > 1 && !parent.piece);
	*seep_builder_room(&load->builder, 1) =
		(struct seep_profile_stack_entry){ frame_of(load, item), item->period, 0 };
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

void seep_ledger_count_repeats(struct seep_ledger_load *load, uint32_t leaf,
			       struct seep_profile_context *context)
{
	const struct ledger_node *node = ledger_view_node(&load->view, leaf);
	uint32_t folded = node ? node->folded : 0;

	for (uint32_t i = 0; i < context->stack_count && node; i++) {
		struct seep_profile_stack_entry *entry = &context->stack[i];
		uint32_t parent = LEDGER_GET(node->parent_ready);
		uint32_t further_out;

		node = parent > 1 ? ledger_view_node(&load->view, parent - 1) : NULL;
		further_out = node && node->folded < folded ? node->folded : folded;
		if (!node)
			further_out = 0;
		if (entry->period && folded > further_out)
			entry->repeats = (uint16_t)(folded == UINT16_MAX ? UINT16_MAX
									 : (folded - further_out) /
										   entry->period);
		folded = further_out;
	}
}

bool seep_ledger_stack(struct seep_ledger_load *load, uint32_t leaf, uint32_t *ret_piece)
{
	*ret_piece = leaf < load->node_count ? load->nodes[leaf].piece : 0;
	return leaf == 0 || (*ret_piece && !load->nodes[leaf].damaged);
}
