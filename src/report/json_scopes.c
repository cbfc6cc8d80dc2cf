/* SPDX-License-Identifier: MIT */
#include "report/json_scopes.h"

static void write_counts(struct seep_json *json, const struct seep_counts *counts)
{
	uint64_t errors[SEEP_FIGURE_COUNT];

	seep_json_int(json, "allocs", counts->allocs);
	seep_json_int(json, "allocated_bytes", counts->alloc_bytes);
	seep_json_int(json, "held_blocks", counts->live_blocks);
	seep_json_int(json, "held_bytes", counts->live_bytes);
	seep_json_int(json, "peak_bytes", counts->peak_bytes);
	for (int i = 0; i < SEEP_FIGURE_COUNT; i++)
		errors[i] = seep_counts_figure_error(counts, i);
	seep_json_estimate(json, errors);
}

/* Of nothing that was left nothing is known. */
static void write_times(struct seep_json *json, const struct seep_profile_scope *scope)
{
	unsigned count = SEEP_PROFILE_DURATION_BUCKETS;

	seep_json_u64(json, "duration_ns", scope->wall_ns);
	seep_json_u64(json, "cpu_ns", scope->cpu_ns);
	if (scope->least_ns) {
		seep_json_u64(json, "min_ns", scope->least_ns - 1);
		seep_json_u64(json, "max_ns", scope->most_ns);
	} else {
		seep_json_null(json, "min_ns");
		seep_json_null(json, "max_ns");
	}
	seep_json_known(json, "first_start_ns", scope->first_ns);
	seep_json_known(json, "last_end_ns", scope->last_ns);
	while (count > 0 && scope->histogram[count - 1] == 0)
		count--;
	for (unsigned i = 0; seep_json_each_object(json, "duration_histogram", i, count); i++) {
		const bool last = i == SEEP_PROFILE_DURATION_BUCKETS - 1;

		seep_json_u64(json, "upto_ns", last ? UINT64_MAX : (UINT64_C(1) << i) - 1);
		seep_json_u64(json, "exits", scope->histogram[i]);
	}
}

void seep_json_scope_figures(struct seep_json *json, const struct seep_profile_scope *scope,
			     const struct seep_scope_sums *sums)
{
	seep_json_u64(json, "entries", scope->entries);
	seep_json_int(json, "active", (int64_t)(scope->entries - scope->exits));
	write_times(json, scope);
	seep_json_u64(json, "own_frees", scope->own_frees);
	seep_json_u64(json, "freed_own_bytes", scope->own_freed_bytes);
	seep_json_u64(json, "foreign_frees", scope->foreign_frees);
	seep_json_u64(json, "freed_foreign_bytes", scope->foreign_freed_bytes);
	write_counts(json, &sums->own);
	seep_json_open_object(json, "inclusive");
	write_counts(json, &sums->all);
	seep_json_close(json);
}

static void write_scope(struct seep_json *json, const struct seep_json_shown *shown, uint32_t index,
			const struct seep_scope_sums *sums)
{
	const struct seep_profile *profile = shown->profile;
	const struct seep_profile_scope *scope = &profile->scopes[index];

	seep_json_int(json, "id", index + INT64_C(1));
	seep_json_text(json, "tag", scope->tag);
	seep_json_known(json, "parent", scope->parent);
	seep_json_scope_figures(json, scope, sums);
	/* Columns of contexts have no ids, and say themselves of which scope each is. */
	if (shown->context_places)
		return;
	seep_json_open_array(json, "contexts");
	for (uint32_t i = 0; i < shown->context_count; i++)
		if (profile->contexts[shown->contexts[i]].scope == index + 1)
			seep_json_int(json, NULL, profile->contexts[shown->contexts[i]].id);
	seep_json_close(json);
}

void seep_json_scopes(struct seep_json *json, const struct seep_json_shown *shown)
{
	SEEP_RELEASED(seep_scopes_done) struct seep_scopes scopes;

	seep_scopes_init(&scopes, shown->profile, 0, false);
	for (uint32_t i = 0; seep_json_each_object(json, "scopes", i, shown->profile->scope_count);
	     i++)
		write_scope(json, shown, i, &scopes.scopes[i]);
}
