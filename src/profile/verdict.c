/* SPDX-License-Identifier: MIT */
#include "profile/verdict.h"

#include <string.h>
#include <strings.h>

static const struct {
	const char *name;
	const char *meaning;
} verdicts[] = {
#define V(constant, name, is_leak, meaning) { name, meaning },
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
	return verdict < SEEP_VERDICT_COUNT && (SEEP_LEAK_KINDS >> verdict & 1);
}

#define BIT(verdict) (UINT32_C(1) << SEEP_VERDICT_##verdict)

static const struct {
	const char *name;
	uint32_t verdicts;
} words[] = {
	{ "definite", BIT(LOST) | BIT(LOST_CYCLE) },
	{ "indirect", BIT(LOST_WITH) },
	{ "possible", BIT(MAYBE_LOST) },
	{ "reachable", BIT(REACHABLE) },
	{ "all", SEEP_VERDICTS_ALL },
};

enum { WORDS = sizeof(words) / sizeof(words[0]) };

static bool is_same(const char *name, const char *word, size_t length)
{
	return strlen(name) == length && strncasecmp(name, word, length) == 0;
}

uint32_t seep_verdicts_called(const char *word, size_t length)
{
	for (size_t i = 0; i < WORDS; i++)
		if (is_same(words[i].name, word, length))
			return words[i].verdicts;
	for (unsigned i = 0; i < SEEP_VERDICT_COUNT; i++)
		if (is_same(verdicts[i].name, word, length))
			return UINT32_C(1) << i;
	return 0;
}

const char *seep_verdict_kind(unsigned verdict)
{
	size_t i = 0;

	while (i + 1 < WORDS && !(words[i].verdicts >> verdict & 1))
		i++;
	return words[i].name;
}
