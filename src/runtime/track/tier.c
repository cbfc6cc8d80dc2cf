/* SPDX-License-Identifier: MIT */
#include "runtime/track/tier.h"

#include "runtime/sys/sys.h"
#include "runtime/track/context.h"
#include "runtime/track/nodes.h"
#include "runtime/track/place.h"
#include "runtime/track/quick.h"
#include "runtime/track/sampled.h"

#include <string.h>

enum { CENSUS = 1000, UNIT_LOG2 = 48, LOG2_BITS = 40 };

int64_t rt_tier_steps[65];
RT_LARGE _Atomic uint8_t rt_taken[RT_TAKEN_BYTES];

static _Atomic uint64_t draws; /* threads that have begun to draw */

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
	for (unsigned width = 0; width <= 64; width++)
		rt_tier_steps[width] = step_of(ledger_sample_of(
			width ? UINT64_C(1) << (width - 1) : 0, rt_header.sample_log2));
}

void rt_tier_forget(void)
{
	memset(rt_taken, 0, sizeof(rt_taken));
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
	struct ledger_state *state = rt_global.state;
	uint64_t never = 0;

	if (rt_load(&state->tiers) & mode)
		return;
	if (mode == LEDGER_MODE_SAMPLED) {
		/* What was noted before, or by a forked child's parent, is found by its cell. */
		if (!rt_global.passes)
			memset(rt_taken, RT_TAKEN_MANY, sizeof(rt_taken));
		rt_store(&rt_global.control->filtered_once, LEDGER_FILTERED_ALL);
		rt_global.passes = true;
	}
	(void)atomic_compare_exchange_strong_explicit(&state->tiers_since_ns, &never, rt_now_ns(),
						      memory_order_relaxed, memory_order_relaxed);
	(void)atomic_fetch_or_explicit(&state->tiers, mode, memory_order_relaxed);
}

/* NULL: there is no memory for it, and so it is recorded exactly. */
static struct rt_tier *tier_of(struct rt_thread *thread)
{
	struct rt_tier *tier = thread->tier_page;

	if (RT_LIKELY(tier != NULL))
		return thread->tier = tier;
	tier = rt_mmap(sizeof(*tier));
	if (!tier)
		return NULL;
	thread->tier_page = tier;
	tier->random = core_hash_step(core_hash_step(rt_global.seed, rt_now_ns()),
				      atomic_fetch_add_explicit(&draws, 1, memory_order_relaxed)) |
		       1;
	tier->left = draw(tier);
	tier->begun = UINT64_MAX;
	return thread->tier = tier;
}

/* The mode is another one, or the epoch, or what was known is void. */
static void begin(struct rt_thread *thread, struct rt_tier *tier, uint64_t now)
{
	const uint32_t mode = (uint32_t)now, plain = mode & ~(uint32_t)LEDGER_MODE_TIERS;

	note_tier(mode & LEDGER_MODE_TIERS);
	tier->passes = mode & LEDGER_MODE_SAMPLED;
	tier->generation = rt_load(&rt_generation);
	memset(tier->sites, 0, sizeof(tier->sites));
	rt_thread_set_frees(thread);
	tier->begun = now;
	rt_store(&tier->quick,
		 plain == LEDGER_MODE_ALL && rt_load(&rt_global.quick) && !rt_region_bytes
			 ? now
			 : UINT64_MAX);
}

/* Lower what is left by an allocation of @size. Is it taken? */
static bool takes(struct rt_tier *tier, uint64_t size)
{
	tier->left -= rt_tier_steps[core_bit_width(size)];
	if (RT_LIKELY(tier->left >= 0))
		return false;
	tier->left = draw(tier);
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

static struct rt_site *site_of(struct rt_tier *tier, uintptr_t ra, uint64_t key)
{
	return &tier->sites[(ra ^ ra >> 6 ^ key) % RT_SITES];
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
		*site_of(thread->tier, ra, tagged.word) =
			(struct rt_site){ ra, tagged.word, rt_slot(thread, row), row };
	return row;
}

uint32_t rt_tier_row(struct rt_thread *thread, uint64_t now, struct rt_key key, size_t size,
		     uint32_t *flags, const void *frame)
{
	const uint32_t epoch = (uint32_t)(now >> 32);
	const uintptr_t ra = ((const uintptr_t *)frame)[1];
	struct rt_tier *tier = now & LEDGER_MODE_TIERS ? tier_of(thread) : NULL;

	if (RT_UNLIKELY(!tier)) {
		thread->tier = NULL;
		rt_thread_set_frees(thread);
		return rt_place_row(thread, key, epoch, frame);
	}
	if (RT_UNLIKELY(tier->begun != now) ||
	    RT_UNLIKELY(tier->generation != rt_load(&rt_generation)))
		begin(thread, tier, now);
	if (RT_UNLIKELY(rt_load(&rt_names_generation) != rt_load(&thread->name_generation)))
		rt_name_ask(thread);
	if (tier->passes && rt_key_kind(key) != LEDGER_KIND_POOL) {
		if (!takes(tier, size)) {
			rt_bump(&thread->cache->passed_allocs, 1);
			rt_bump(&thread->cache->passed_alloc_bytes, size);
			return RT_ROW_PASSED;
		}
		*flags = rt_flags_foreign(*flags) | RT_CELL_TAKEN;
		set_sample(&key, size, RT_KEY_WEIGHTED);
	} else if (!tier->passes && !is_first_of_site(ra, key)) {
		if (!takes(tier, size))
			return site_row(thread, key, epoch, ra);
		set_sample(&key, size, 0);
	}
	return walked_row(thread, key, epoch, frame);
}

/* Nothing has changed that the quick ways do not look at. */
RT_INLINE bool is_as_before(const struct rt_thread *thread, const struct rt_tier *tier,
			    const struct ledger_control *control)
{
	return RT_LIKELY(rt_mode_and_epoch(control) == rt_load(&tier->quick)) &&
	       RT_LIKELY(tier->generation == rt_load(&rt_generation)) &&
	       RT_LIKELY(rt_load(&rt_names_generation) == rt_load(&thread->name_generation));
}

RT_INLINE bool count_at_site(enum rt_quick quick, struct rt_thread *thread, struct rt_tier *tier,
			     struct ledger_control *control, void *block, size_t size,
			     struct rt_alloc alloc, const void *frame)
{
	const uintptr_t ra = ((const uintptr_t *)frame)[1];
	const uint64_t key = alloc.key.word | thread->tag;
	const struct rt_site *site = site_of(tier, ra, key);
	const int64_t left = tier->left;

	if (RT_UNLIKELY(site->ra != ra) || RT_UNLIKELY(site->key != key))
		return false;
	tier->left = left - rt_tier_steps[core_bit_width_below(size)];
	if (RT_LIKELY(tier->left >= 0) &&
	    RT_LIKELY(rt_quick_count(quick, thread, control, site->slot, site->row, block, size,
				     alloc)))
		return true;
	tier->left = left;
	return false;
}

RT_INLINE bool let_pass(struct rt_thread *thread, struct rt_tier *tier, void *block, size_t size)
{
	const int64_t left = tier->left - rt_tier_steps[core_bit_width_below(size)];

	if (RT_UNLIKELY(left < 0))
		return false;
	tier->left = left;
	rt_bump(&thread->cache->passed_allocs, 1);
	rt_bump(&thread->cache->passed_alloc_bytes, size);
	thread->last_block = (uintptr_t)block;
	rt_leave(thread);
	return true;
}

bool rt_tier_record(struct rt_thread *thread, void *block, size_t size, struct rt_alloc alloc,
		    const void *frame)
{
	struct rt_tier *tier = thread->tier;
	struct ledger_control *control;

	if (RT_UNLIKELY(!block) || RT_UNLIKELY((uintptr_t)block & RT_BLOCK_MASK) ||
	    RT_UNLIKELY(size >> LEDGER_ADDRESS_BITS) || RT_UNLIKELY(rt_load(&rt_unusual)))
		return false;
	control = rt_quick_enter(thread, frame);
	if (RT_UNLIKELY(!control))
		return false;
	if (RT_LIKELY(is_as_before(thread, tier, control))) {
		if (tier->passes) {
			if (let_pass(thread, tier, block, size))
				return true;
		} else if (rt_load(&rt_global.quick) == RT_QUICK_GLIBC) {
			if (count_at_site(RT_QUICK_GLIBC, thread, tier, control, block, size, alloc,
					  frame))
				return true;
		} else if (count_at_site(RT_QUICK_CLASSED, thread, tier, control, block, size,
					 alloc, frame)) {
			return true;
		}
	}
	return rt_quick_give_up(thread);
}

bool rt_tier_free(struct rt_thread *thread, const void *block, const void *frame)
{
	const struct ledger_control *control;

	if (!thread->tier->passes || rt_load(rt_taken_at((uintptr_t)block)))
		return false;
	control = rt_quick_enter(thread, frame);
	if (RT_UNLIKELY(!control))
		return false;
	if (RT_UNLIKELY(!is_as_before(thread, thread->tier, control)))
		return rt_quick_give_up(thread);
	rt_bump(&thread->cache->passed_frees, 1);
	rt_leave(thread);
	return true;
}
