/* SPDX-License-Identifier: MIT */
/*
 * libFuzzer: any text as a file of suppressions, compared with call stacks, and what is generated
 * for these read back. See tests/fuzz/run.
 */
#include "fuzz_common.h"

#include "../unit/sample_profile.h"
#include "analysis/suppressions.h"
#include "profile/verdict.h"

static void generate(struct seep_profile *profile, uint32_t context, unsigned verdict)
{
	const struct seep_profile_leak leak = { .verdict = (uint8_t)verdict,
						.context = context + 1 };
	struct seep_suppressions *suppressions = seep_suppressions_new();
	char *text = seep_suppressions_generate(profile, &leak);

	if (seep_suppressions_add(suppressions, text, strlen(text), "generated", NULL) < 0)
		abort();
	free(text);
	seep_suppressions_free(suppressions);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct seep_suppressions *suppressions = seep_suppressions_new();
	struct seep_profile *profile = sample_profile();
	struct seep_profile_leak leak = { 0 };
	struct seep_error err;
	size_t rule;

	/* A name may be anything too. */
	profile->frames[S_LOAD_120].function = seep_profile_strndup(profile, (const char *)data,
								    size);
	fuzz_begin();
	if (seep_suppressions_add(suppressions, (const char *)data, size, "fuzz", &err) < 0)
		fuzz_length = strlen(err.text);
	seep_suppressions_begin(suppressions, profile);
	for (uint32_t i = 0; i < profile->context_count; i++) {
		const unsigned verdict = (i + (unsigned)size) % SEEP_VERDICT_COUNT;

		if (seep_suppressions_match(suppressions, &profile->contexts[i], verdict, &rule) !=
		    SEEP_NOT_SUPPRESSED)
			seep_suppressions_hit(suppressions, rule, profile, &leak);
		generate(profile, i, verdict);
	}
	seep_suppressions_tell(suppressions, profile);
	fuzz_end();
	seep_profile_free(profile);
	seep_suppressions_free(suppressions);
	return 0;
}
