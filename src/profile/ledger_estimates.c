/* SPDX-License-Identifier: MIT */
/*
 * Figures that are estimates, and their errors. Rows of tier "sampled" are weighted as they are read;
 * here are their errors. In tier "counts" the rest of a site is given to its stacks: as rows with the
 * figures that each gets, which are added like those of the ledger, and taken back before the next
 * reading. docs/internals/tiers.md has the formulas.
 */
#include "profile/ledger_parts.h"

#include "base/search.h"
#include "base/xalloc.h"
#include "core/bits.h"
#include "profile/estimate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of epochs in which nothing was taken, times the stacks that the others tell of. */
enum { FALLBACKS_MAX = 1 << 24 };

/* Sizes of what is taken with one probability differ by less than two. */
static const double size_spread = 9.0 / 8;

static bool is_bytes(int figure)
{
	return seep_figure_blocks[figure] != figure;
}

/* A figure of a row; one below 0 is of a cut that was read while it was made. */
static uint64_t figure_of(const struct seep_ledger_load *load, uint32_t row, int figure)
{
	const struct seep_row_sum *sum = &load->rows.sums[row];
	uint64_t value = 0, most = is_bytes(figure) ? sum->alloc_bytes : sum->allocs;

	if (load->rows.peak_is_now && figure == SEEP_FIGURE_peak_blocks)
		figure = SEEP_FIGURE_live_blocks;
	if (load->rows.peak_is_now && figure == SEEP_FIGURE_peak_bytes)
		figure = SEEP_FIGURE_live_bytes;
	switch (figure) {
	case SEEP_FIGURE_allocs:
	case SEEP_FIGURE_alloc_bytes:
		return most;
	case SEEP_FIGURE_frees:
		value = sum->frees;
		break;
	case SEEP_FIGURE_freed_bytes:
		value = sum->freed_bytes;
		break;
	case SEEP_FIGURE_live_blocks:
		value = sum->allocs - sum->frees;
		break;
	case SEEP_FIGURE_live_bytes:
		value = sum->alloc_bytes - sum->freed_bytes;
		break;
	case SEEP_FIGURE_peak_blocks:
		value = sum->peak_blocks;
		break;
	case SEEP_FIGURE_peak_bytes:
		value = sum->peak_bytes;
		break;
	default:
		value = sum->temporaries;
	}
	return (int64_t)value < 0 ? 0 : core_smaller(value, most);
}

/* ---- tier "sampled" -------------------------------------------------------------------------- */

static void set_error(struct seep_ledger_load *load, uint32_t place, int figure, uint64_t error)
{
	struct seep_profile_context *context = &load->profile->contexts[place - 1];

	if (!context->errors)
		context->errors = seep_profile_calloc(load->profile, SEEP_FIGURE_COUNT,
						      sizeof(*context->errors));
	context->errors[figure] = seep_error_join(context->errors[figure], error);
}

static void take(const struct seep_ledger_load *load, uint32_t row, struct seep_taken *taken)
{
	const double weight = ldexp(1, load->rows.sums[row].sample);

	for (int f = 0; f < SEEP_FIGURE_COUNT; f++) {
		const double count = (double)figure_of(load, row, seep_figure_blocks[f]);
		const double size = is_bytes(f) && count > 0
					    ? (double)figure_of(load, row, f) / count
					    : 1;

		taken[f].count += count / weight;
		taken[f].variance += count * (weight - 1) * size * size *
				     (is_bytes(f) ? size_spread : 1);
	}
}

static uint64_t error_of(const struct seep_taken *taken, int figure)
{
	const struct seep_taken *all =
		&taken[is_bytes(figure) ? SEEP_FIGURE_alloc_bytes : SEEP_FIGURE_allocs];

	return all->count > 0 ? seep_taken_error(&taken[figure], all->variance / all->count) : 0;
}

/* Of a sum of nothing that was taken: no more than what passed, or what one sample stands for. */
static uint64_t error_of_none(const struct seep_ledger_load *load,
			      const struct seep_profile_totals *passed, int figure)
{
	const double rate = (double)load->profile->process.sample_bytes;
	const double mean = (double)passed->counted_alloc_bytes / (double)passed->counted_allocs;
	const double unit = is_bytes(figure) ? rate : rate / fmax(mean, 1);

	return core_smaller(seep_taken_error(&(struct seep_taken){ 0 }, unit * unit),
			    is_bytes(figure) ? passed->counted_alloc_bytes
					     : passed->counted_allocs);
}

static void count(struct seep_profile_totals *totals, const struct seep_row_sum *sum)
{
	const unsigned sample = sum->is_weighted ? sum->sample : 0;

	totals->counted_allocs += sum->allocs >> sample;
	totals->counted_alloc_bytes += sum->alloc_bytes >> sample;
	totals->counted_frees += sum->frees >> sample;
}

static void estimate_sampled(struct seep_ledger_load *load)
{
	struct seep_profile_totals *totals = &load->rows.caches.totals;
	const struct seep_profile_totals passed = *totals;
	const uint32_t all = load->profile->context_count;
	/* By context, and figure; behind them of all. */
	SEEP_FREED struct seep_taken(*taken)[SEEP_FIGURE_COUNT] = seep_xcalloc((size_t)all + 1,
									       sizeof(*taken));

	for (uint32_t i = 0; i < load->rows.count; i++) {
		const struct seep_row_sum *sum = &load->rows.sums[i];
		const uint32_t place = load->profile->rows[i].context;

		count(totals, sum);
		if (!sum->is_weighted || sum->sample == 0 || place == 0)
			continue;
		take(load, i, taken[place - 1]);
		take(load, i, taken[all]);
	}
	for (uint32_t i = 0; i < all; i++)
		for (int f = 0; f < SEEP_FIGURE_COUNT && taken[i][SEEP_FIGURE_allocs].count > 0;
		     f++)
			set_error(load, i + 1, f, error_of(taken[i], f));
	for (int f = 0; f < SEEP_FIGURE_COUNT; f++)
		totals->errors[f] = taken[all][f].count > 0	? error_of(taken[all], f)
				    : passed.counted_allocs > 0 ? error_of_none(load, &passed, f)
								: 0;
}

/* ---- tier "counts" --------------------------------------------------------------------------- */

/* What is given; what was allocated follows from the first two. */
enum { LIVE, FREED, PEAK, TEMPORARY, SHARES };

/* Blocks and their bytes, or what stands for them. */
struct amount {
	uint64_t blocks, bytes;
};

struct weight {
	double blocks, bytes;
	double squares; /* of blocks' weights */
};

/* Of a site. */
struct stack {
	uint32_t place;
	struct amount own[SHARES];
	struct amount came; /* was allocated, with what was given */
	struct weight weights[SHARES];
	struct weight now;		     /* what is given goes by it */
	struct amount given;		     /* now */
	double variances[SEEP_FIGURE_COUNT]; /* squares of errors */
};

/* A row, of a site. */
struct item {
	uint32_t site, epoch, place, row;
	uint32_t first; /* row of its context: the order of stacks, the same in each reading */
};

struct giver {
	struct seep_ledger_load *load;
	uint32_t site; /* place of its context */
	struct amount rest[SHARES];
	struct stack *stacks;
	uint32_t count;
	uint32_t *stack_of; /* by place: index in stacks */
	uint32_t *list;	    /* of those that something is given to, now */
	uint32_t list_count;
	uint64_t fallbacks;
};

static const struct {
	int blocks, bytes; /* figures */
} shares[SHARES] = {
	[LIVE] = { SEEP_FIGURE_live_blocks, SEEP_FIGURE_live_bytes },
	[FREED] = { SEEP_FIGURE_frees, SEEP_FIGURE_freed_bytes },
	[PEAK] = { SEEP_FIGURE_peak_blocks, SEEP_FIGURE_peak_bytes },
	[TEMPORARY] = { SEEP_FIGURE_temporary, SEEP_FIGURE_temporary },
};

static struct amount amount_of(const struct seep_ledger_load *load, uint32_t row, int share)
{
	return (struct amount){
		figure_of(load, row, shares[share].blocks),
		share == TEMPORARY ? 0 : figure_of(load, row, shares[share].bytes),
	};
}

static void add_amount(struct amount *sum, struct amount more)
{
	sum->blocks += more.blocks;
	sum->bytes += more.bytes;
}

/* What the blocks of a row stand for beside themselves. */
static void add_weight(struct weight *sum, const struct seep_ledger_load *load, uint32_t row,
		       int share)
{
	const double others = ldexp(1, load->rows.sums[row].sample) - 1;
	const struct amount amount = amount_of(load, row, share);

	sum->blocks += others * (double)amount.blocks;
	sum->bytes += others * (double)amount.bytes;
	sum->squares += others * others * (double)amount.blocks;
}

static double mean_bytes(const struct weight *weight)
{
	return weight->blocks > 0 ? weight->bytes / weight->blocks : 0;
}

static uint64_t room_for(const struct stack *stack, int share, bool bytes)
{
	const struct amount *came = &stack->came, *own = &stack->own[share];

	if (share == LIVE || share == FREED)
		return INT64_MAX;
	return bytes ? came->bytes - core_smaller(own->bytes, came->bytes)
		     : came->blocks - core_smaller(own->blocks, came->blocks);
}

/*
 * Give the blocks, or bytes, of @rest by the weights, rounded so that all of it is given. What has
 * no room stays, up to @keep; the rest goes where there is room.
 */
static uint64_t apportion(struct giver *g, int share, bool bytes, uint64_t rest, uint64_t keep)
{
	uint64_t left = rest, before = 0;
	long double all = 0, sum = 0;

	for (int pass = 0; pass < 2; pass++)
		for (uint32_t i = 0; i < g->list_count; i++) {
			struct stack *to = &g->stacks[g->list[i]];
			/* By blocks that were given, so that none is without its bytes. */
			const double part = bytes ? (double)to->given.blocks * mean_bytes(&to->now)
						  : to->now.blocks;
			uint64_t upto;

			if (pass == 0) {
				all += part;
				continue;
			}
			sum += part;
			upto = all <= 0	    ? 0
			       : sum >= all ? rest
					    : (uint64_t)((long double)rest * (sum / all));
			*(bytes ? &to->given.bytes : &to->given.blocks) =
				core_smaller(upto - before, room_for(to, share, bytes));
			left -= bytes ? to->given.bytes : to->given.blocks;
			before = upto;
		}
	for (uint32_t i = 0; i < g->list_count && left > keep; i++) {
		struct stack *to = &g->stacks[g->list[i]];
		uint64_t *given = bytes ? &to->given.bytes : &to->given.blocks;
		const uint64_t more = core_smaller(left - keep,
						   room_for(to, share, bytes) - *given);

		*given += more;
		left -= more;
	}
	return left;
}

static void add_gift(struct giver *g, uint32_t place, uint32_t epoch, int share,
		     struct amount amount)
{
	struct seep_ledger_gift gift = { .place = place, .sum.epoch = epoch };

	if ((amount.blocks | amount.bytes) == 0)
		return;
	if (share == LIVE || share == FREED) {
		gift.sum.allocs = amount.blocks;
		gift.sum.alloc_bytes = amount.bytes;
	}
	if (share == FREED) {
		gift.sum.frees = amount.blocks;
		gift.sum.freed_bytes = amount.bytes;
	} else if (share == PEAK) {
		gift.sum.peak_blocks = amount.blocks;
		gift.sum.peak_bytes = amount.bytes;
	} else if (share == TEMPORARY) {
		gift.sum.temporaries = amount.blocks;
	}
	*SEEP_APPEND(g->load->gifts, g->load->gift_count) = gift;
	seep_ledger_add_row(g->load, place, &gift.sum);
}

/* Where nothing was taken all of the rest may be the stack's. */
static void add_variance(struct stack *stack, int share, const struct amount *rest,
			 const struct weight *all, double byte_squares)
{
	const double of_blocks =
		all->blocks > 0 ? seep_share_error(stack->now.blocks / all->blocks,
						   all->blocks * all->blocks / all->squares)
				: 1;
	const double of_bytes = byte_squares > 0
					? seep_share_error(stack->now.bytes / all->bytes,
							   all->bytes * all->bytes / byte_squares)
				: all->blocks > 0 ? 0
						  : 1;
	const double blocks = (double)rest->blocks * of_blocks;
	const double bytes = (double)rest->bytes * of_bytes;

	stack->variances[shares[share].blocks] += blocks * blocks;
	if (share == LIVE || share == FREED)
		stack->variances[SEEP_FIGURE_allocs] += blocks * blocks;
	if (share != TEMPORARY)
		stack->variances[shares[share].bytes] += bytes * bytes;
	if (share == LIVE || share == FREED)
		stack->variances[SEEP_FIGURE_alloc_bytes] += bytes * bytes;
}

static struct weight sum_weights(const struct giver *g, double *ret_byte_squares)
{
	struct weight all = { 0 };

	*ret_byte_squares = 0;
	for (uint32_t i = 0; i < g->list_count; i++) {
		const struct weight *now = &g->stacks[g->list[i]].now;

		all.blocks += now->blocks;
		all.bytes += now->bytes;
		all.squares += now->squares;
		*ret_byte_squares += now->squares * mean_bytes(now) * mean_bytes(now);
	}
	return all;
}

/* Give @rest, which is the site's, of this epoch. */
static void give(struct giver *g, int share, uint32_t epoch, struct amount rest)
{
	const bool is_capped = share == PEAK || share == TEMPORARY;
	struct amount left = { 0 };
	double byte_squares;
	const struct weight all = sum_weights(g, &byte_squares);

	left.blocks = apportion(g, share, false, rest.blocks,
				is_capped ? g->rest[LIVE].blocks + g->rest[FREED].blocks
					  : UINT64_MAX);
	left.bytes = apportion(g, share, true, rest.bytes,
			       is_capped ? g->rest[LIVE].bytes + g->rest[FREED].bytes : UINT64_MAX);
	for (uint32_t i = 0; i < g->list_count; i++) {
		struct stack *to = &g->stacks[g->list[i]];

		add_gift(g, to->place, epoch, share, to->given);
		if (!is_capped)
			add_amount(&to->came, to->given);
		add_variance(to, share, &rest, &all, byte_squares);
	}
	g->rest[share].blocks -= rest.blocks - left.blocks;
	g->rest[share].bytes -= rest.bytes - left.bytes;
	add_gift(g, g->site, epoch, share,
		 (struct amount){ left.blocks - rest.blocks, left.bytes - rest.bytes });
}

static void list_all(struct giver *g, int share)
{
	g->list_count = 0;
	for (uint32_t i = 0; i < g->count; i++) {
		g->stacks[i].now = g->stacks[i].weights[share];
		g->list[g->list_count++] = i;
	}
}

/* What is alive of one epoch goes by what was taken in it, else by all that was taken. */
static void give_live(struct giver *g, const struct item *items, size_t count)
{
	struct amount rest = { 0 };
	double taken = 0;

	g->list_count = 0;
	for (size_t i = 0; i < count; i++) {
		struct stack *stack;

		if (items[i].place == g->site) {
			add_amount(&rest, amount_of(g->load, items[i].row, LIVE));
			continue;
		}
		stack = &g->stacks[g->stack_of[items[i].place]];
		if (i == 0 || items[i].place != items[i - 1].place) {
			stack->now = (struct weight){ 0 };
			g->list[g->list_count++] = g->stack_of[items[i].place];
		}
		add_weight(&stack->now, g->load, items[i].row, LIVE);
		taken += stack->now.blocks;
	}
	if ((rest.blocks | rest.bytes) == 0)
		return;
	if (taken <= 0 && g->fallbacks + g->count <= FALLBACKS_MAX) {
		g->fallbacks += g->count;
		list_all(g, LIVE);
	}
	give(g, LIVE, items[0].epoch, rest);
}

static void add_item(struct giver *g, const struct item *item)
{
	const struct seep_row_sum *sum = &g->load->rows.sums[item->row];
	struct stack *stack = NULL;
	uint32_t *at = &g->stack_of[item->place];

	if (item->place != g->site && (*at >= g->count || g->stacks[*at].place != item->place)) {
		*at = g->count;
		*SEEP_APPEND(g->stacks, g->count) = (struct stack){ .place = item->place };
	}
	if (item->place != g->site) {
		stack = &g->stacks[*at];
		add_amount(&stack->came, (struct amount){ sum->allocs, sum->alloc_bytes });
	}
	for (int share = 0; share < SHARES; share++) {
		const struct amount amount = amount_of(g->load, item->row, share);

		add_amount(stack ? &stack->own[share] : &g->rest[share], amount);
		if (stack)
			add_weight(&stack->weights[share], g->load, item->row, share);
	}
}

static void give_site(struct giver *g, const struct item *items, size_t count)
{
	memset(g->rest, 0, sizeof(g->rest));
	g->count = 0;
	g->site = items[0].site;
	for (size_t i = 0; i < count; i++)
		add_item(g, &items[i]);
	for (size_t from = 0, to; from < count; from = to) {
		for (to = from; to < count && items[to].epoch == items[from].epoch;)
			to++;
		give_live(g, &items[from], to - from);
	}
	for (int share = FREED; share < SHARES; share++) {
		list_all(g, share);
		give(g, share, items[0].epoch, g->rest[share]);
	}
	for (uint32_t i = 0; i < g->count; i++)
		for (int f = 0; f < SEEP_FIGURE_COUNT; f++)
			set_error(g->load, g->stacks[i].place, f,
				  seep_error_ceil(sqrt(g->stacks[i].variances[f])));
}

static uint64_t hash_site(const struct seep_ledger_load *load, uint32_t place)
{
	const struct seep_profile_context *context = &load->profile->contexts[place - 1];
	const uint64_t hash = seep_hash_mix(load->contexts[place - 1].frame,
					    (uint64_t)context->scope << 16 | context->kind << 8 |
						    context->align_log2);

	return seep_hash_text(hash, context->thread);
}

static bool is_of_site(const struct seep_ledger_load *load, uint32_t place, uint32_t site)
{
	const struct seep_profile_context *a = &load->profile->contexts[place - 1];
	const struct seep_profile_context *b = &load->profile->contexts[site - 1];

	return load->contexts[place - 1].frame == load->contexts[site - 1].frame &&
	       a->kind == b->kind && a->align_log2 == b->align_log2 && a->scope == b->scope &&
	       seep_text_equal(a->thread, b->thread);
}

/* The place of its site's context; of that, itself. 0: there is none. */
static uint32_t find_site(const struct seep_ledger_load *load, const struct seep_idtable *sites,
			  uint32_t place)
{
	const uint64_t hash = hash_site(load, place);
	size_t at = SEEP_IDTABLE_START;
	uint32_t site;

	if (load->contexts[place - 1].frame == 0)
		return 0;
	while ((site = seep_idtable_find(sites, hash, &at)) != SEEP_IDTABLE_NONE)
		if (is_of_site(load, place, site))
			return site;
	return 0;
}

/* By site; what is of one context, also if it is of several rows, comes together. */
static int by_site(const void *left, const void *right)
{
	const struct item *a = left, *b = right;

	return seep_search_order(a->site, b->site) ?: seep_search_order(a->epoch, b->epoch)
		       ?: seep_search_order(a->first, b->first)
		       ?: seep_search_order(a->row, b->row);
}

static void give_all(struct giver *g, const struct item *items, size_t count)
{
	for (size_t from = 0, to; from < count; from = to) {
		for (to = from; to < count && items[to].site == items[from].site;)
			to++;
		give_site(g, &items[from], to - from);
	}
}

static void estimate_sites(struct seep_ledger_load *load)
{
	const struct seep_profile *profile = load->profile;
	const size_t places = (size_t)profile->context_count + 1;
	SEEP_FREED uint32_t *site_of = seep_xcalloc(places, sizeof(*site_of));
	SEEP_FREED uint32_t *stack_of = seep_xcalloc(places, sizeof(*stack_of));
	SEEP_FREED uint32_t *list = seep_xcalloc(places, sizeof(*list));
	SEEP_FREED uint32_t *first = seep_xcalloc(places, sizeof(*first));
	SEEP_RELEASED(seep_idtable_done) struct seep_idtable sites = { 0 };
	struct giver g = { .load = load, .stack_of = stack_of, .list = list };
	SEEP_FREED struct item *items = NULL;
	size_t count = 0;

	for (uint32_t i = 1; i < places; i++)
		if (profile->contexts[i - 1].site && !find_site(load, &sites, i))
			seep_idtable_add(&sites, hash_site(load, i), i);
	for (uint32_t i = 1; i < places; i++)
		site_of[i] = find_site(load, &sites, i);
	for (uint32_t i = 0; i < load->rows.count; i++) {
		const uint32_t place = profile->rows[i].context;

		/* Another context of the same site is like a stack of which nothing was taken. */
		if (!place || !site_of[place] || load->rows.sums[i].is_weighted)
			continue;
		first[place] = first[place] ? first[place] : i + 1;
		*SEEP_APPEND(items, count) = (struct item){ site_of[place],
							    load->rows.sums[i].epoch, place, i,
							    first[place] };
	}
	if (count > 1)
		qsort(items, count, sizeof(*items), by_site);
	give_all(&g, items, count);
	free(g.stacks);
}

void seep_ledger_take_back(struct seep_ledger_load *load)
{
	for (size_t i = 0; i < load->gift_count; i++) {
		struct seep_row_sum *sum = &load->gifts[i].sum;

		for (size_t k = 0; k < sizeof(sum->sums) / sizeof(sum->sums[0]); k++)
			sum->sums[k] = -sum->sums[k];
		seep_ledger_add_row(load, load->gifts[i].place, sum);
	}
	load->gift_count = 0;
	for (uint32_t i = 0; i < load->profile->context_count; i++)
		if (load->profile->contexts[i].errors)
			memset(load->profile->contexts[i].errors, 0,
			       SEEP_FIGURE_COUNT * sizeof(uint64_t));
}

void seep_ledger_estimate(struct seep_ledger_load *load)
{
	/* With the tier that was asked for, and that no thread has met yet. */
	if (load->profile->process.tiers & LEDGER_MODE_SAMPLED)
		estimate_sampled(load);
	if (load->has_sites)
		estimate_sites(load);
}
