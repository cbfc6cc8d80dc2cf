/* SPDX-License-Identifier: MIT */
#include "recorder/leak_check.h"

#include "analysis/verdicts.h"
#include "base/xalloc.h"
#include "core/bits.h"
#include "profile/verdict.h"
#include "recorder/leak_chains.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

int seep_leak_check_suppressions(const struct seep_leak_check_plan *plan,
				 struct seep_suppressions **ret, struct seep_error *err)
{
	struct seep_suppressions *suppressions = seep_suppressions_new();
	int rc = 0;

	for (size_t i = 0; i < plan->suppression_count && rc == 0; i++)
		rc = seep_suppressions_read(suppressions, plan->suppressions[i], err);
	if (rc < 0) {
		seep_suppressions_free(suppressions);
		return rc;
	}
	*ret = suppressions;
	return 0;
}

static char *take(struct seep_profile *profile, char *text)
{
	char *kept = seep_profile_strdup(profile, text);

	free(text);
	return kept;
}

static void tell_of_skipped(struct seep_profile *profile, const struct seep_leak_scan *scan)
{
	const uint64_t named = scan->skipped_count < SCAN_SKIPPED_MAX ? scan->skipped_count
								      : SCAN_SKIPPED_MAX;
	char *reason = seep_profile_strdup(profile, "it could not be read");

	profile->scan.skipped = seep_profile_calloc(profile, named + 1,
						    sizeof(*profile->scan.skipped));
	profile->scan.skipped_count = (uint32_t)named;
	for (uint64_t i = 0; i < named; i++)
		profile->scan.skipped[i] = (struct seep_profile_range){
			.from = scan->skipped[i].begin,
			.to = scan->skipped[i].end,
			.reason = reason,
		};
}

/* @problem: NULL, or why the suppressions could not be read. */
static void tell_of_scan(struct seep_profile *profile, const struct seep_leak_scan *scan,
			 const char *problem)
{
	const char *method = seep_scan_method_name(scan->method);
	const bool more = scan->skipped_count > SCAN_SKIPPED_MAX;
	struct seep_profile_scan *told = &profile->scan;

	*told = (struct seep_profile_scan){
		.done = true,
		.method = method ? seep_profile_strdup(profile, method) : NULL,
		.at_ns = scan->at_ns,
		.pause_ns = scan->pause_ns,
		.mark_ns = scan->mark_ns,
		.marked_bytes = scan->marked_bytes,
		.blocks = scan->block_count,
		.caveats = seep_profile_calloc(profile, scan->caveats.count + 3,
					       sizeof(*told->caveats)),
	};
	for (size_t i = 0; i < scan->caveats.count; i++)
		told->caveats[told->caveat_count++] = seep_profile_strdup(profile,
									  scan->caveats.items[i]);
	if (problem)
		told->caveats[told->caveat_count++] =
			take(profile, seep_xasprintf("nothing was suppressed: %s", problem));
	tell_of_skipped(profile, scan);
	if (more)
		told->caveats[told->caveat_count++] =
			take(profile, seep_xasprintf("%" PRIu64 " ranges of memory could not be "
						     "read, of which %d are listed",
						     scan->skipped_count, SCAN_SKIPPED_MAX));
}

void seep_leak_check_fill(struct seep_profile *profile, struct seep_leak_scan *scan,
			  const struct seep_leak_check_plan *plan)
{
	const struct seep_verdict_options options = {
		.block_list_max = plan->block_list_max,
		.contents = scan->contents,
		.content_bytes = scan->content_bytes,
	};
	const char *own = profile->process.suppressions;
	struct seep_suppressions *suppressions = NULL;
	struct seep_error err = { 0 };
	int rc;

	rc = seep_leak_check_suppressions(plan, &suppressions, &err);
	if (rc == 0 && own)
		rc = seep_suppressions_add(suppressions, own, strlen(own),
					   "__lsan_default_suppressions()", &err);
	tell_of_scan(profile, scan, rc < 0 ? err.text : NULL);
	if (!suppressions)
		suppressions = seep_suppressions_new();
	seep_verdicts_judge(profile, &scan->result, suppressions, &options);
	seep_suppressions_free(suppressions);
	if (plan->chains)
		seep_leak_chains_add(profile, scan, plan->why);
}

static void suppress(struct seep_profile *profile, struct seep_suppressions *suppressions,
		     struct seep_profile_leak *leak)
{
	const struct seep_profile_context *context;
	const bool again = leak->verdict == SEEP_VERDICT_SUPPRESSED;
	size_t rule;

	if (leak->context == 0 || leak->context > profile->context_count ||
	    (leak->verdict >= SEEP_VERDICT_RUNTIME && !again))
		return;
	context = &profile->contexts[leak->context - 1];
	if (seep_suppressions_match(suppressions, context,
				    again ? SEEP_VERDICT_LOST : leak->verdict,
				    &rule) != SEEP_IS_SUPPRESSED)
		return;
	leak->verdict = SEEP_VERDICT_SUPPRESSED;
	leak->suppressed_by = seep_profile_strdup(profile,
						  seep_suppressions_text(suppressions, rule));
	seep_suppressions_hit(suppressions, rule, 1, leak->blocks, leak->bytes);
}

/* What goes with a leak goes with it here too; what does not any more is not counted with it. */
static void suppress_with(struct seep_profile *profile)
{
	for (uint32_t i = 0; i < profile->leak_count; i++) {
		struct seep_profile_leak *leak = &profile->leaks[i];
		struct seep_profile_leak *root;

		if (leak->root == 0 || leak->root > profile->leak_count)
			continue;
		root = &profile->leaks[leak->root - 1];
		if (root->verdict == SEEP_VERDICT_SUPPRESSED) {
			leak->verdict = SEEP_VERDICT_SUPPRESSED;
			leak->suppressed_by = root->suppressed_by;
		} else if (leak->verdict == SEEP_VERDICT_SUPPRESSED) {
			root->with_blocks -= core_smaller(leak->blocks, root->with_blocks);
			root->with_bytes -= core_smaller(leak->bytes, root->with_bytes);
			leak->root = 0;
		}
	}
}

static bool is_told(const struct seep_profile_scan *scan, const char *text)
{
	for (uint32_t i = 0; i < scan->suppression_count; i++)
		if (strcmp(scan->suppressions[i].text, text) == 0)
			return true;
	return false;
}

int seep_leak_check_suppress(struct seep_profile *profile, const struct seep_leak_check_plan *plan,
			     struct seep_error *err)
{
	const struct seep_profile_scan before = profile->scan;
	struct seep_profile_suppression *told;
	struct seep_suppressions *suppressions;
	uint32_t count;
	int rc;

	if (plan->suppression_count == 0)
		return 0;
	rc = seep_leak_check_suppressions(plan, &suppressions, err);
	if (rc < 0)
		return rc;
	seep_suppressions_begin(suppressions, profile);
	for (uint32_t i = 0; i < profile->leak_count; i++)
		suppress(profile, suppressions, &profile->leaks[i]);
	suppress_with(profile);
	seep_suppressions_tell(suppressions, profile);
	seep_suppressions_free(suppressions);
	/* Those of the recording, behind these. */
	count = profile->scan.suppression_count;
	told = seep_profile_calloc(profile, (size_t)count + before.suppression_count + 1,
				   sizeof(*told));
	memcpy(told, profile->scan.suppressions, count * sizeof(*told));
	for (uint32_t i = 0; i < before.suppression_count; i++)
		if (before.suppressions[i].text &&
		    !is_told(&profile->scan, before.suppressions[i].text))
			told[count++] = before.suppressions[i];
	profile->scan.suppressions = told;
	profile->scan.suppression_count = count;
	return 0;
}

void seep_leak_check_none(struct seep_profile *profile, const char *why, ...)
{
	va_list args;

	if (profile->scan.done || profile->scan.why_not)
		return;
	va_start(args, why);
	profile->scan.why_not = take(profile, seep_xvasprintf(why, args));
	va_end(args);
}

uint32_t seep_leak_check_verdicts(const struct seep_profile *profile)
{
	uint32_t verdicts = 0;

	for (uint32_t i = 0; i < profile->leak_count; i++)
		if (profile->leaks[i].verdict < SEEP_VERDICT_COUNT)
			verdicts |= UINT32_C(1) << profile->leaks[i].verdict;
	return verdicts;
}
