/* SPDX-License-Identifier: MIT */
/*
 * The order of reading matters in a live ledger: rows first. The contexts they name, with nodes,
 * modules and strings, were published before them, so they are there when the reader arrives.
 */
#include "profile/ledger_load.h"

#include "base/xalloc.h"
#include "profile/ledger_file.h"
#include "profile/ledger_parts.h"

#include <stdlib.h>
#include <string.h>

bool seep_profile_is_ledger(const void *head, size_t bytes)
{
	const size_t magic_bytes = sizeof(((struct ledger_header *)0)->magic);

	return bytes >= magic_bytes && memcmp(head, LEDGER_MAGIC, magic_bytes) == 0;
}

void *seep_ledger_grow(void *array, uint64_t *count, uint64_t wanted, size_t item_bytes)
{
	const uint64_t old = *count;

	if (wanted > UINT32_MAX)
		wanted = UINT32_MAX;
	if (array && wanted <= old)
		return array;
	*count = wanted;
	return seep_xextend(array, old, wanted, item_bytes);
}

static uint64_t held_bytes(const struct ledger_view *view)
{
	uint64_t bytes = 0;

	for (int i = 0; i < LEDGER_TABLE_COUNT; i++)
		bytes += view->count[i] * view->header.table[i].item_bytes;
	return bytes;
}

int seep_ledger_load_begin(struct seep_ledger_load *load, const void *map, uint64_t bytes,
			   bool live, struct seep_error *err)
{
	enum ledger_view_status status;

	*load = (struct seep_ledger_load){ .live = live };
	status = ledger_view_init(&load->view, map, bytes);
	/* A running process would write beyond the end at any moment, and die of it. */
	if (status != LEDGER_VIEW_OK && (status != LEDGER_VIEW_TRUNCATED || live))
		return seep_ledger_refuse(&load->view, status, err);
	seep_builder_init(&load->builder, held_bytes(&load->view));
	load->profile = load->builder.profile;
	seep_ledger_load_process(load);
	return 0;
}

void seep_ledger_load_figures(struct seep_ledger_load *load)
{
	load->impossible = 0;
	seep_ledger_load_end(load);
	seep_rows_read(&load->view, load->live, &load->rows);
	seep_ledger_mend_rows(load);
	/* Only what the rows read name is looked at, and that has been published by now. */
	ledger_view_refresh(&load->view);
	seep_builder_hold(&load->builder, held_bytes(&load->view));
	seep_ledger_load_modules(load);
	seep_ledger_load_nodes(load);
	seep_ledger_load_contexts(load);
	seep_ledger_load_totals(load);
}

void seep_ledger_load_notes(struct seep_ledger_load *load)
{
	load->profile->mark_count = load->profile->unseen_count = 0;
	seep_ledger_load_marks(load);
	seep_ledger_load_unseen(load);
	seep_builder_finish(&load->builder);
}

void seep_ledger_load_done(struct seep_ledger_load *load)
{
	seep_builder_done(&load->builder);
	seep_rows_done(&load->rows);
	free(load->nodes);
	free(load->places);
	free(load->peaks);
}

int seep_profile_load_ledger_memory(const void *map, size_t bytes, bool live,
				    struct seep_profile **ret_profile, struct seep_error *err)
{
	struct seep_ledger_load load;
	int r = seep_ledger_load_begin(&load, map, bytes, live, err);

	if (r < 0)
		return r;
	seep_ledger_load_figures(&load);
	seep_ledger_load_notes(&load);
	*ret_profile = seep_builder_take(&load.builder);
	seep_ledger_load_done(&load);
	return 0;
}
