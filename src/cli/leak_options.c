/* SPDX-License-Identifier: MIT */
#include "cli/leak_options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "profile/verdict.h"

/* Enough to find one in a debugger; JSON has them too. */
enum { BLOCKS_KEPT = 16, NAMES_BYTES_MAX = 512, SHOWN_BYTES = 100 };

#define BIT(verdict) (UINT32_C(1) << SEEP_VERDICT_##verdict)

/* What users of valgrind type, and all. */
static const struct {
	const char *name;
	uint32_t kinds;
} aliases[] = {
	{ "all", (UINT32_C(1) << SEEP_VERDICT_COUNT) - 1 },
	{ "definite", BIT(LOST) | BIT(LOST_CYCLE) },
	{ "indirect", BIT(LOST_WITH) },
	{ "possible", BIT(MAYBE_LOST) | BIT(STACK_ONLY) },
};

enum { ALIASES = sizeof(aliases) / sizeof(aliases[0]) };

static int fail_unknown(const char *name, size_t length, struct seep_error *err)
{
	struct seep_strbuf names;
	int rc;

	seep_strbuf_init(&names, NAMES_BYTES_MAX);
	for (unsigned i = 0; i < SEEP_VERDICT_COUNT; i++)
		seep_strbuf_addf(&names, "%s%s", i ? ", " : "", seep_verdict_name(i));
	rc = seep_fail(err, SEEP_EUSAGE, "--leak-kinds: '%.*s' must be all, or one of %s",
		       length < SHOWN_BYTES ? (int)length : SHOWN_BYTES, name, names.text);
	seep_strbuf_done(&names);
	return rc;
}

int seep_leak_kinds_read(const char *list, uint32_t *ret_kinds, struct seep_error *err)
{
	uint32_t kinds = list ? 0 : SEEP_LEAK_KINDS;

	while (list) {
		const size_t length = strcspn(list, ",");
		const unsigned verdict = seep_verdict_by_name(list, length);
		uint32_t known = verdict < SEEP_VERDICT_COUNT ? UINT32_C(1) << verdict : 0;

		for (size_t i = 0; i < ALIASES; i++)
			if (strlen(aliases[i].name) == length &&
			    strncmp(aliases[i].name, list, length) == 0)
				known = aliases[i].kinds;
		if (!known)
			return fail_unknown(list, length, err);
		kinds |= known;
		list = list[length] ? list + length + 1 : NULL;
	}
	*ret_kinds = kinds;
	return 0;
}

int seep_leak_why_read(const char *why, uint64_t *ret_address, struct seep_error *err)
{
	char *end;

	*ret_address = 0;
	if (!why || !*why)
		return 0;
	errno = 0;
	*ret_address = strtoull(why, &end, 0);
	if (*end || errno || why[0] == '-' || *ret_address == 0)
		return seep_fail(err, SEEP_EUSAGE,
				 "--why: '%.*s' must be an address such as 0x7f12", SHOWN_BYTES,
				 why);
	return 0;
}

int seep_leak_options_read(const struct seep_leak_option_values *values,
			   struct seep_leak_check_plan *ret_plan, uint32_t *ret_kinds,
			   struct seep_error *err)
{
	struct seep_suppressions *suppressions = NULL;
	int rc;

	*ret_plan = (struct seep_leak_check_plan){
		.chains = values->why != NULL,
		.dump_bytes = (uint32_t)values->dump_bytes,
		.block_list_max = values->blocks > BLOCKS_KEPT ? (uint32_t)values->blocks
							       : BLOCKS_KEPT,
		.suppressions = values->suppressions.items,
		.suppression_count = values->suppressions.count,
	};
	rc = seep_leak_kinds_read(values->kinds, ret_kinds, err);
	if (rc == 0)
		rc = seep_leak_why_read(values->why, &ret_plan->why, err);
	/* Whichever block it is, its leak has to list it. */
	if (rc == 0 && ret_plan->why)
		ret_plan->block_list_max = SEEP_LEAK_BLOCKS_MAX;
	/* Now, rather than when the program has run. */
	if (rc == 0 && values->suppressions.count > 0) {
		rc = seep_leak_check_suppressions(ret_plan, &suppressions, err);
		seep_suppressions_free(suppressions);
	}
	return rc;
}
