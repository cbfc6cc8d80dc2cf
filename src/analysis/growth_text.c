/* SPDX-License-Identifier: MIT */
#include "analysis/growth_text.h"

#include "analysis/counts.h"
#include "base/clock.h"
#include "base/strbuf.h"
#include "base/units.h"
#include "core/bits.h"

#include <stdio.h>
#include <string.h>

enum { EVIDENCE_BYTES_MAX = 512 };

uint64_t seep_growth_rate(uint64_t bytes, uint64_t length_ns)
{
	const double per_hour = (double)bytes * (3600.0 * SEEP_NS_PER_S) /
				(double)core_larger(length_ns, 1);

	if (length_ns == 0)
		return 0;
	return per_hour < (double)INT64_MAX ? (uint64_t)per_hour : INT64_MAX;
}

uint64_t seep_growth_bytes_per_hour(const struct seep_profile_growth *growth)
{
	return growth->verdict == SEEP_GROWTH_GROWING
		       ? seep_growth_rate(growth->bytes, growth->until_ns - growth->since_ns)
		       : 0;
}

struct seep_rate_text seep_growth_rate_text(uint64_t bytes_per_hour)
{
	static const struct {
		uint64_t per_hour;
		const char *name;
	} units[] = { { 3600, "s" }, { 60, "min" }, { 1, "h" } };
	struct seep_rate_text rate;
	size_t i = 0;

	/* Per minute, as people say it, unless that is less than a KB or more than 60 MB. */
	if (bytes_per_hour / 60 < (UINT64_C(60) << 20))
		i = bytes_per_hour / 60 < 1024 ? 2 : 1;
	(void)snprintf(rate.text, sizeof(rate.text), "+%s/%s",
		       seep_bytes_text(bytes_per_hour / units[i].per_hour).text, units[i].name);
	return rate;
}

/* "3 of 1,234 blocks" */
static void say_freed(struct seep_strbuf *text, const struct seep_profile_context *context)
{
	const struct seep_counts counts = seep_counts_of(context);
	const bool exact = seep_counts_figure_error(&counts, SEEP_FIGURE_frees) == 0;

	seep_strbuf_addf(text, ", %s of %s",
			 exact ? seep_digits_text(context->frees).text
			       : seep_figure_text(&counts, SEEP_FIGURE_frees).text,
			 seep_counted_text(&counts, SEEP_FIGURE_allocs, "block").text);
}

/* Of what has no error of its own. */
static const char *about(const struct seep_profile_context *context)
{
	return context->errors ? "about " : "";
}

static void say_growth(struct seep_strbuf *text, const struct seep_profile *profile,
		       const struct seep_profile_context *context,
		       const struct seep_profile_growth *growth)
{
	const uint64_t start_ns = core_larger(context->first_ns, profile->process.start_ns);
	const struct seep_rate_text mean =
		seep_growth_rate_text(seep_growth_bytes_per_hour(growth));
	const struct seep_rate_text lately = seep_growth_rate_text(growth->present_bytes_per_hour);

	seep_strbuf_addf(text, "%s%s for %s", about(context), mean.text,
			 seep_duration_text(growth->until_ns - growth->since_ns).text);
	if (growth->returned) {
		seep_strbuf_addf(text, ", then %s given back",
				 context->live_bytes ? "most of it was" : "all of it was");
		return;
	}
	if (growth->quiet_ns)
		seep_strbuf_addf(text, ", last grew %s ago",
				 seep_duration_text(growth->quiet_ns).text);
	else if (growth->present_bytes_per_hour && strcmp(lately.text, mean.text) != 0)
		seep_strbuf_addf(text, ", lately %s%s", about(context), lately.text);
	say_freed(text, context);
	seep_strbuf_adds(text, " ever freed");
	if (context->frees == 0 && growth->until_ns > start_ns)
		seep_strbuf_addf(text, ", oldest %s",
				 seep_duration_text(growth->until_ns - start_ns).text);
}

static void say_stale(struct seep_strbuf *text, const struct seep_profile_context *context,
		      const struct seep_profile_growth *growth)
{
	if (growth->verdict == SEEP_GROWTH_STALE) {
		seep_strbuf_addf(text, "%s%s (%s) older than %s", about(context),
				 seep_things_text(growth->blocks, "block").text,
				 seep_bytes_text(growth->bytes).text,
				 seep_duration_text(growth->until_ns - growth->since_ns).text);
		say_freed(text, context);
		seep_strbuf_adds(text, " freed");
	}
	if (growth->freed_late)
		seep_strbuf_addf(text, "%s%s%s expired and then freed", text->length ? "; " : "",
				 about(context),
				 seep_things_text(growth->freed_late, "block").text);
}

char *seep_growth_evidence(const struct seep_profile *profile,
			   const struct seep_profile_context *context,
			   const struct seep_profile_growth *growth)
{
	SEEP_STRBUF(text, EVIDENCE_BYTES_MAX);

	if (growth->verdict == SEEP_GROWTH_GROWING)
		say_growth(&text, profile, context, growth);
	else
		say_stale(&text, context, growth);
	return seep_strbuf_take(&text);
}

const char *seep_growth_verdict_name(unsigned verdict)
{
	static const char *const names[] = {
		[SEEP_GROWTH_NONE] = "",
		[SEEP_GROWTH_GROWING] = "GROWING",
		[SEEP_GROWTH_STALE] = "STALE",
	};

	return verdict < SEEP_GROWTH_COUNT ? names[verdict] : "unknown";
}

const char *seep_growth_confidence_name(unsigned confidence)
{
	return confidence >= 3 ? "high" : confidence == 2 ? "medium" : "low";
}
