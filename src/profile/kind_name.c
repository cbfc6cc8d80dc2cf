/* SPDX-License-Identifier: MIT */
#include "profile/kind_name.h"

#include "ledger/ledger.h"

const char *seep_profile_kind_name(uint8_t kind)
{
	static const char *const names[LEDGER_KIND_COUNT] = {
		[LEDGER_KIND_MALLOC] = "malloc",
		[LEDGER_KIND_CALLOC] = "calloc",
		[LEDGER_KIND_REALLOC] = "realloc",
		[LEDGER_KIND_MEMALIGN] = "memalign",
		[LEDGER_KIND_NEW] = "new",
		[LEDGER_KIND_NEW_ARRAY] = "new[]",
		[LEDGER_KIND_NEW_ALIGNED] = "aligned new",
		[LEDGER_KIND_NEW_ARRAY_ALIGNED] = "aligned new[]",
	};

	return kind < LEDGER_KIND_COUNT ? names[kind] : "unknown";
}

const char *seep_profile_mode_name(uint32_t mode)
{
	static const char *const names[] = {
		[LEDGER_MODE_ALL] = "all",
		[LEDGER_MODE_SCOPED] = "scoped",
		[LEDGER_MODE_OFF] = "off",
	};

	return mode < sizeof(names) / sizeof(names[0]) ? names[mode] : "unknown";
}
