/* SPDX-License-Identifier: MIT */
/*
 * What a ledger says that cannot be. While a program runs, and in a row that it died over, a free
 * may be seen before its allocation: then the allocation is counted in. Numbers that no program
 * reaches were written over; they count as 0, and the report says how many there were. What
 * contradicts the rest by more than a death explains was written over too, though no figure shows
 * it.
 */
#include "profile/ledger_parts.h"

#include "base/clock.h"
#include "core/bits.h"
#include "ledger/ledger_peak.h"
#include "profile/ledger_figure.h"
#include "profile/profile_check.h"
#include "profile/total_fields.h"

enum { HALF_DONE_MORE = 64, DONE_MEANWHILE_MAX = 1 << 20 };

static void mend_row(struct seep_ledger_load *load, uint32_t row)
{
	struct seep_row_sum *sum = &load->rows.sums[row];
	const uint64_t came = core_larger(sum->allocs, sum->frees);
	const uint64_t came_bytes = core_larger(sum->alloc_bytes, sum->freed_bytes);
	uint64_t allocs = load->row_allocs, bytes = load->row_alloc_bytes;

	if (!seep_ledger_add(&allocs, came) || !seep_ledger_add(&bytes, came_bytes)) {
		*sum = (struct seep_row_sum){ 0 };
		load->rows.in_doubt[row] = 1; /* and so read again */
		load->impossible++;
		return;
	}
	if (came > sum->allocs || came_bytes > sum->alloc_bytes) {
		load->rows.in_doubt[row] = 1;
		(void)seep_ledger_add(&load->freed_more, core_larger(came - sum->allocs, 1));
	}
	sum->allocs = came;
	sum->alloc_bytes = came_bytes;
	sum->temporaries = core_smaller(sum->temporaries, sum->allocs);
	load->row_allocs = allocs;
	load->row_alloc_bytes = bytes;
	/* Of each reading anew what cannot be is left out; of direct ones the rest may be short. */
	(void)seep_ledger_add(&load->direct_bytes, sum->direct_bytes);
}

/* The sums of all rows that are taken do not overflow. */
void seep_ledger_mend_rows(struct seep_ledger_load *load)
{
	const struct seep_rows *rows = &load->rows;

	for (uint64_t i = 0; i < rows->before_count; i++) {
		load->row_allocs -= rows->before[i].allocs;
		load->row_alloc_bytes -= rows->before[i].alloc_bytes;
		load->direct_bytes -= core_smaller(rows->before[i].direct_bytes,
						   load->direct_bytes);
	}
	for (uint64_t i = 0; i < rows->change_count; i++)
		mend_row(load, rows->changes[i].row);
}

/* A thread dies over one operation; what its handlers left by longjmp was counted. */
static uint64_t half_done(const struct seep_ledger_load *load)
{
	return LEDGER_GET(ledger_view_control(&load->view)->caches) +
	       load->profile->totals.abandoned + HALF_DONE_MORE;
}

const char *seep_ledger_contradiction(const struct seep_ledger_load *load)
{
	if (load->view.lost) /* with what is missing nothing need agree */
		return NULL;
	if (load->impossible)
		return "has figures that are impossible, and count as 0";
	if (load->lost_stacks)
		return "has call stacks that lead nowhere";
	/* What changes while it is read is not that much. */
	if (load->live)
		return load->rows.halves > DONE_MEANWHILE_MAX + load->rows.caches.totals.walks / 4
			       ? "has sums that contradict each other"
			       : NULL;
	if (load->orphans)
		return "has figures of call stacks that are not there";
	if (load->freed_more > half_done(load))
		return "has more frees than allocations";
	return load->rows.halves > half_done(load) ? "has sums that contradict each other" : NULL;
}

/* @value, or 0 where it is no figure that a program reaches. */
static uint64_t figure_of(struct seep_ledger_load *load, uint64_t value)
{
	uint64_t figure = 0;

	if (!seep_ledger_add(&figure, value))
		load->impossible++;
	return figure;
}

/* A peak that is the present state has no stamp yet: it lasts until now, or lasted to the end. */
static uint64_t peak_at_ns(const struct seep_ledger_load *load)
{
	const struct ledger_state *state = ledger_view_state(&load->view);
	uint64_t ended_ns = LEDGER_GET(state->ended_ns);

	if (!load->rows.peak_is_now || load->profile->totals.live_bytes == 0)
		return LEDGER_GET(state->peak_at_ns);
	return ended_ns || !load->live ? ended_ns : seep_monotonic_ns();
}

static void copy_state(struct seep_ledger_load *load)
{
	const struct ledger_state *state = ledger_view_state(&load->view);
	struct seep_profile_totals *totals = &load->profile->totals;

	totals->threads = LEDGER_GET(state->threads_started);
	totals->dropped = LEDGER_GET(state->dropped);
	totals->unrecorded_children = LEDGER_GET(ledger_view_sums(&load->view)->unrecorded);
	totals->own_bytes = LEDGER_GET(state->real_bytes) + LEDGER_GET(state->private_bytes);
	totals->verify.walks = LEDGER_GET(state->verify_walks);
	totals->verify.landed = LEDGER_GET(state->verify_landed);
	totals->verify.truncated = LEDGER_GET(state->verify_truncated);
	totals->verify.differences = LEDGER_GET(state->verify_differences);
	totals->in_doubt = load->live ? load->rows.in_doubt_count : load->rows.halves;
}

/* What no program reaches counts as 0. */
static void leave_out_impossible(struct seep_ledger_load *load)
{
	struct seep_profile_totals *totals = &load->profile->totals;

	for (size_t i = 0; i < seep_total_field_count; i++)
		seep_total_set(totals, &seep_total_fields[i],
			       figure_of(load, seep_total_get(totals, &seep_total_fields[i])));
	for (int i = 0; i < LEDGER_HISTOGRAM_BUCKETS; i++)
		totals->histogram[i] = figure_of(load, totals->histogram[i]);
}

/* Where the exact number is known, that is no further off than it says. */
static void widen(uint64_t *error, uint64_t estimate, uint64_t exact)
{
	*error = core_larger(*error, core_larger(estimate, exact) - core_smaller(estimate, exact));
}

/* What follows from others, and is no more than they allow. */
static void derive(struct seep_ledger_load *load)
{
	struct seep_profile_totals *totals = &load->profile->totals;
	const struct seep_cache_sum *caches = &load->rows.caches;
	uint64_t came = figure_of(load, caches->usable_alloc_bytes);
	uint64_t went = figure_of(load, caches->usable_freed_bytes);
	uint64_t full = figure_of(load, caches->walks_full);

	totals->usable_bytes = came - core_smaller(went, came);
	totals->temporary_bytes = core_smaller(totals->temporary_bytes, totals->alloc_bytes);
	totals->walks_landed = totals->walks - core_smaller(full, totals->walks);
	totals->walks_truncated = core_smaller(totals->walks_truncated, totals->walks);
	totals->peak_at_ns = figure_of(load, peak_at_ns(load));
	if (load->profile->process.tiers & LEDGER_MODE_SAMPLED) {
		uint64_t *errors = totals->errors;

		widen(&errors[SEEP_FIGURE_allocs], totals->allocs, totals->counted_allocs);
		widen(&errors[SEEP_FIGURE_alloc_bytes], totals->alloc_bytes,
		      totals->counted_alloc_bytes);
	}
	totals->verify.asked = totals->verify.walks > 0 ||
			       seep_profile_option(load->profile, "verify", 0) > 0;
}

/*
 * The most of (2k + 1) T with k of 2 to n caches, to a few bytes: T falls while caches are handed
 * out, and the peak may have been captured when there were fewer.
 */
static uint64_t kept_back_bytes(uint64_t peak, uint64_t n)
{
	uint64_t all = core_larger(core_smaller(peak / 64, 1024 * n), peak / 1024); /* k T */

	if (n <= 1)
		return 0;
	all = core_larger(all, core_smaller(core_smaller(peak / 8, LEDGER_PEAK_KEPT_FEW),
					    LEDGER_PEAK_KEPT_FEW_EACH * n));
	return 2 * core_smaller(all, 65536 * n) +
	       (uint64_t)ledger_peak_threshold_bytes((int64_t)peak, 2);
}

/*
 * What threads kept to themselves, nothing while there was one; and all that was counted without a
 * slot.
 */
static void bound_peak(struct seep_ledger_load *load)
{
	struct seep_profile_totals *totals = &load->profile->totals;
	uint64_t n = LEDGER_GET(ledger_view_control(&load->view)->caches);
	int64_t captured = LEDGER_GET(ledger_view_state(&load->view)->peak_bytes);
	uint64_t peak = figure_of(load, captured > 0 ? (uint64_t)captured : 0);

	/* A heap that only grew captured none. */
	totals->peak_error_bytes = kept_back_bytes(core_larger(peak, totals->peak_bytes), n);
	/* What was counted without a slot is taken to have happened before the peak, always. */
	(void)seep_ledger_add(&totals->peak_error_bytes, load->direct_bytes);
	totals->peak_exact = totals->peak_error_bytes == 0 && !load->rows.peak_turn_moved;
}

void seep_ledger_load_totals(struct seep_ledger_load *load)
{
	load->profile->totals = load->rows.caches.totals;
	copy_state(load);
	leave_out_impossible(load);
	(void)seep_profile_sum(load->profile, &load->profile->totals); /* rows were mended to fit */
	derive(load);
	load->profile->forked = seep_forked_load(ledger_view_sums(&load->view));
	/* A process may write to its ledger: only of a forked child can this be. */
	load->profile->is_summed = load->view.header.origin == LEDGER_ORIGIN_FORK &&
				   LEDGER_GET(ledger_view_state(&load->view)->summed) != 0;
	bound_peak(load);
}
