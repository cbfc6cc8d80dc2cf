/* SPDX-License-Identifier: MIT */
#include "profile/finding_name.h"

#include "profile/kind_name.h"

const char *seep_finding_kind_name(uint8_t kind)
{
#define NAME(constant, name) name,
	static const char *const names[] = { "unknown", LEDGER_FINDINGS(NAME) };
#undef NAME

	return names[kind < LEDGER_FINDING_COUNT ? kind : LEDGER_FINDING_NONE];
}

const char *seep_finding_freeing_name(uint8_t freeing)
{
#define NAME(constant, name, family) name,
	static const char *const names[] = { NULL, LEDGER_FREEINGS(NAME) };
#undef NAME

	return names[freeing < LEDGER_FREEING_COUNT ? freeing : LEDGER_FREEING_NONE];
}

const char *seep_finding_meant_name(uint8_t family)
{
	uint8_t freeing = LEDGER_FREEING_FREE;

	if (family == LEDGER_FAMILY_POOL)
		return "seep_pool_free";
	/* free() is the usual one of memalign()'s, too. */
	while (family != LEDGER_FAMILY_MEMALIGN && freeing + 1 < LEDGER_FREEING_COUNT &&
	       ledger_freeing_family(freeing) != family)
		freeing++;
	return seep_finding_freeing_name(freeing);
}

const char *seep_finding_origin_name(const struct seep_profile *profile,
				     const struct seep_profile_finding *finding)
{
	const struct seep_profile_context *block = seep_profile_context_at(profile, finding->block);
	uint8_t kind = LEDGER_KIND_MALLOC;

	if (block && !block->no_stack && !block->other)
		return seep_profile_kind_name(block->kind);
	while (kind + 1 < LEDGER_KIND_COUNT && ledger_kind_family(kind) != finding->family)
		kind++;
	return seep_profile_kind_name(kind);
}

bool seep_finding_distance(const struct seep_profile_finding *finding, int64_t *ret_bytes)
{
	if (finding->kind != LEDGER_FINDING_REAR_GUARD &&
	    finding->kind != LEDGER_FINDING_FRONT_GUARD &&
	    finding->kind != LEDGER_FINDING_OUT_OF_BOUNDS)
		return false;
	/* Wraps, where a file says so. */
	*ret_bytes = finding->offset < 0
			     ? finding->offset
			     : (int64_t)((uint64_t)finding->offset - finding->block_bytes);
	return true;
}
