/* SPDX-License-Identifier: MIT */
#include "profile/ledger_figure.h"

#include "core/bits.h"

void seep_forked_add(struct seep_profile_forked *to, const struct seep_profile_forked *from)
{
	uint64_t allocs = to->allocs, alloc_bytes = to->alloc_bytes;

	to->processes += from->processes;
	to->inherited_frees += from->inherited_frees;
	to->inherited_freed_bytes += from->inherited_freed_bytes;
	(void)seep_ledger_add(&to->unrecorded, from->unrecorded);
	/* What went is part of what came. */
	if (!seep_ledger_add(&allocs, from->allocs) ||
	    !seep_ledger_add(&alloc_bytes, from->alloc_bytes))
		return;
	to->allocs = allocs;
	to->alloc_bytes = alloc_bytes;
	to->frees += from->frees;
	to->freed_bytes += from->freed_bytes;
	to->live_bytes += from->live_bytes;
}

static uint64_t figure(const _Atomic uint64_t *word)
{
	const uint64_t value = atomic_load_explicit(word, memory_order_relaxed);

	return value <= INT64_MAX ? value : 0;
}

struct seep_profile_forked seep_forked_load(const struct ledger_sums *from)
{
	struct seep_profile_forked sums = {
		.processes = figure(&from->processes),
		.allocs = figure(&from->allocs),
		.alloc_bytes = figure(&from->alloc_bytes),
		.frees = figure(&from->frees),
		.freed_bytes = figure(&from->freed_bytes),
		.inherited_frees = figure(&from->inherited_frees),
		.inherited_freed_bytes = figure(&from->inherited_freed_bytes),
		.unrecorded = figure(&from->unrecorded),
	};

	sums.frees = core_smaller(sums.frees, sums.allocs);
	sums.freed_bytes = core_smaller(sums.freed_bytes, sums.alloc_bytes);
	sums.live_bytes = sums.alloc_bytes - sums.freed_bytes;
	return sums;
}
