/* SPDX-License-Identifier: MIT */
#include "target/kept_result.h"

#include "base/xalloc.h"

#include <stdlib.h>

void seep_result_keep(struct scan_result *r)
{
	const uint64_t all = r->all_count, count = r->block_count;

	r->all = seep_xmemdup(r->all, all * sizeof(*r->all));
	r->from = seep_xmemdup(r->from, all * sizeof(*r->from));
	r->unreached = seep_xmemdup(r->unreached, count * sizeof(*r->unreached));
	r->edges = seep_xmemdup(r->edges, r->first_edge[count] * sizeof(*r->edges));
	r->first_edge = seep_xmemdup(r->first_edge, (count + 1) * sizeof(*r->first_edge));
}

void seep_result_free(const struct scan_result *result)
{
	free(result->all);
	free(result->from);
	free(result->unreached);
	free(result->edges);
	free(result->first_edge);
}
