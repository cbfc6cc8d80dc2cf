/* SPDX-License-Identifier: MIT */
/*
 * A row is consistent when its sequence was even and the same before the first slot and after the
 * row itself was read: a count is either still in its slot or already in the row, and moving it
 * changes the sequence. So one pass over all slots serves all rows at once, and only rows whose
 * sequence moved are summed again.
 */
#include "profile/ledger_parts.h"

#include "base/clock.h"
#include "base/idtable.h"
#include "base/xalloc.h"
#include "core/bits.h"
#include "ledger/ledger_tier.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	TURN_PASSES_MAX = 8,
	SLOT_TRIES_MAX = 4,
	EAGER_ROUNDS = 8,
	ROUND_PAUSE_NS = 200 * 1000,
	RETRY_MAX_NS = 50 * 1000 * 1000,
};

/* What is still to be done for a row. In a finished reading WANTED means "in doubt". */
enum { DONE = 0, WANTED = 1, REDONE = 2 };

/* No difference is by blocks smaller than this. */
enum { HALF_BYTES_LOG2 = 16 };

/*
 * Whether a row's sum holds as long as its sequence does, and no slot of it changes. HELD_AT_CUT:
 * figures at the cut are in it, so as long as there is no other cut, too.
 */
enum { HELD = 1, HELD_AT_CUT = 2, CHANGED = 4 };

struct reader {
	struct ledger_view *view; /* counts are taken again as the ledger grows */
	struct seep_rows *rows;
	uint64_t wanted_count; /* of rows->wanted */
	uint64_t turn;	       /* E */
	bool live;
	bool last; /* no further pass follows, even if the turn moves */
};

static void add(const struct reader *r, uint64_t row, const struct ledger_row_values *values)
{
	struct seep_row_sum *sum = &r->rows->sums[row];
	const bool is_cut = values->turn == r->turn;

	sum->allocs += values->allocs;
	sum->alloc_bytes += values->alloc_bytes;
	sum->frees += values->frees;
	sum->freed_bytes += values->freed_bytes;
	sum->temporaries += values->temporaries;
	sum->peak_blocks += is_cut ? (uint64_t)values->at_blocks : values->allocs - values->frees;
	sum->peak_bytes += is_cut ? (uint64_t)values->at_bytes
				  : values->alloc_bytes - values->freed_bytes;
}

/*
 * What a row or a slot has. The owner of a slot stores at, turn, live in this order; so live is
 * read first, then turn, then at.
 */
#define COPY_VALUES(to, from)                                        \
	do {                                                         \
		(to)->allocs = LEDGER_GET((from)->allocs);           \
		(to)->alloc_bytes = LEDGER_GET((from)->alloc_bytes); \
		(to)->frees = LEDGER_GET((from)->frees);             \
		(to)->freed_bytes = LEDGER_GET((from)->freed_bytes); \
		(to)->temporaries = LEDGER_GET((from)->temporaries); \
		(to)->turn = LEDGER_GET((from)->turn);               \
		(to)->at_blocks = LEDGER_GET((from)->at_blocks);     \
		(to)->at_bytes = LEDGER_GET((from)->at_bytes);       \
	} while (0)

static bool same_counts(const struct ledger_row_values *a, const struct ledger_row_values *b)
{
	return a->allocs == b->allocs && a->alloc_bytes == b->alloc_bytes && a->frees == b->frees &&
	       a->freed_bytes == b->freed_bytes;
}

/* Two equal readings in a row: else an operation could be half counted, its bytes missing. */
static void read_slot(const struct reader *r, const struct ledger_slot *slot,
		      struct ledger_row_values *values)
{
	struct ledger_row_values before;
	int tries = r->live ? SLOT_TRIES_MAX : 0;

	COPY_VALUES(values, slot);
	while (tries-- > 0) {
		before = *values;
		COPY_VALUES(values, slot);
		if (same_counts(&before, values))
			break;
	}
}

/* In a finished flush the sequence is even; before it began the row still stands as it was. */
static const struct ledger_redo *unfinished_flush(const struct reader *r,
						  const struct ledger_cache *cache,
						  uint64_t cache_index, uint64_t *ret_row)
{
	const struct ledger_redo *redo = &cache->redo;
	uint64_t index = (uint64_t)LEDGER_GET(redo->row) - r->view->header.first_row;
	uint64_t sequence;

	if (r->live || LEDGER_GET(redo->active) != 1 || index >= r->rows->count)
		return NULL;
	sequence = r->rows->sequences[index];
	if (!(sequence & LEDGER_SEQ_ODD) || LEDGER_SEQ_CACHE(sequence) != cache_index)
		return NULL;
	*ret_row = index;
	return redo;
}

/* A cache may move to new slots at any time, beyond the count of a moment ago. */
static uint64_t find_slots(const struct reader *r, const struct ledger_cache *cache,
			   uint64_t *ret_first)
{
	uint64_t count = ledger_view_cache_slots(r->view, cache, ret_first);

	if (count > 0 || !r->live)
		return count;
	ledger_view_refresh(r->view);
	return ledger_view_cache_slots(r->view, cache, ret_first);
}

/* Something of the row has figures at the cut @turn. */
static void hold_as(const struct reader *r, uint64_t row, uint64_t turn)
{
	uint8_t *held = &r->rows->held[row];

	if (turn > r->turn)
		*held &= CHANGED;
	else if (turn == r->turn && *held & HELD)
		*held = HELD_AT_CUT | (*held & CHANGED);
}

static void read_cache_slots(const struct reader *r, const struct ledger_cache *cache,
			     uint64_t cache_index)
{
	const struct ledger_redo *redo;
	uint64_t emptied = UINT64_MAX;
	uint64_t first = 0, row = 0;
	uint64_t count = find_slots(r, cache, &first);

	redo = unfinished_flush(r, cache, cache_index, &row);
	if (redo) { /* Its stores, on the private copy. */
		add(r, row, &redo->values);
		r->rows->in_doubt[row] = REDONE;
		emptied = LEDGER_GET(redo->slot);
	}
	for (uint64_t i = first; i < first + count; i++) {
		const struct ledger_slot *slot = ledger_view_slot(r->view, i);
		struct ledger_row_values values;

		if (!slot || i == emptied)
			continue;
		row = (uint64_t)LEDGER_GET(slot->row) - r->view->header.first_row;
		if (row >= r->rows->count || r->rows->in_doubt[row] == DONE)
			continue;
		read_slot(r, slot, &values);
		add(r, row, &values);
		hold_as(r, row, values.turn);
	}
}

static uint64_t hash_slot(const struct ledger_slot *slot)
{
	uint64_t hash = seep_hash_mix(LEDGER_GET(slot->allocs), LEDGER_GET(slot->frees));

	hash = seep_hash_mix(hash ^ LEDGER_GET(slot->alloc_bytes), LEDGER_GET(slot->freed_bytes));
	hash = seep_hash_mix(hash ^ LEDGER_GET(slot->at_bytes), LEDGER_GET(slot->at_blocks));
	return seep_hash_mix(hash ^ LEDGER_GET(slot->turn),
			     (uint64_t)LEDGER_GET(slot->row) << 32 | LEDGER_GET(slot->temporaries));
}

/*
 * Rows of which a slot of this cache has changed are to be read. The hash is older than the
 * reading: what changes in between is seen by both. Its row's sequence is part of it, since between
 * a look and the reading a slot may be flushed, and after it have the very same again.
 */
static void want_cache_slots(const struct reader *r, const struct ledger_cache *cache,
			     uint64_t index __attribute__((unused)))
{
	struct seep_rows *rows = r->rows;
	uint64_t first = 0;
	const uint64_t count = find_slots(r, cache, &first);

	for (uint64_t i = first; i < first + count; i++) {
		const struct ledger_slot *slot = ledger_view_slot(r->view, i);
		uint64_t hash, row;
		uint32_t id;

		if (!slot)
			continue;
		id = LEDGER_GET(slot->row);
		row = (uint64_t)id - r->view->header.first_row;
		hash = hash_slot(slot);
		if (row < rows->count)
			hash = seep_hash_mix(hash, rows->sequences[row]);
		if (i < rows->slot_count && rows->slots[i] == hash)
			continue;
		/* It went from one row to another meanwhile: look again the next time. */
		if (LEDGER_GET(slot->row) != id)
			hash = 0;
		if (i < rows->slot_count)
			rows->slots[i] = hash;
		if (row < rows->count)
			rows->in_doubt[row] = WANTED;
	}
}

static void each_cache(const struct reader *r,
		       void (*each)(const struct reader *r, const struct ledger_cache *cache,
				    uint64_t cache_index))
{
	uint64_t count;

	ledger_view_refresh(r->view);
	count = r->view->count[LEDGER_TABLE_CACHES];
	for (uint64_t i = 0; i < count; i++) {
		const struct ledger_cache *cache = ledger_view_cache(r->view, i);

		if (cache && LEDGER_GET(cache->ready))
			each(r, cache, i);
	}
}

/* What its context says of how it was recorded, once. */
static void find_tier(const struct reader *r, struct seep_row_sum *sum)
{
	const struct ledger_context *context = NULL;
	uint32_t flags;

	if (sum->context > LEDGER_CONTEXT_FIRST)
		context = ledger_view_context(r->view, sum->context - 1);
	flags = context ? LEDGER_GET(context->flags) : 0;
	sum->is_site = (flags & LEDGER_CONTEXT_SITE) != 0;
	sum->is_weighted = (flags & LEDGER_CONTEXT_WEIGHTED) != 0;
	if (flags & LEDGER_CONTEXT_READY)
		sum->sample = (uint8_t)core_smaller(context->sample, LEDGER_SAMPLE_LOG2_MAX);
}

/* What cannot be is kept as what no program reaches. Of the cut, what wraps comes back. */
static void weigh(const struct reader *r, uint64_t index)
{
	struct seep_row_sum *sum = &r->rows->sums[index];
	const uint64_t most = INT64_MAX >> sum->sample;

	if (!sum->is_weighted || sum->sample == 0)
		return;
	for (size_t i = 0; i < sizeof(sum->sums) / sizeof(sum->sums[0]); i++)
		sum->sums[i] = &sum->sums[i] >= &sum->peak_blocks || sum->sums[i] <= most
				       ? sum->sums[i] << sum->sample
				       : UINT64_MAX;
	sum->direct_bytes = core_smaller(sum->direct_bytes, most) << sum->sample;
}

static void begin_row(const struct reader *r, uint64_t index)
{
	const struct ledger_row *row = ledger_view_row(r->view, index);
	struct seep_row_sum *sum = &r->rows->sums[index];

	memset(sum, 0, sizeof(*sum));
	r->rows->in_doubt[index] = WANTED;
	r->rows->held[index] = HELD | CHANGED;
	if (!row)
		return;
	sum->epoch = LEDGER_GET(row->epoch);
	sum->context = LEDGER_GET(row->context_ready);
	find_tier(r, sum);
	r->rows->sequences[index] = LEDGER_GET(row->sequence);
	/* Before the slots: of these blocks the allocations are counted, and are read later. */
	sum->frees = sum->direct_frees = LEDGER_GET(row->direct_frees);
	sum->freed_bytes = sum->direct_freed_bytes = LEDGER_GET(row->direct_freed_bytes);
	sum->peak_blocks = -sum->frees;
	sum->peak_bytes = -sum->freed_bytes;
	sum->direct_bytes = sum->freed_bytes;
	if (index == 0)
		sum->direct_bytes += LEDGER_GET(row->alloc_bytes);
}

/* A thread that died after taking the row and before its redo record was whole changed nothing. */
static bool was_left_alone(const struct reader *r, uint64_t index, uint64_t sequence)
{
	const struct ledger_cache *cache = ledger_view_cache(r->view, LEDGER_SEQ_CACHE(sequence));

	return !r->live && cache && LEDGER_GET(cache->redo.active) == 0 &&
	       (uint64_t)LEDGER_GET(cache->redo.row) - r->view->header.first_row == index;
}

/* Add the row's own values. Returns whether the reading is consistent. */
static bool end_row(const struct reader *r, uint64_t index)
{
	const struct ledger_row *row = ledger_view_row(r->view, index);
	const uint64_t sequence = r->rows->sequences[index];
	struct ledger_row_values values;

	if (!row || r->rows->in_doubt[index] == REDONE)
		return true;
	COPY_VALUES(&values, row);
	add(r, index, &values);
	hold_as(r, index, values.turn);
	if (r->rows->sums[index].context == 0)
		r->rows->held[index] &= CHANGED;
	if (sequence & LEDGER_SEQ_ODD)
		return was_left_alone(r, index, sequence);
	return LEDGER_GET(row->sequence) == sequence;
}

/* Rows that move meanwhile are wanted again. */
static void read_wanted_rows(struct reader *r)
{
	uint64_t count = r->wanted_count;

	for (uint64_t i = 0; i < count; i++)
		begin_row(r, r->rows->wanted[i]);
	each_cache(r, read_cache_slots);
	r->wanted_count = 0;
	for (uint64_t i = 0; i < count; i++) {
		const uint32_t index = r->rows->wanted[i];

		if (end_row(r, index))
			r->rows->in_doubt[index] = DONE;
		else
			r->rows->wanted[r->wanted_count++] = index;
		weigh(r, index);
	}
}

static bool turn_moved(const struct reader *r)
{
	return LEDGER_GET(ledger_view_control(r->view)->peak_turn) != r->turn;
}

/* A dead ledger does not move, and a pass that will be repeated is not worth a wait. */
static void retry_moved_rows(struct reader *r)
{
	const struct timespec pause = { .tv_nsec = ROUND_PAUSE_NS }; /* for writers */
	uint64_t deadline = seep_monotonic_ns() + RETRY_MAX_NS;
	int rounds = 0;

	while (r->live && r->wanted_count > 0 && seep_monotonic_ns() < deadline) {
		if (!r->last && turn_moved(r))
			break;
		if (++rounds > EAGER_ROUNDS)
			(void)nanosleep(&pause, NULL);
		read_wanted_rows(r);
	}
}

/*
 * Looked at once, after the slots: what a slot had and was flushed meanwhile has changed the
 * sequence. Row 0 is counted without one, too.
 */
static bool holds(const struct reader *r, uint64_t index)
{
	const uint8_t held = r->rows->held[index];
	const struct ledger_row *row;
	uint64_t frees, bytes;

	if (index == LEDGER_CONTEXT_NO_STACK || r->rows->in_doubt[index] != DONE ||
	    !(held & (r->turn == r->rows->turn ? HELD | HELD_AT_CUT : HELD)))
		return false;
	row = ledger_view_row(r->view, index);
	if (!row || LEDGER_GET(row->sequence) != r->rows->sequences[index])
		return false;
	frees = LEDGER_GET(row->direct_frees);
	bytes = LEDGER_GET(row->direct_freed_bytes);
	return (frees | bytes) == 0 || (frees == r->rows->sums[index].direct_frees &&
					bytes == r->rows->sums[index].direct_freed_bytes);
}

/* Once for all passes of a reading. */
static void note_change(struct seep_rows *rows, uint32_t index)
{
	struct seep_row_change *change;

	if (rows->held[index] & CHANGED)
		return;
	change = SEEP_APPEND(rows->changes, rows->change_count);
	*change = (struct seep_row_change){ index, 0 };
	if (!(rows->sums[index].allocs | rows->sums[index].alloc_bytes))
		return;
	*SEEP_APPEND(rows->before, rows->before_count) = rows->sums[index];
	change->before = (uint32_t)rows->before_count;
}

static void read_rows(struct reader *r)
{
	struct seep_rows *rows = r->rows;
	const uint64_t slots = r->view->count[LEDGER_TABLE_SLOTS];

	if (r->live && slots > rows->slot_count) {
		rows->slots = seep_xextend(rows->slots, rows->slot_count, slots,
					   sizeof(*rows->slots));
		rows->slot_count = slots;
	}
	if (r->live)
		each_cache(r, want_cache_slots);
	r->wanted_count = 0;
	for (uint64_t i = 0; i < rows->count; i++) {
		if (holds(r, i))
			continue;
		note_change(rows, (uint32_t)i);
		rows->wanted[r->wanted_count++] = (uint32_t)i;
	}
	rows->turn = r->turn;
	read_wanted_rows(r);
	retry_moved_rows(r);
	rows->in_doubt_count = r->wanted_count;
}

static void add_cache(const struct reader *r, const struct ledger_cache *cache,
		      uint64_t index __attribute__((unused)))
{
	struct seep_cache_sum *sum = &r->rows->caches;
	struct seep_profile_totals *totals = &sum->totals;

	sum->live_bytes += (uint64_t)LEDGER_GET(cache->sum) + (uint64_t)LEDGER_GET(cache->first) +
			   LEDGER_GET(cache->passed_kept);
	sum->usable_alloc_bytes += LEDGER_GET(cache->usable_alloc_bytes);
	sum->usable_freed_bytes += LEDGER_GET(cache->usable_freed_bytes);
	sum->walks_full += LEDGER_GET(cache->walks_full);
	totals->temporary_bytes += LEDGER_GET(cache->temporary_bytes);
	totals->abandoned += LEDGER_GET(cache->abandoned);
	totals->untracked_frees += LEDGER_GET(cache->untracked_frees);
	totals->missed_frees += LEDGER_GET(cache->missed_frees);
	totals->inherited_frees += LEDGER_GET(cache->inherited_frees);
	totals->inherited_freed_bytes += LEDGER_GET(cache->inherited_freed_bytes);
	totals->walks_truncated += LEDGER_GET(cache->walks_truncated);
	totals->counted_allocs += LEDGER_GET(cache->passed_allocs);
	totals->counted_alloc_bytes += LEDGER_GET(cache->passed_alloc_bytes);
	totals->counted_frees += LEDGER_GET(cache->passed_frees);
	for (int i = 0; i < LEDGER_HISTOGRAM_BUCKETS; i++) {
		uint64_t allocs = LEDGER_GET(cache->histogram[i]);

		totals->histogram[i] += allocs;
		totals->walks += allocs; /* as many as allocations that are in a histogram */
	}
}

static void read_caches(const struct reader *r)
{
	const struct ledger_state *state = ledger_view_state(r->view);
	struct seep_cache_sum *sum = &r->rows->caches;

	memset(sum, 0, sizeof(*sum));
	sum->usable_freed_bytes = LEDGER_GET(state->direct_usable_bytes);
	each_cache(r, add_cache);
	sum->live_bytes += (uint64_t)LEDGER_GET(state->live_bytes);
	r->rows->peak_is_now = (int64_t)sum->live_bytes >= LEDGER_GET(state->peak_bytes);
}

static void make_room(struct seep_rows *rows, uint64_t count)
{
	const uint64_t old = rows->capacity;

	rows->count = count;
	if (count <= old && rows->sums)
		return;
	/* In a dead ledger exactly; of one that grows, not with every reading. */
	rows->capacity = rows->sums ? count + count / 2 : count;
	rows->sums = seep_xextend(rows->sums, old, rows->capacity, sizeof(*rows->sums));
	rows->sequences = seep_xextend(rows->sequences, old, rows->capacity,
				       sizeof(*rows->sequences));
	rows->in_doubt = seep_xextend(rows->in_doubt, old, rows->capacity, sizeof(*rows->in_doubt));
	rows->held = seep_xextend(rows->held, old, rows->capacity, sizeof(*rows->held));
	rows->wanted = seep_xextend(rows->wanted, old, rows->capacity, sizeof(*rows->wanted));
}

/* What was changed by the last reading is not by this one. */
static void begin_changes(struct seep_rows *rows)
{
	for (uint64_t i = 0; i < rows->change_count; i++)
		rows->held[rows->changes[i].row] &= HELD | HELD_AT_CUT;
	rows->change_count = rows->before_count = 0;
}

static uint64_t magnitude(uint64_t difference)
{
	return (int64_t)difference < 0 ? -difference : difference;
}

/*
 * At rest the ledger says two things twice: how many allocations had a slot (in rows and slots, and
 * in the histograms) and how much is alive. Where it does not agree with itself, operations were
 * left half done, by a death or by a handler's longjmp: so many at least, none of them larger than
 * the largest there was. Read from a process that runs, it differs by what was done meanwhile.
 */
static uint64_t count_halves(const struct seep_rows *rows, bool is_live_known)
{
	uint64_t allocs = rows->caches.totals.walks, live = rows->caches.live_bytes;
	unsigned largest_log2 = HALF_BYTES_LOG2;

	for (unsigned i = largest_log2; i < SEEP_PROFILE_HISTOGRAM_BUCKETS; i++)
		if (rows->caches.totals.histogram[i])
			largest_log2 = i;
	for (uint64_t i = 0; i < rows->count; i++) {
		allocs -= i == LEDGER_CONTEXT_NO_STACK ? 0 : rows->sums[i].allocs;
		live -= rows->sums[i].alloc_bytes - rows->sums[i].freed_bytes;
	}
	if (!is_live_known)
		live = 0;
	return magnitude(allocs) + (magnitude(live) >> largest_log2) + (!allocs && live);
}

void seep_rows_read(struct ledger_view *view, bool live, struct seep_rows *rows)
{
	struct reader r = { .view = view, .rows = rows, .live = live };
	int passes = live ? TURN_PASSES_MAX : 1;

	ledger_view_refresh(view);
	make_room(rows, view->count[LEDGER_TABLE_ROWS]);
	begin_changes(rows);
	do {
		r.turn = LEDGER_GET(ledger_view_control(view)->peak_turn);
		r.last = passes == 1;
		read_rows(&r);
		read_caches(&r);
		rows->peak_turn_moved = turn_moved(&r);
	} while (rows->peak_turn_moved && --passes > 0);
	/* Of what passes in tier "sampled" rows know nothing. */
	rows->halves = count_halves(
		rows, !(LEDGER_GET(ledger_view_state(view)->tiers) & LEDGER_MODE_SAMPLED));
}

void seep_rows_done(struct seep_rows *rows)
{
	free(rows->sums);
	free(rows->sequences);
	free(rows->in_doubt);
	free(rows->held);
	free(rows->slots);
	free(rows->wanted);
	free(rows->changes);
	free(rows->before);
}
