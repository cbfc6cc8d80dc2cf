/* SPDX-License-Identifier: MIT */
/*
 * Findings are copied before the tables that they refer to are looked at, so that what they name
 * was published by then.
 */
#include "profile/ledger_figure.h"
#include "profile/ledger_load.h"
#include "profile/ledger_parts.h"

#include <string.h>

static bool is_possible(const struct ledger_finding *finding)
{
	uint64_t count = 0;

	return finding->kind > LEDGER_FINDING_NONE && finding->kind < LEDGER_FINDING_COUNT &&
	       finding->freeing < LEDGER_FREEING_COUNT && finding->family <= LEDGER_FAMILY_POOL &&
	       seep_ledger_add(&count, LEDGER_GET(finding->count)) && count > 0;
}

void seep_ledger_copy_findings(struct seep_ledger_load *load)
{
	const uint64_t count = load->found ? load->found->count
					   : load->view.count[LEDGER_TABLE_FINDINGS];

	load->findings = seep_ledger_grow(load->findings, &load->finding_room, count,
					  sizeof(*load->findings));
	load->finding_count = 0;
	for (uint64_t i = 0; i < count; i++) {
		const struct ledger_finding *from = load->found
							    ? &load->found->items[i]
							    : ledger_view_finding(&load->view, i);
		struct ledger_finding *to = &load->findings[load->finding_count];

		if (!from || !LEDGER_GET(from->ready))
			continue;
		memcpy(to, from, sizeof(*to));
		if (is_possible(to))
			load->finding_count++;
		else
			load->impossible++;
	}
}

/* The place of the context of the row with this id; 0: not known, or an ancestor's. */
static uint32_t place_of_row(struct seep_ledger_load *load, uint32_t id)
{
	const uint32_t first = load->view.header.first_row;
	const struct ledger_row *row = id && id >= first ? ledger_view_row(&load->view, id - first)
							 : NULL;
	const uint32_t ready = row ? LEDGER_GET(row->context_ready) : 0;

	return ready ? seep_ledger_place(load, ready - 1) : 0;
}

void seep_ledger_place_findings(struct seep_ledger_load *load)
{
	for (uint64_t i = 0; i < load->finding_count; i++) {
		struct ledger_finding *finding = &load->findings[i];

		finding->block_row = place_of_row(load, finding->block_row);
		finding->freed_row = place_of_row(load, finding->freed_row);
		finding->here_row = place_of_row(load, finding->here_row);
	}
}

static void add_finding(struct seep_profile *profile, const struct ledger_finding *from)
{
	struct seep_profile_finding *to = seep_profile_add(profile, SEEP_ARRAY_FINDINGS);

	*to = (struct seep_profile_finding){
		.kind = from->kind,
		.freeing = from->freeing,
		.family = from->family,
		.block = from->block_row,
		.freed = from->freed_row,
		.here = from->here_row,
		.tid = from->tid,
		.at_ns = from->at_ns,
		.pointer = from->pointer,
		.block_bytes = from->block_bytes,
		.offset = from->offset,
		.expected = from->expected,
		.actual = from->actual,
		.count = from->count,
		.doubtful = from->doubtful != 0,
	};
	if (from->thread[0])
		to->thread = seep_profile_strndup(profile, from->thread, sizeof(from->thread));
}

void seep_ledger_load_findings(struct seep_ledger_load *load)
{
	load->profile->finding_count = 0;
	for (uint64_t i = 0; i < load->finding_count; i++)
		add_finding(load->profile, &load->findings[i]);
}
