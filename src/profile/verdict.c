/* SPDX-License-Identifier: MIT */
#include "profile/verdict.h"

#include <string.h>
#include <strings.h>

static const struct {
	const char *name;
	const char *meaning;
	bool is_leak;
} verdicts[] = {
#define V(constant, name, is_leak, meaning) { name, meaning, is_leak },
	SEEP_VERDICTS(V)
#undef V
};

const char *seep_verdict_name(unsigned verdict)
{
	return verdict < SEEP_VERDICT_COUNT ? verdicts[verdict].name : "unknown";
}

const char *seep_verdict_meaning(unsigned verdict)
{
	return verdict < SEEP_VERDICT_COUNT ? verdicts[verdict].meaning : "unknown";
}

bool seep_verdict_is_leak(unsigned verdict)
{
	return verdict < SEEP_VERDICT_COUNT && verdicts[verdict].is_leak;
}

unsigned seep_verdict_by_name(const char *name, size_t length)
{
	unsigned verdict = 0;

	while (verdict < SEEP_VERDICT_COUNT &&
	       (strlen(verdicts[verdict].name) != length ||
		strncasecmp(verdicts[verdict].name, name, length) != 0))
		verdict++;
	return verdict;
}

bool seep_verdict_is_shown(uint32_t kinds, unsigned verdict)
{
	if (kinds == 0)
		return verdict != SEEP_VERDICT_REACHABLE;
	return verdict >= SEEP_VERDICT_COUNT || kinds >> verdict & 1;
}

const char *seep_leak_flag_name(unsigned number)
{
	static const char *const names[] = { "startup", "reported" };

	return number < sizeof(names) / sizeof(names[0]) ? names[number] : NULL;
}
