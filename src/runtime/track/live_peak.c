/* SPDX-License-Identifier: MIT */
#include "runtime/track/live_peak.h"

#include "ledger/ledger_peak.h"
#include "runtime/sys/sys.h"
#include "runtime/track/counters.h"
#include "runtime/track/tier.h"

enum { STAMP_FRACTION = 1024 };

/* From which T was last computed: the larger of the peak and the live total. */
static _Atomic int64_t threshold_from;

void rt_threshold_update(void)
{
	uint32_t n = rt_load(&rt_threads);
	int64_t live = rt_load(&rt_global.state->live_bytes) + rt_load(&rt_global.caches[0].first);
	int64_t peak = rt_load(&rt_global.state->peak_bytes);
	int64_t bytes = 0;

	if (n > 1) {
		/* The peak is at least what is alive now: a heap that only grows captures none. */
		if (peak < live)
			peak = live;
		rt_store(&threshold_from, peak);
		bytes = ledger_peak_threshold_bytes(peak, n);
	}
	rt_store(&rt_global.threshold_bytes, bytes);
	rt_tier_set_kept((uint64_t)bytes, n);
}

static void stamp(int64_t peak)
{
	struct ledger_state *state = rt_global.state;
	int64_t last = rt_load(&state->peak_stamp_bytes);

	if (peak - last <= last / STAMP_FRACTION)
		return;
	rt_store(&state->peak_stamp_bytes, peak);
	rt_store(&state->peak_at_ns, rt_now_ns());
}

void rt_peak_alone(struct ledger_control *control, int64_t live)
{
	rt_store(&control->peak_turn, rt_load(&control->peak_turn) + 1);
	rt_store(&rt_global.state->peak_bytes, live);
	stamp(live);
}

static void raise_peak(int64_t live)
{
	rt_raise(&rt_global.state->peak_bytes, live);
	rt_threshold_update();
	stamp(live);
}

void rt_rise_shared(struct rt_thread *thread, int64_t sum)
{
	int64_t live = sum + atomic_fetch_add_explicit(&rt_global.state->live_bytes, sum,
						       memory_order_relaxed);

	rt_store(&thread->cache->sum, 0);
	if (live > rt_load(&threshold_from) + rt_load(&threshold_from) / 4)
		rt_threshold_update();
}

void rt_rise_and_leave(struct rt_thread *thread, struct ledger_slot *slot, uint64_t turn,
		       int64_t bytes)
{
	rt_rise_shared(thread, rt_load(&thread->cache->sum));
	rt_slot_leave(thread, slot, turn, 1, bytes);
}

void rt_fall_shared(struct rt_thread *thread, int64_t bytes)
{
	struct ledger_control *control = rt_global.control;
	struct ledger_state *state = rt_global.state;
	int64_t first = rt_load(&rt_global.caches[0].first);
	int64_t sum = rt_load(&thread->cache->sum);
	uint64_t turn = rt_load_acquire(&control->peak_turn);
	int64_t live = first + sum +
		       atomic_fetch_add_explicit(&state->live_bytes, sum, memory_order_acq_rel);

	rt_store(&thread->cache->sum, 0);
	while (live > rt_load(&state->peak_bytes)) {
		if (atomic_compare_exchange_strong_explicit(&control->peak_turn, &turn, turn + 1,
							    memory_order_acq_rel,
							    memory_order_acquire)) {
			raise_peak(live);
			break;
		}
		live = first + rt_load(&state->live_bytes);
	}
	rt_add(&state->live_bytes, -bytes);
}
