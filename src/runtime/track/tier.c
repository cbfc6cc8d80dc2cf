/* SPDX-License-Identifier: MIT */
#include "runtime/track/tier.h"

#include "runtime/sys/sys.h"
#include "runtime/track/context.h"
#include "runtime/track/counters.h"
#include "runtime/track/live_peak.h"
#include "runtime/track/nodes.h"
#include "runtime/track/place.h"
#include "runtime/track/sampled.h"

#include <string.h>

enum { CENSUS = 1000, UNIT_LOG2 = 48, LOG2_BITS = 40 };

/*
 * A thread keeps an eighth of what a sample stands for: peaks are missed by less, and eight looks cost
 * less than a walk. Of many threads each keeps less, but a look takes lines of memory from others.
 */
enum { KEPT_SHARE = 8, KEPT_TIMES = 4, KEPT_LEAST_BYTES = 4096 };

int64_t rt_tier_steps[65];
_Atomic int64_t rt_tier_kept_most;
RT_LARGE _Atomic uint8_t rt_taken[RT_TAKEN_BYTES];

static _Atomic uint32_t changes_noted; /* of control.tier_changes */
static _Atomic uint64_t draws;	       /* threads that have begun to draw */

/* -ln(1 - 2^-@d) in units of 2^-UNIT_LOG2, by its series. */
static int64_t step_of(unsigned d)
{
	int64_t sum = 0;

	if (d == 0)
		return INT64_MAX / 2;
	for (unsigned k = 1; k * d <= UNIT_LOG2; k++)
		sum += (INT64_C(1) << (UNIT_LOG2 - k * d)) / k;
	return sum;
}

void rt_tier_start(bool passes)
{
	rt_global.passes = passes;
	rt_store(&rt_global.adds_passed,
		 rt_header.origin == LEDGER_ORIGIN_START &&
			 rt_global.granule_shift == LEDGER_GRANULE_SHIFT_GLIBC);
	rt_tier_set_kept(0, 1);
	for (unsigned width = 0; width <= 64; width++)
		rt_tier_steps[width] = step_of(ledger_sample_of(
			width ? UINT64_C(1) << (width - 1) : 0, rt_header.sample_log2));
}

void rt_tier_set_kept(uint64_t threshold_bytes, uint32_t threads)
{
	const uint64_t most = (UINT64_C(1) << rt_header.sample_log2) / KEPT_SHARE;
	const uint64_t each = core_larger(threshold_bytes * KEPT_TIMES, KEPT_LEAST_BYTES);

	rt_store(&rt_tier_kept_most, (int64_t)(threads > 1 ? core_smaller(most, each) : most));
}

void rt_tier_forget(void)
{
	memset(rt_taken, 0, sizeof(rt_taken));
	rt_store(&changes_noted, 0);
	rt_global.passes = false;
}

/* xorshift64* (Vigna, 2016). */
static uint64_t draw_bits(struct rt_tier *tier)
{
	uint64_t x = tier->random;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	tier->random = x;
	return x * 0x2545f4914f6cdd1dull;
}

/*
 * -ln U of a random U in (0, 1), in the units of steps. U = m 2^-n with m in [1, 2), and the bits of log2 m
 * are those by which m, squared again and again, becomes 2 or more.
 */
static int64_t draw(struct rt_tier *tier)
{
	const uint64_t bits = draw_bits(tier) | 1;
	const unsigned zeros = (unsigned)__builtin_clzll(bits);
	uint64_t m = bits << zeros; /* in units of 2^-63 */
	uint64_t log2_m = 0;

	for (unsigned bit = LOG2_BITS; bit-- > 0;) {
		const unsigned __int128 square = (unsigned __int128)m * m;
		const bool is_two = square >> 127;

		m = (uint64_t)(square >> (63 + is_two));
		log2_m |= (uint64_t)is_two << bit;
	}
	/* ln 2 in units of 2^-64. */
	return (int64_t)((unsigned __int128)(((uint64_t)(zeros + 1) << LOG2_BITS) - log2_m) *
				 0xb17217f7d1cf79abull >>
			 (64 - UNIT_LOG2 + LOG2_BITS));
}

void rt_taken_add(uintptr_t address)
{
	_Atomic uint8_t *count = rt_taken_at(address);
	uint8_t before = rt_load(count);

	while (before != RT_TAKEN_MANY &&
	       !atomic_compare_exchange_weak_explicit(count, &before, (uint8_t)(before + 1),
						      memory_order_relaxed, memory_order_relaxed))
		;
}

void rt_taken_remove(uintptr_t address)
{
	_Atomic uint8_t *count = rt_taken_at(address);
	uint8_t before = rt_load(count);

	while (before != RT_TAKEN_MANY && before != 0 &&
	       !atomic_compare_exchange_weak_explicit(count, &before, (uint8_t)(before - 1),
						      memory_order_relaxed, memory_order_relaxed))
		;
}

/* The tier is in force in this ledger from now on, perhaps since a while. */
static void note_tier(uint32_t mode)
{
	const uint32_t changes = rt_load_acquire(&rt_global.control->tier_changes);
	struct ledger_state *state = rt_global.state;
	uint64_t never = 0;

	if (mode == LEDGER_MODE_SAMPLED && changes != rt_load(&changes_noted)) {
		/* What was noted in another tier is found by its cell. */
		memset(rt_taken, RT_TAKEN_MANY, sizeof(rt_taken));
		rt_store_release(&changes_noted, changes);
	}
	if (rt_load(&state->tiers) & mode)
		return;
	if (mode == LEDGER_MODE_SAMPLED)
		rt_global.passes = true;
	(void)atomic_compare_exchange_strong_explicit(&state->tiers_since_ns, &never, rt_now_ns(),
						      memory_order_relaxed, memory_order_relaxed);
	(void)atomic_fetch_or_explicit(&state->tiers, mode, memory_order_relaxed);
}

static void tell_kept(struct rt_thread *thread, const struct ledger_control *control)
{
	struct ledger_cache *cache = thread->cache;
	const uint64_t bytes = rt_load(&cache->passed_kept);

	if (!bytes)
		return;
	rt_store(&cache->passed_kept, 0);
	if (rt_load(&control->caches) == 1)
		rt_bump((_Atomic uint64_t *)&cache->first, bytes);
	else
		rt_rise_shared(thread, rt_load(&cache->sum) + (int64_t)bytes);
}

void rt_tier_look(struct rt_thread *thread, struct ledger_control *control)
{
	tell_kept(thread, control);
	if (!rt_load(&rt_global.adds_passed))
		return;
	if (rt_load(&control->caches) == 1)
		rt_fall(thread, control, 0);
	else
		rt_fall_shared(thread, 0);
}

void *rt_tier_tell(struct rt_thread *thread, void *block, const void *frame)
{
	struct ledger_control *control = rt_enter(thread, frame);

	if (control) {
		rt_tier_look(thread, control);
		rt_leave(thread);
	}
	return block;
}

void rt_tier_keep(struct rt_thread *thread, struct ledger_control *control, int64_t bytes)
{
	const int64_t kept = (int64_t)rt_load(&thread->cache->passed_kept) + bytes;
	const int64_t most = rt_load(&rt_tier_kept_most);

	rt_store(&thread->cache->passed_kept, (uint64_t)kept);
	if (kept > most || kept < -most)
		rt_tier_look(thread, control);
}

void rt_tier_rise(struct rt_thread *thread, struct ledger_control *control, uint64_t bytes)
{
	if (rt_load(&rt_global.adds_passed))
		rt_bump(&thread->cache->passed_kept, bytes);
	else
		rt_rise(thread, control, bytes);
}

void rt_tier_fall(struct rt_thread *thread, struct ledger_control *control, uint64_t bytes)
{
	if (!rt_load(&rt_global.adds_passed)) {
		rt_fall(thread, control, bytes);
		return;
	}
	rt_bump(&thread->cache->passed_kept, -bytes);
	tell_kept(thread, control);
}

/* NULL: there is no memory for it, and so it is recorded exactly. */
static struct rt_tier *tier_of(struct rt_thread *thread)
{
	struct rt_tier *tier = thread->tier;

	if (RT_LIKELY(tier != NULL))
		return tier;
	tier = rt_mmap(sizeof(*tier));
	if (!tier)
		return NULL;
	tier->random = core_hash_step(core_hash_step(rt_global.seed, rt_now_ns()),
				      atomic_fetch_add_explicit(&draws, 1, memory_order_relaxed)) |
		       1;
	thread->tier_left = draw(tier);
	tier->begun = UINT64_MAX;
	return thread->tier = tier;
}

/* The mode is another one, or the epoch, or what was known is void. */
static void begin(struct rt_thread *thread, struct rt_tier *tier, uint64_t now)
{
	const uint32_t mode = (uint32_t)now, plain = mode & ~(uint32_t)LEDGER_MODE_TIERS;

	note_tier(mode & LEDGER_MODE_TIERS);
	thread->passes = mode & LEDGER_MODE_SAMPLED;
	tier->generation = rt_load(&rt_generation);
	thread->is_tiered = true;
	memset(tier->sites, 0, sizeof(tier->sites));
	rt_thread_set_frees(thread);
	tier->begun = now;
	rt_store(&thread->tier_quick, plain == LEDGER_MODE_ALL && rt_load(&rt_global.quick) &&
						      !rt_region_bytes && !rt_tls.ignoring &&
						      !rt_tls.unrecorded
					      ? now
					      : UINT64_MAX);
}

/* Lower what is left by an allocation of @size. Is it taken? */
static bool takes(struct rt_thread *thread, uint64_t size)
{
	thread->tier_left -= rt_tier_steps[core_bit_width(size)];
	if (RT_LIKELY(thread->tier_left >= 0))
		return false;
	thread->tier_left = draw(thread->tier);
	return true;
}

static void set_sample(struct rt_key *key, uint64_t size, uint64_t flag)
{
	const uint64_t d = ledger_sample_of(size, rt_header.sample_log2);

	if (d)
		key->word |= d << RT_KEY_SAMPLE_SHIFT | flag;
}

/* The exact tier's quick way is not to be tried. */
static uint32_t walked_row(struct rt_thread *thread, struct rt_key key, uint32_t epoch,
			   const void *frame)
{
	const uint32_t row = rt_place_row(thread, key, epoch, frame);

	thread->walk.leaf = 0;
	return row;
}

/* One more of the first allocations of a site, which are walked. False: it had them. */
static bool is_first_of_site(uintptr_t ra, struct rt_key key)
{
	const uint64_t hash =
		core_hash_step(core_hash_step(rt_global.seed, ra), key.word | RT_KEY_SITE) | 1;
	const uint64_t met = rt_memo_find(&rt_entered, hash);

	if (met < CENSUS)
		rt_entered_put(hash, met + 1);
	return met < CENSUS;
}

static uint32_t site_row(struct rt_thread *thread, struct rt_key key, uint32_t epoch, uintptr_t ra)
{
	const struct rt_key tagged = { key.word | thread->tag };
	const struct rt_key whole = { tagged.word | RT_KEY_SITE };
	const uint64_t hash = core_hash_step(core_hash_step(rt_global.seed, ra), whole.word);
	uint32_t row = rt_context_known(hash, whole, epoch);

	if (RT_UNLIKELY(!row))
		row = rt_context_make_site(ra, rt_context_hash(hash, whole), whole, epoch);
	if (rt_row_is_context(row) && rt_slot(thread, row))
		*rt_site_place(thread->tier, ra, tagged.word) =
			(struct rt_site){ ra, tagged.word, rt_slot(thread, row), row };
	return row;
}

static uint32_t pass(struct rt_thread *thread, uint64_t size)
{
	rt_bump(&thread->cache->passed_allocs, 1);
	rt_bump(&thread->cache->passed_alloc_bytes, size);
	return RT_ROW_PASSED;
}

uint32_t rt_tier_row(struct rt_thread *thread, uint64_t now, struct rt_key key, size_t size,
		     uint32_t *flags, const void *frame)
{
	const uint32_t epoch = (uint32_t)(now >> 32);
	const uintptr_t ra = ((const uintptr_t *)frame)[1];
	struct rt_tier *tier = now & LEDGER_MODE_TIERS ? tier_of(thread) : NULL;
	bool is_weighted;
	uint32_t row;

	if (RT_UNLIKELY(!tier)) {
		thread->is_tiered = thread->passes = false;
		rt_thread_set_frees(thread);
		return rt_place_row(thread, key, epoch, frame);
	}
	if (RT_UNLIKELY(tier->begun != now) ||
	    RT_UNLIKELY(tier->generation != rt_load(&rt_generation)))
		begin(thread, tier, now);
	if (RT_UNLIKELY(rt_load(&rt_names_generation) != rt_load(&thread->name_generation)))
		rt_name_ask(thread);
	is_weighted = thread->passes && rt_key_kind(key) != LEDGER_KIND_POOL;
	if (is_weighted) {
		if (!takes(thread, size))
			return pass(thread, size);
		set_sample(&key, size, RT_KEY_WEIGHTED);
	} else if (!thread->passes && !is_first_of_site(ra, key)) {
		if (!takes(thread, size))
			return site_row(thread, key, epoch, ra);
		set_sample(&key, size, 0);
	}
	row = walked_row(thread, key, epoch, frame);
	if (!is_weighted)
		return row;
	/* What is counted under "other" stands for itself. */
	if (!rt_row_is_context(row))
		return pass(thread, size);
	/* So that no quick way of another tier takes it for one that stands for itself. */
	if (!ledger_flags_are_guarded(*flags))
		*flags = rt_flags_foreign(*flags);
	*flags |= RT_CELL_TAKEN;
	return row;
}
