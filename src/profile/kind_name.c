/* SPDX-License-Identifier: MIT */
#include "profile/kind_name.h"

#include "ledger/ledger.h"

#include <string.h>

const char *seep_profile_kind_name(uint8_t kind)
{
#define NAME(constant, name, family, aligned) name,
	static const char *const names[] = { LEDGER_KINDS(NAME) };
#undef NAME

	return kind < LEDGER_KIND_COUNT ? names[kind] : "unknown";
}

const char *seep_profile_mode_name(uint32_t mode)
{
	if (mode == LEDGER_MODE_ALL)
		return "all";
	return mode == LEDGER_MODE_OFF ? "off" : "unknown";
}

static const char *const ended_names[] = {
	[SEEP_ENDED_UNKNOWN] = "unknown", [SEEP_ENDED_RUNNING] = "running",
	[SEEP_ENDED_EXIT] = "exit",	  [SEEP_ENDED_SIGNAL] = "signal",
	[SEEP_ENDED_EXEC] = "exec",	  [SEEP_ENDED_KILLED] = "killed",
};
enum { ENDED_COUNT = sizeof(ended_names) / sizeof(ended_names[0]) };

const char *seep_profile_ended_name(enum seep_profile_ended ended)
{
	if ((int)ended < 0 || (int)ended >= ENDED_COUNT)
		ended = SEEP_ENDED_UNKNOWN;
	return ended_names[ended];
}

enum seep_profile_ended seep_profile_ended_value(const char *name)
{
	for (int i = 0; name && i < ENDED_COUNT; i++)
		if (strcmp(ended_names[i], name) == 0)
			return (enum seep_profile_ended)i;
	return SEEP_ENDED_UNKNOWN;
}
