/* SPDX-License-Identifier: MIT */
#include "cli/leak_options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/complain.h"
#include "profile/verdict.h"
#include "report/report.h"

/* Enough to find one in a debugger; JSON has them too. */
enum { BLOCKS_KEPT = 16, SHOWN_BYTES = 100 };

static int read_kinds(const char *list, uint32_t *ret_kinds, struct seep_error *err)
{
	*ret_kinds = 0;
	while (list) {
		const size_t length = strcspn(list, ",");
		const uint32_t known = seep_verdicts_called(list, length);

		if (!known)
#define V(constant, name, is_leak, meaning) ", " name
			return seep_fail(err, SEEP_EUSAGE,
					 "--leak-kinds: '%.*s' must be one of all" SEEP_VERDICTS(V),
					 length < SHOWN_BYTES ? (int)length : SHOWN_BYTES, list);
#undef V
		*ret_kinds |= known;
		list = list[length] ? list + length + 1 : NULL;
	}
	return 0;
}

static int read_why(const char *why, uint64_t *ret_address, struct seep_error *err)
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
			   struct seep_leak_check_plan *ret_plan,
			   struct seep_view_options *ret_view, struct seep_error *err)
{
	SEEP_RELEASED(seep_suppressions_free_at) struct seep_suppressions *suppressions = NULL;
	int rc;

	*ret_plan = (struct seep_leak_check_plan){
		.chains = values->why != NULL,
		.dump_bytes = (uint32_t)values->dump_bytes,
		.block_list_max = values->blocks > BLOCKS_KEPT ? (uint32_t)values->blocks
							       : BLOCKS_KEPT,
		.suppressions = values->suppressions.items,
		.suppression_count = values->suppressions.count,
	};
	ret_view->leak_blocks = (uint32_t)values->blocks;
	ret_view->why = values->why != NULL;
	rc = read_kinds(values->kinds, &ret_view->leak_kinds, err);
	if (rc == 0)
		rc = read_why(values->why, &ret_plan->why, err);
	ret_view->why_address = ret_plan->why;
	/* Whichever block it is, its leak has to list it. */
	if (rc == 0 && ret_plan->why)
		ret_plan->block_list_max = SEEP_LEAK_BLOCKS_MAX;
	/* Now, rather than when the program has run. */
	if (rc == 0 && values->suppressions.count > 0)
		rc = seep_leak_check_suppressions(ret_plan, &suppressions, err);
	return rc;
}

int seep_leak_options_need_scan(const struct seep_profile *profile, const char *operand,
				struct seep_error *err)
{
	const char *why_not = seep_profile_not_scanned(profile);

	return why_not ? seep_fail(err, SEEP_ENOTFOUND, "%s: not scanned for leaks: %s", operand,
				   why_not)
		       : 0;
}

void seep_leak_report_now(const struct seep_profile *profile)
{
	const struct seep_printer printer = seep_printer_for(stderr, 80);
	const struct seep_view_options view = { .by = SEEP_BY_LIVE };
	SEEP_RELEASED(seep_sites_free_at) struct seep_sites *sites = NULL;

	if (!profile->scan.done) {
		seep_complainf(NULL, "not scanned for leaks: %s", profile->scan.why_not);
		return;
	}
	sites = seep_sites_new(profile);
	seep_report_leaks(&printer, sites, &view);
	(void)fflush(stderr);
}
