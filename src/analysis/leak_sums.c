/* SPDX-License-Identifier: MIT */
#include "analysis/leak_sums.h"

#include <stdlib.h>

#include "base/xalloc.h"
#include "core/bits.h"
#include "profile/verdict.h"

const struct seep_profile_leak *seep_leak_root(const struct seep_profile *profile,
					       const struct seep_profile_leak *leak)
{
	if (!seep_verdict_is_leak(leak->verdict))
		return NULL;
	if (leak->verdict == SEEP_VERDICT_LOST_WITH && leak->root > 0 &&
	    leak->root <= profile->leak_count &&
	    profile->leaks[leak->root - 1].verdict < SEEP_VERDICT_LOST_WITH)
		return &profile->leaks[leak->root - 1];
	return leak;
}

static struct seep_leak_sum *sum_of(struct seep_leak_sums *sums, uint64_t hash)
{
	const struct seep_leak_sum *known = seep_leak_sums_find(sums, hash);

	if (known)
		return &sums->items[known - sums->items];
	seep_idtable_add(&sums->ids, hash, (uint32_t)sums->count);
	*SEEP_APPEND(sums->items, sums->count) = (struct seep_leak_sum){ .hash = hash };
	return &sums->items[sums->count - 1];
}

/* By verdict, so that what leads comes before what goes with it. */
void seep_leak_sums_init(struct seep_leak_sums *sums, const struct seep_profile *profile)
{
	*sums = (struct seep_leak_sums){ 0 };
	for (uint32_t i = 0; i < profile->leak_count; i++) {
		const struct seep_profile_leak *leak = &profile->leaks[i];
		const struct seep_profile_leak *root = seep_leak_root(profile, leak);
		struct seep_leak_sum *sum;
		uint64_t blocks, bytes;

		if (!root || leak->hash == 0 || leak->context == 0 ||
		    leak->context > profile->context_count)
			continue;
		sum = sum_of(sums, leak->hash);
		blocks = root->blocks;
		bytes = root->bytes;
		core_add(&blocks, root->with_blocks);
		core_add(&bytes, root->with_bytes);
		if (root != leak) {
			sum->blocks = core_larger(sum->blocks, blocks);
			sum->bytes = core_larger(sum->bytes, bytes);
			continue;
		}
		if (!sum->leak)
			sum->leak = leak;
		core_add(&sum->blocks, blocks);
		core_add(&sum->bytes, bytes);
	}
}

void seep_leak_sums_done(struct seep_leak_sums *sums)
{
	free(sums->items);
	seep_idtable_done(&sums->ids);
	*sums = (struct seep_leak_sums){ 0 };
}

const struct seep_leak_sum *seep_leak_sums_find(const struct seep_leak_sums *sums, uint64_t hash)
{
	size_t at = SEEP_IDTABLE_START;
	const uint32_t id = seep_idtable_find(&sums->ids, hash, &at);

	return id == SEEP_IDTABLE_NONE ? NULL : &sums->items[id];
}
