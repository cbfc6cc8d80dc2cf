/* SPDX-License-Identifier: MIT */
#include "profile/kind_name.h"

#include "ledger/ledger.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static char unknown_kinds[UINT8_MAX + 1][sizeof("unknown kind 255")];

static void name_unknown_kinds(void)
{
	for (int kind = LEDGER_KIND_COUNT; kind <= UINT8_MAX; kind++)
		(void)snprintf(unknown_kinds[kind], sizeof(unknown_kinds[kind]), "unknown kind %d",
			       kind);
}

const char *seep_profile_kind_name(uint8_t kind)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
#define NAME(constant, name, family, aligned) name,
	static const char *const names[] = { LEDGER_KINDS(NAME) };
#undef NAME

	if (kind < LEDGER_KIND_COUNT)
		return names[kind];
	(void)pthread_once(&once, name_unknown_kinds);
	return unknown_kinds[kind];
}

const char *seep_profile_mode_name(uint32_t mode)
{
	switch (mode) {
	case LEDGER_MODE_ALL:
		return "all";
	case LEDGER_MODE_SCOPED:
		return "scoped";
	case LEDGER_MODE_OFF:
		return "off";
	default:
		return "unknown";
	}
}

static const char *const tier_names[] = { "exact", "counts", "sampled", "mixed" };
enum { TIER_COUNT = sizeof(tier_names) / sizeof(tier_names[0]) };

const char *seep_profile_tier_name(uint32_t tiers)
{
	return tier_names[tiers / LEDGER_MODE_COUNTS % TIER_COUNT];
}

uint32_t seep_profile_tiers_value(const char *name)
{
	uint32_t i = 0;

	while (i < TIER_COUNT && strcmp(name, tier_names[i]) != 0)
		i++;
	return i % TIER_COUNT * LEDGER_MODE_COUNTS;
}

static const char *const ended_names[] = {
	[SEEP_ENDED_UNKNOWN] = "unknown",   [SEEP_ENDED_RUNNING] = "running",
	[SEEP_ENDED_EXIT] = "exit",	    [SEEP_ENDED_SIGNAL] = "signal",
	[SEEP_ENDED_EXEC] = "exec",	    [SEEP_ENDED_KILLED] = "killed",
	[SEEP_ENDED_DETACHED] = "detached",
};
static const char *const origin_names[] = {
	[SEEP_ORIGIN_START] = "start",
	[SEEP_ORIGIN_FORK] = "fork",
	[SEEP_ORIGIN_ATTACH] = "attach",
};
enum {
	ENDED_COUNT = sizeof(ended_names) / sizeof(ended_names[0]),
	ORIGIN_COUNT = sizeof(origin_names) / sizeof(origin_names[0]),
};

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

const char *seep_profile_origin_name(enum seep_profile_origin origin)
{
	return (int)origin < 0 || (int)origin >= ORIGIN_COUNT ? NULL : origin_names[origin];
}

enum seep_profile_origin seep_profile_origin_value(const char *name)
{
	for (int i = SEEP_ORIGIN_START; name && i < ORIGIN_COUNT; i++)
		if (strcmp(origin_names[i], name) == 0)
			return (enum seep_profile_origin)i;
	return SEEP_ORIGIN_UNKNOWN;
}
